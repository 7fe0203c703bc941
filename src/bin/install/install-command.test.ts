import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kinds, minterDeployments } from '../../api/v1alpha1/index.ts';
import { coreResources } from '../../kube/index.ts';
import { FakeApiServer, StatusError } from '../../testing/index.ts';
import { FakeKms, privatePem, testKey } from '../../testing/minter-world/index.ts';

/** An installation is made whole, or is refused before it has changed anything. */

const { clusterRoles, customResourceDefinitions, deployments, namespaces } = coreResources;
const program = join(import.meta.dirname, '../svc.ts');

let server: FakeApiServer;
let kms: FakeKms;
let dir: string;

beforeEach(async () => {
  [server, kms] = await Promise.all([FakeApiServer.start(), FakeKms.start()]);
  dir = mkdtempSync(join(tmpdir(), 'svc-install-'));
  const kubeconfig = {
    'current-context': 'one',
    clusters: [{ name: 'c', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
  };
  writeFileSync(join(dir, 'kubeconfig'), JSON.stringify(kubeconfig));
});
afterEach(async () => {
  await Promise.all([server.stop(), kms.stop()]);
  rmSync(dir, { recursive: true });
});

/** Runs `svc`. The reading ends of the output streams in `unread` are closed at once. */
function svc(
  args: readonly string[],
  { env = {}, unread = [] }: { env?: Record<string, string>; unread?: readonly ('stdout' | 'stderr')[] } = {},
): Promise<{ code: number | null; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], {
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        KUBECONFIG: join(dir, 'kubeconfig'),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    for (const name of ['stdout', 'stderr'] as const) if (unread.includes(name)) child[name].destroy();
    if (!unread.includes('stderr')) child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.stdout.resume();
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stderr }));
  });
}

const objects = (): number[] => [namespaces, clusterRoles, deployments].map((ref) => server.storage.list(ref).length);

test('an installation and its removal go on when the readers of their reports are gone', async () => {
  expect(await svc(['install'], { unread: ['stdout'] })).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/installed; next/),
  });
  const all = objects();
  expect(all.every((count) => count > 0)).toBe(true);
  expect((await svc(['uninstall'], { unread: ['stderr'] })).code).toBe(0);
  expect(objects()).toEqual([0, 0, 0]);
  expect((await svc(['install'], { unread: ['stdout', 'stderr'] })).code).toBe(0);
  expect(objects()).toEqual(all);
}, 120_000);

test('a time limit that is none is refused before anything is applied', async () => {
  expect(await svc(['install', '--wait', '--timeout=5x'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--timeout'),
  });
  expect(server.requests).toEqual([]);
});

/** The settings of a minter, with a private key to import. */
function withKey(): Record<string, string> {
  writeFileSync(join(dir, 'app.pem'), privatePem(testKey('app')));
  return {
    GITOPS_ORG: 'acme',
    GITOPS_REPO: 'gitops',
    VCS_PEM_PATH: join(dir, 'app.pem'),
    KMS_KEY_VERSION: 'projects/p/locations/global/keyRings/r/cryptoKeys/app',
    KMS_API_ENDPOINT: `localhost:${kms.port}`,
    MINTER_CALLERS: 'agent@p.iam.gserviceaccount.com',
  };
}

test.each<[string, RegExp, () => void]>([
  [
    'that refuses an object',
    /ClusterRole.*not your business/,
    () => {
      const error = new StatusError(403, 'Forbidden', 'not your business');
      server.script({ verb: 'apply', plural: 'clusterroles' }, { do: 'fail', error }, Infinity);
    },
  ],
  ['that cannot be reached', /ECONNRESET/, () => server.script(() => true, { do: 'reset' }, Infinity)],
])(
  'a private key is not imported for an API server %s',
  async (_what, said, arrange) => {
    arrange();
    expect(await svc(['install'], { env: withKey() })).toEqual({ code: 1, stderr: expect.stringMatching(said) });
    expect([...kms.calls.keys()].filter((method) => /^(Create|Import)/.test(method))).toEqual([]);
  },
  120_000,
);

test('an installation with a private key imports it, and the version that came of it signs', async () => {
  kms.addVersion(testKey('other'), { state: 'DISABLED' });
  for (const { resource } of kinds) {
    server.addResource(resource);
    server.put(customResourceDefinitions, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${resource.plural}.${resource.group}` },
      status: { conditions: [{ type: 'Established', status: 'True' }] },
    });
  }
  const version = (n: number): string => `projects/p/locations/global/keyRings/r/cryptoKeys/app/cryptoKeyVersions/${n}`;
  const signing = (): string =>
    (server.storage.list(minterDeployments)[0]?.['spec'] as { kms: { keyVersion: string } }).kms.keyVersion;
  const { code, stderr } = await svc(['install'], { env: withKey() });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect([signing(), kms.version(version(2)).state]).toEqual([version(2), 'ENABLED']);

  // A rotation by hand: installing again takes the version that signs since.
  kms.addVersion(testKey('next'));
  const [minter] = server.storage.list(minterDeployments);
  const spec = minter!['spec'] as { kms: object };
  server.put(
    minterDeployments,
    { ...minter!, spec: { ...spec, kms: { ...spec.kms, keyVersion: version(3) } } },
    'kubectl',
  );
  const again = await svc(['install'], { env: withKey() });
  expect(again).toMatchObject({ code: 0 });
  expect(again.stderr.match(/an enabled version exists/g)).toHaveLength(1);
  expect([signing(), kms.count('ImportCryptoKeyVersion')]).toEqual([version(3), 1]);
}, 120_000);

test('a private key is imported only where the rest of the settings and the kubeconfig are whole', async () => {
  const whole = withKey();
  for (const [env, said] of [
    [{ MINTER_CALLERS: '' }, 'MINTER_CALLERS'],
    [{ MINTER_CALLERS: 'me@acme.com' }, 'MINTER_CALLERS'],
    [{ MINTER_CALLERS: 'agent@p.iam.gserviceaccount.com,' }, 'MINTER_CALLERS'],
    [{ VCS_APP_ID: '0' }, 'VCS_APP_ID'],
    [{ GITOPS_REPO: '' }, 'GITOPS_REPO'],
    [{ KUBECONFIG: join(dir, 'nowhere') }, 'nowhere'],
  ] as const) {
    const { code, stderr } = await svc(['install'], { env: { ...whole, ...env } });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(said) });
    expect(kms.rings.size).toBe(0);
  }
  // With whole settings the key service is asked.
  await svc(['install', '--dry-run=server'], { env: whole });
  expect([...kms.calls.keys()]).not.toEqual([]);
}, 120_000);
