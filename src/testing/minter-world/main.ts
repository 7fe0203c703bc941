import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { createControlServer } from './control-server.ts';
import { startMinterWorld } from './world.ts';

/**
 * All services that a minter calls, in one process, for the demo:
 *   node src/testing/minter-world/main.ts [--https] [--host 0.0.0.0] [--public-host localhost] [--org acme]
 *     [--repositories gitops,extra] [--app-id 424242] [--git-root DIR] [--control-port 0]
 * Imports the App key through the official client, prints one JSON line with every endpoint once all services are up,
 * and runs until SIGTERM or SIGINT. With `--with-parent` it also ends when its standard input does.
 */
const { values } = parseArgs({
  options: {
    https: { type: 'boolean', default: false },
    host: { type: 'string', default: '127.0.0.1' },
    'public-host': { type: 'string', default: 'localhost' },
    org: { type: 'string', default: 'acme' },
    repositories: { type: 'string', default: 'gitops,extra,secret-plans' },
    'app-id': { type: 'string', default: '424242' },
    'git-root': { type: 'string' },
    'control-port': { type: 'string', default: '0' },
    'with-parent': { type: 'boolean', default: false },
  },
});

const world = await startMinterWorld({
  https: values.https,
  host: values.host,
  publicHost: values['public-host'],
  org: values.org,
  repositories: values.repositories.split(','),
  appId: Number(values['app-id']),
  importKey: true,
  progress: (line) => void process.stderr.write(`import: ${line}\n`),
  ...(values['git-root'] ? { git: { root: values['git-root'] } } : {}),
});
const control = createControlServer(world);
await new Promise<void>((resolve) => control.listen(Number(values['control-port']), '127.0.0.1', resolve));
process.stdout.write(
  `${JSON.stringify({
    org: world.org,
    appId: world.appId,
    keyVersion: world.keyVersion,
    kmsEndpoint: world.env.KMS_API_ENDPOINT,
    apiBaseUrl: world.platform.apiBaseUrl,
    gitBaseUrl: world.platform.gitBaseUrl,
    issuerUrl: world.issuer.issuer,
    jwksUri: world.issuer.jwksUri,
    caFile: world.ca?.path ?? null,
    control: `http://127.0.0.1:${(control.address() as AddressInfo).port}`,
  })}\n`,
);

const stop = (): void => {
  control.closeAllConnections();
  control.close();
  void world.stop();
  process.stdin.destroy();
};
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
if (values['with-parent']) process.stdin.resume().once('end', stop);
