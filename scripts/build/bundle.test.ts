import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { Metafile } from 'esbuild';
import { bundle, programs, root, type Program } from './bundle.ts';
import { buildIdentity } from './identity.ts';
import { buildPage } from './page.ts';
import { packagesIn, thirdPartyNotices } from './notices.ts';
import { sbomOf } from './sbom.ts';

/** Folder of the bundles: outside the checkout, so that no `node_modules` is in reach. */
let dir: string;
const made = new Map<Program, Metafile>();
const names = Object.keys(programs) as Program[];

const identity = buildIdentity({ SVC_COMMIT: 'c0ffee', SOURCE_DATE_EPOCH: '1767225600' });

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-bundle-'));
  await cp(join(root, 'package.json'), join(dir, 'package.json'));
  await Promise.all(
    names.map(async (name) => made.set(name, await bundle(name, { outDir: join(dir, 'dist'), identity }))),
  );
}, 180_000);
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

async function run(entry: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const file = join(dir, 'dist', entry);
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file, ...args], { env, cwd: dir });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as Outcome;
    return { code, stdout, stderr };
  }
}

/** Size of the supervisor that an init container puts on a node's disk; most of it is Node.js. Unit: MB. */
const supervisorMegabytes = 130;

/**
 * Packages that dependencies try to load but can do without: native speed-ups of `ws`, old text encodings of
 * `node-fetch`.
 */
const optional = ['bufferutil', 'utf-8-validate', 'encoding'];

test.each(names)('the bundle of %s needs nothing but built-in modules and its own files', (name) => {
  const { outputs } = made.get(name)!;
  const own = Object.keys(outputs).map((path) => `./${basename(path)}`);
  const outside = Object.values(outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ external, path }) => external && !isBuiltin(path) && ![...optional, ...own].includes(path));
  expect(outside).toEqual([]);
});

test.each(names)('no module of %s imports http, which would load the copy of undici that is in Node', (name) => {
  const imports = Object.values(made.get(name)!.outputs).flatMap((output) => output.imports);
  const statements = imports.filter(({ external, kind }) => external === true && kind === 'import-statement');
  expect(statements.map(({ path }) => path)).toContain('node:fs');
  expect(statements.filter(({ path }) => /^(?:node:)?http$/.test(path))).toEqual([]);
});

test.each(names)('the code of %s takes at most 20 MB, and each file has a source map', async (name) => {
  const files = await readdir(join(dir, 'dist', name));
  const code = files.filter((file) => /\.c?js$/.test(file));
  const sizes = await Promise.all(code.map(async (file) => (await stat(join(dir, 'dist', name, file))).size));
  expect(sizes.reduce((a, b) => a + b)).toBeLessThanOrEqual(20e6);
  expect(files.filter((file) => /\.c?js\.map$/.test(file)).toSorted()).toEqual(code.map((f) => `${f}.map`).toSorted());
});

test.each(names)('the code of %s is ASCII, which V8 keeps at one byte a character', async (name) => {
  const files = (await readdir(join(dir, 'dist', name))).filter((file) => /\.c?js$/.test(file));
  const texts = await Promise.all(files.map((file) => readFile(join(dir, 'dist', name, file), 'utf8')));
  expect(files.filter((_, i) => /[^\0-\x7f]/.test(texts[i]!))).toEqual([]);
});

test.each([
  ['svc/svc.js', ['operator', '--help']],
  ['svc/svc.js', ['query', '--help']],
  ['svc/svc.js', ['install', '--dry-run=client']],
  ['minter/minter.js', ['tools', 'import-pk', '--help']],
  ['kubectl-svc/kubectl-svc.js', ['--help']],
  ['kubectl-svc/kubectl-complete-svc.js', ['']],
])('%s %p runs without node_modules', async (entry, args) => {
  const { code, stdout, stderr } = await run(entry, args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).not.toBe('');
});

test('the plugin loads client-node for an auth provider of a kubeconfig, and for no other user', async () => {
  const asked = join(dir, 'asked');
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', `require('node:fs').writeFileSync(${JSON.stringify(asked)}, ''); process.exit(3)`],
  };
  const clientNode = join(dir, 'dist/kubectl-svc/client-node.cjs');
  const status = async (user: object): Promise<Outcome> => {
    const kubeconfig = join(dir, 'kubeconfig');
    const cluster = { server: 'http://127.0.0.1:9', 'insecure-skip-tls-verify': true };
    const config = {
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    await writeFile(kubeconfig, JSON.stringify(config));
    return run('kubectl-svc/kubectl-svc.js', ['status'], { KUBECONFIG: kubeconfig });
  };
  const text = await readFile(clientNode);
  await writeFile(clientNode, 'throw new Error("client-node was loaded")');
  try {
    for (const user of [{ token: 't' }, { exec }]) {
      expect((await status(user)).stderr).not.toContain('client-node was loaded');
    }
    expect(await readdir(dir)).toContain('asked');
    const provider = { name: 'oidc', config: { 'idp-issuer-url': 'https://issuer.example', 'id-token': 't' } };
    expect((await status({ 'auth-provider': provider })).stderr).toContain('client-node was loaded');
  } finally {
    await writeFile(clientNode, text);
  }
});

test.each(['svc/svc.js', 'minter/minter.js', 'kubectl-svc/kubectl-svc.js'])(
  '%s --version prints version, commit and date',
  async (entry) => {
    const { version } = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8')) as { version: string };
    const { stdout } = await run(entry, ['--version']);
    expect(stdout).toBe(`${version} (commit c0ffee, 2026-01-01T00:00:00Z)\n`);
  },
);

test('the same sources give the same bytes', async () => {
  await bundle('minter', { outDir: join(dir, 'again'), identity });
  const [once, again] = await Promise.all(['dist', 'again'].map((out) => contents(join(dir, out, 'minter'))));
  expect(again).toEqual(once);
});

async function contents(folder: string): Promise<Record<string, string>> {
  const files = (await readdir(folder)).toSorted();
  const hash = async (file: string): Promise<string> =>
    createHash('sha256')
      .update(await readFile(join(folder, file)))
      .digest('hex');
  return Object.fromEntries(await Promise.all(files.map(async (file) => [file, await hash(file)] as const)));
}

test('the bill of materials names the program, and each package with its version, licence and hash', async () => {
  const metafile = made.get('minter')!;
  const sbom = await sbomOf('minter', [metafile], identity);
  expect(sbom.metadata).toMatchObject({ timestamp: '2026-01-01T00:00:00Z', component: { name: 'minter' } });
  expect(sbom.components.find(({ name }) => name === 'kms')).toEqual({
    type: 'library',
    'bom-ref': 'pkg:npm/%40google-cloud/kms@5.7.0',
    group: '@google-cloud',
    name: 'kms',
    version: '5.7.0',
    purl: 'pkg:npm/%40google-cloud/kms@5.7.0',
    licenses: [{ license: { id: 'Apache-2.0' } }],
    hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) as unknown }],
  });
  expect(sbom.components.filter(({ licenses }) => licenses === undefined)).toEqual([]);
  const named = new Set(sbom.components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`)));
  const packages = packagesIn(metafile).map((folder) => folder.slice(folder.lastIndexOf('node_modules/') + 13));
  expect(named).toEqual(new Set(packages));
  expect(sbom.dependencies[0]!.dependsOn).toHaveLength(sbom.components.length);
});

test('the bill of materials of svc includes the page, and the page’s notices name each of its packages', async () => {
  const page = await buildPage(join(dir, 'dist'));
  const { components } = await sbomOf('svc', [made.get('svc')!, page], identity);
  const named = components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`));
  const packages = packagesIn(page).map((folder) => folder.slice(folder.lastIndexOf('node_modules/') + 13));
  expect(packages).toEqual(expect.arrayContaining(['preact', 'uplot', 'cytoscape', '@codemirror/view', '@lezer/lr']));
  expect(named).toEqual(expect.arrayContaining([...packages, 'express']));
  const notices = await readFile(join(dir, 'dist/ui/THIRD-PARTY-NOTICES.txt'), 'utf8');
  const titles = notices.split(`\n${'-'.repeat(80)}\n\n`).slice(1);
  expect(titles.map((text) => text.split(' ', 1)[0])).toEqual(packages);
});

test('a SOURCE_DATE_EPOCH that is not in whole seconds is refused', () => {
  expect(() => buildIdentity({ SOURCE_DATE_EPOCH: 'today' })).toThrow(
    'SOURCE_DATE_EPOCH=today: it takes whole seconds',
  );
});

test('the bundle of svc writes the instrument’s first configuration file', async () => {
  const config = join(dir, 'config/config.yaml');
  const flags = [`--data-dir=${dir}/data`, `--instrument-config=${config}`, '--node-name=n1'];
  expect(await run('svc/svc.js', ['agent', 'init-config', ...flags])).toMatchObject({ code: 0 });
  expect(await readFile(config, 'utf8')).toContain('open_ports: "80,443,8080,8443"');
});

describe('the minter’s key from a file', () => {
  const minter = (build: string): Promise<Outcome> =>
    run(`../${build}/minter/minter.js`, ['server', 'run'], {
      VCS_ORG: 'acme',
      VCS_APP_ID: '1',
      AUDIENCES: 'http://minter',
      KMS_KEY_VERSION: 'projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1',
      KMS_PROVIDER: 'file',
      ALLOW_DEV_KEY: 'true',
      DEV_KEY_FILE: join(dir, 'package.json'),
      CONFIGS_DIR: dir,
      PORT: '0',
    });
  test('does not sign in a production build', async () => {
    const { code, stderr } = await minter('dist');
    expect(code).not.toBe(0);
    expect(stderr).toContain('this build cannot sign with a key from a file');
  });
  test('is read by a development build', async () => {
    await bundle('minter', { outDir: join(dir, 'development'), development: true });
    const { code, stderr } = await minter('development');
    expect(code).not.toBe(0);
    expect(stderr).toContain('DEV_KEY_FILE must hold a PEM RSA private key');
  });
});

test('the third-party notices name every package of a bundle with its version and licence', async () => {
  const metafile = made.get('minter')!;
  const notices = await thirdPartyNotices(metafile);
  expect(packagesIn(metafile)).toEqual(expect.arrayContaining(['node_modules/jose', 'node_modules/@google-cloud/kms']));
  expect(notices).toContain('@google-cloud/kms 5.7.0 (Apache-2.0)');
  expect(notices.split(`\n${'-'.repeat(80)}\n\n`)).toHaveLength(packagesIn(metafile).length + 1);
});

test('the supervisor that an init container copies to a volume is a single script, which runs without other files', async () => {
  const target = await mkdtemp(join(tmpdir(), 'svc-supervisor-'));
  try {
    const flags = [`--instrument-config=${target}/config.yaml`, `--data-dir=${target}/data`, '--node-name=n'];
    const init = await run('svc/svc.js', ['agent', 'init-config', ...flags, `--supervisor-dir=${target}/program`]);
    expect(init).toMatchObject({ code: 0 });
    const script = join(target, 'program', 'supervise.mjs');
    const alone = await promisify(execFile)(process.execPath, [script, 'supervise'], { env: {} }).catch(
      (error: unknown) => error as Outcome,
    );
    expect(alone).toMatchObject({ code: 64, stderr: '' });
    expect(alone.stdout).toContain('usage: supervise');
    const files = await readdir(join(target, 'program'), { recursive: true, withFileTypes: true });
    const sizes = await Promise.all(
      files.filter((file) => file.isFile()).map(async (file) => (await stat(join(file.parentPath, file.name))).size),
    );
    const megabytes = sizes.reduce((a, b) => a + b) / 1e6;
    // docs/critiques.md states this size; Node.js on this machine may be larger or smaller.
    expect(Math.abs(megabytes - supervisorMegabytes)).toBeLessThan(supervisorMegabytes / 4);
  } finally {
    await rm(target, { recursive: true, force: true });
  }
});
