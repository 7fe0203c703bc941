import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyPairSync } from 'node:crypto';
import { createCa, issueLeaf, type KeyPairPem } from '../../src/net/ca.ts';
import { FakeIssuer } from '../../src/testing/fake-issuer/fake-issuer.ts';
import { FakeKms } from '../../src/testing/fake-kms/fake-kms.ts';
import { FakePlatform } from '../../src/testing/fake-platform/fake-platform.ts';
import { builtPrograms, nodeEnvironment } from '../cluster/own-programs.ts';

/** Stand-ins on loopback for what the minter calls outside the cluster: key service, hosting platform, cloud issuer. */
export interface OutsideWorld {
  appId: number;
  /** Full name of the key version that `minter tools import-pk` made. */
  keyVersion: string;
  platform: FakePlatform;
  issuer: FakeIssuer;
  kms: FakeKms;
  /** The environment of the minter's image: the address of the key service, and the CA to trust. */
  minterEnv: Record<string, string>;
  stop(): Promise<void>;
}

/** Starts the stand-ins and imports the App's key into the key service, as an installer does. */
export async function startOutsideWorld(options: {
  org: string;
  repositories: readonly string[];
  /** The host name in URLs and certificates; the stand-ins then listen on every address. Default: `localhost`. */
  publicHost?: string;
  /** Port of the key service. Default: a free one. */
  kmsPort?: number;
  /** The CA of the certificates. Default: a new one. */
  authority?: KeyPairPem;
}): Promise<OutsideWorld> {
  const { publicHost = 'localhost' } = options;
  const host = options.publicHost === undefined ? '127.0.0.1' : '0.0.0.0';
  const now = Date.now();
  const ca = options.authority ?? (await createCa({ commonName: 'outside-world', now, days: 30 }));
  const names = {
    commonName: publicHost,
    dnsNames: [...new Set(['localhost', publicHost])],
    ipAddresses: ['127.0.0.1'],
  };
  const tls = await issueLeaf(ca, names, { now, days: 30 });
  const appKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const issuerKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const common = { now: Date.now, host, publicHost, tls };
  const [kms, platform, issuer] = await Promise.all([
    FakeKms.start({ host, port: options.kmsPort ?? 0 }),
    FakePlatform.start({ ...common, port: 0 }),
    FakeIssuer.start({ ...common, port: 0, keys: [issuerKey] }),
  ]);
  const appId = 424242;
  platform.state.addAccount(options.org, 'Organization', [...options.repositories]);
  platform.state.addApp(appId, appKey);
  platform.state.install({ account: options.org, appId });
  const keyVersion = await importKey(kms.port, appKey.export({ type: 'pkcs1', format: 'pem' }) as string);
  // Last, so that a start that fails or is interrupted leaves no file.
  const dir = mkdtempSync(join(tmpdir(), 'svc-outside-'));
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  // A second Ctrl-C ends this process without `stop`.
  process.once('exit', remove);
  const caFile = join(dir, 'ca.crt');
  writeFileSync(caFile, ca.cert);
  return {
    appId,
    keyVersion,
    platform,
    issuer,
    kms,
    minterEnv: { KMS_API_ENDPOINT: `${publicHost}:${kms.port}`, NODE_EXTRA_CA_CERTS: caFile },
    stop: async () => {
      await Promise.all([kms.stop(), platform.stop(), issuer.stop()]);
      remove();
      process.off('exit', remove);
    },
  };
}

/** Runs the real `minter tools import-pk` for the key that the samples name. Resolves with the key version's name. */
function importKey(kmsPort: number, pem: string): Promise<string> {
  const flags = [
    '-project-id',
    'demo-project',
    '-location',
    'global',
    '-key-ring',
    'minter',
    '-key',
    'app',
    '-private-key',
    '-',
  ];
  return new Promise((resolve, reject) => {
    const env = nodeEnvironment({ KMS_API_ENDPOINT: `localhost:${kmsPort}` });
    const child = spawn(process.execPath, [builtPrograms.minter, 'tools', 'import-pk', ...flags], {
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(out.trim()) : reject(new Error(`minter tools import-pk: exit ${code}: ${err}`)),
    );
    child.stdin.end(pem);
  });
}
