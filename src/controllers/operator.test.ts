import { createServer } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kinds } from '../api/v1alpha1/index.ts';
import { systemClock } from '../base/clock.ts';
import { createLogger } from '../base/logger.ts';
import { readSettings } from '../base/settings.ts';
import { coreResources } from '../kube/index.ts';
import { closeServer, listen } from '../net/listen.ts';
import { names, renderedKinds } from '../render/index.ts';
import { FakeApiServer } from '../testing/fake-api-server/index.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { until } from '../testing/until.ts';
import { operatorSettingTable, runOperator, type OperatorSettings } from './index.ts';

let server: FakeApiServer;
let dir: string;
let lines: Record<string, unknown>[];
const before = process.env['KUBECONFIG'];
const logger = createLogger({ write: (line) => void lines.push(JSON.parse(line) as never) });

beforeEach(async () => {
  lines = [];
  server = await FakeApiServer.start({ resources: [...kinds.map((k) => k.resource), renderedKinds.PriorityClass] });
  dir = await mkdtemp(join(tmpdir(), 'svc-operator-'));
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 't' } }],
  };
  process.env['KUBECONFIG'] = join(dir, 'config');
  await writeFile(process.env['KUBECONFIG'], JSON.stringify(config));
});
afterEach(async () => {
  if (before === undefined) delete process.env['KUBECONFIG'];
  else process.env['KUBECONFIG'] = before;
  await server.stop();
  await rm(dir, { recursive: true });
});
const settings = (flags: Record<string, string> = {}): OperatorSettings =>
  readSettings(operatorSettingTable, {
    flags: { bindAddress: '127.0.0.1', metricsPort: '0', ...flags },
    env: {},
    prefix: 'SVC_',
  });
const portOf = (): Promise<number> =>
  until('the start', () => lines.find((l) => l['msg'] === 'operator starts')?.['metricsPort'] as number | undefined);

test('the operator leads, installs the platform, serves probes and metrics, and ends on its signal', async () => {
  const abort = new AbortController();
  const running = runOperator(settings(), { logger, clock: systemClock, signal: abort.signal });
  const base = `http://127.0.0.1:${await portOf()}`;
  await until('the query server', () => server.storage.find(coreResources.deployments, 'svc-system', names.query));
  expect(await (await fetch(`${base}/readyz?verbose`)).text()).toContain('[+]caches ok');
  expect((await fetch(`${base}/livez`)).status).toBe(200);
  const metrics = await (await fetch(`${base}/metrics`)).text();
  expect(metrics).toContain('leader_election_master_status{name="svc-controller"} 1');
  expect(metrics).toMatch(/rest_client_requests_total\{code="20[01]",method="PATCH"/);
  expect((await fetch(`${base}/other`)).status).toBe(404);
  expect((await fetch(`${base}/metrics`, { method: 'POST' })).status).toBe(405);
  abort.abort();
  await running;
  const lease = server.storage.get(coreResources.leases, 'svc-system', 'svc-controller');
  expect(lease['spec']).toMatchObject({ holderIdentity: '' });
  await until('the end of every watch', () => server.openWatches().length === 0);
});

test('a reconcile under way at the stop leaves time to give the lease back within the grace period', async () => {
  const clock = new FakeClock();
  const held = Promise.withResolvers<void>();
  server.script({ verb: 'apply', plural: 'deployments' }, { do: 'hold', until: held.promise }, 100);
  const abort = new AbortController();
  const running = runOperator(settings(), { logger, clock, signal: abort.signal });
  const pass = async (condition: () => unknown): Promise<void> => {
    while (!condition()) await clock.advance(5);
  };
  await pass(() => server.seen({ verb: 'apply', plural: 'deployments' }).length > 0);
  const stoppedAt = clock.monotonic();
  abort.abort();
  let ended = false;
  void running.finally(() => (ended = true));
  await pass(() => ended);
  // The webhooks may take 16 of the 30 s after that, as long as connections still come.
  expect(clock.monotonic() - stoppedAt).toBeLessThan(14_000);
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: 'the drain time is over: running reconciles are aborted' }),
  );
  const lease = server.storage.get(coreResources.leases, 'svc-system', 'svc-controller');
  expect(lease['spec']).toMatchObject({ holderIdentity: '' });
  held.resolve();
});

test('a port in use ends the operator with an error that names the address', async () => {
  const other = createServer();
  const port = await listen('other', other, { host: '127.0.0.1', port: 0 });
  const { signal } = new AbortController();
  await expect(
    runOperator(settings({ metricsPort: String(port) }), { logger, clock: systemClock, signal }),
  ).rejects.toMatchObject({ code: 'ERR_LISTEN', message: `metrics listen 127.0.0.1:${port}: address already in use` });
  await closeServer(other, 0);
});

test('without a kubeconfig the error says so', async () => {
  process.env['KUBECONFIG'] = join(dir, 'absent');
  const { signal } = new AbortController();
  await expect(runOperator(settings(), { logger, clock: systemClock, signal })).rejects.toMatchObject({
    code: 'ERR_CONFIG_INVALID',
    message: expect.stringContaining('no file of KUBECONFIG exists') as unknown,
  });
});

test.each([
  ['--svc-image', { svcImage: 'not an image' }],
  ['--obi-instrument-ports', { obiInstrumentPorts: '80;443' }],
  ['--agent-data-host-path', { agentDataHostPath: 'relative' }],
  ['--leader-elect', { leaderElect: 'yes' }],
])('an invalid %s is refused, and the error names the flag', (flag, flags) => {
  expect(() => settings(flags)).toThrow(flag);
});
