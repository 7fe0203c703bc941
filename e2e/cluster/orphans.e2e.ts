import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../../src/testing/until.ts';
import { heldNetworks } from './run-registry.ts';
import { exited, processesOfRun, spawnBound, toolEnvironment } from './processes.ts';

const uid = process.getuid?.() ?? 0;
/** What is written of a run whose owner has ended: no process has this id. */
const deadRun = { owner: 2 ** 22 + 1, ownerIdentity: '1', keep: false };

describe('what a run leaves on the machine', () => {
  test('no process is left when the owner of a cluster is killed with -9', async () => {
    const { owner, kubeconfig, run } = await startOwner();
    const held = heldNetworks().filter((one) => one.run === run);
    expect(processesOfRun(run).length).toBeGreaterThanOrEqual(5);
    owner.kill('SIGKILL');
    await exited(owner);
    await until('all its processes are gone', async () => processesOfRun(run).length === 0, { timeoutMs: 10_000 });
    await until('its folder is gone', async () => !existsSync(dirname(kubeconfig)), { timeoutMs: 10_000 });
    // Another run may have claimed the same network since.
    const left = (): boolean =>
      heldNetworks().some(
        ({ network, run: holder }) =>
          (holder === undefined || holder === run) && held.some((one) => one.network === network),
      );
    await until('its addresses are gone', async () => !left(), { timeoutMs: 10_000 });
  });

  test('Ctrl-C ends a running cluster in order', async () => {
    const { owner, kubeconfig, run } = await startOwner();
    owner.kill('SIGINT');
    await exited(owner);
    expect(owner.exitCode).toBe(0);
    expect(processesOfRun(run)).toEqual([]);
    expect(existsSync(dirname(kubeconfig))).toBe(false);
  });

  test('the next run releases what a crashed run left', async () => {
    const { temp, registry } = ownRegistry();
    const run = randomBytes(6).toString('hex');
    leaveRun(registry, run, JSON.stringify(deadRun));
    const left = spawnBound(['sleep', '600'], { run, env: toolEnvironment(), stdio: 'ignore' });
    await until('it runs with the marker', async () => processesOfRun(run).length === 1);
    openAndClose(temp);
    await exited(left);
    expect(left.signalCode).toBe('SIGKILL');
    expect(readdirSync(temp)).toEqual([]);
    rmSync(temp, { recursive: true });
  });

  test.each<[string, (folder: string) => string]>([
    ['names a folder', (folder) => JSON.stringify({ ...deadRun, dir: folder })],
    ['has no field', () => '{}'],
    ['has fields of other types', () => JSON.stringify({ owner: [], ownerIdentity: 1, keep: 0 })],
    ['is cut off', () => '{"owner":'],
  ])('a record that %s is removed, without anything outside the registry', (_what, record) => {
    const { temp, registry } = ownRegistry();
    const folder = join(temp, 'precious');
    mkdirSync(folder);
    mkdirSync(join(registry, 'runs'), { recursive: true, mode: 0o700 });
    writeFileSync(join(registry, 'runs', '0123456789ab'), record(folder));
    openAndClose(temp);
    expect(readdirSync(temp)).toEqual(['precious']);
    rmSync(temp, { recursive: true });
  });

  test('the folder of a crashed run that was to be kept stays, as does a record that no run has written', () => {
    const { temp, registry } = ownRegistry();
    leaveRun(registry, '0123456789ab', JSON.stringify({ ...deadRun, keep: true }));
    leaveRun(registry, 'not-a-run', JSON.stringify(deadRun));
    openAndClose(temp);
    expect(readdirSync(join(registry, 'data')).toSorted()).toEqual(['0123456789ab', 'not-a-run']);
    expect(readdirSync(join(registry, 'runs'))).toEqual(['not-a-run']);
    rmSync(temp, { recursive: true });
  });

  test('nobody else can read a registry or write to it', () => {
    const { temp, registry } = ownRegistry();
    const script = `const run = await openRun(); console.log(statSync('${registry}').mode & 0o777); await run.close();`;
    expect(runWithRegistry(temp, script)).toBe(`${0o700}\n`);
    rmSync(temp, { recursive: true });
  });

  test('a registry stays its user’s own where new folders are open to a group, also after a crashed run', () => {
    const { temp, registry } = ownRegistry();
    leaveRun(registry, '0123456789ab', JSON.stringify(deadRun));
    const modes = `['', '/runs', '/data'].map((name) => (statSync('${registry}' + name).mode & 0o777).toString(8)).join()`;
    const script = `process.umask(0o002); const run = await openRun(); console.log(${modes}); await run.close();`;
    expect(runWithRegistry(temp, script)).toBe('700,700,700\n');
    expect(readdirSync(temp)).toEqual([]);
    rmSync(temp, { recursive: true });
  });

  const foreign: [string, (registry: string) => void, RegExp][] = [
    [
      'is a link',
      (registry) => linkTo(`${registry}-elsewhere`, registry),
      /is not a folder, so it is not used\. Remove it, or set TMPDIR/,
    ],
    [
      'others can write to',
      (registry) => chmodSync(registry, 0o775),
      /other users can write to .* \(mode 775\), so it is not used\. Wait for what still uses it to end, .*\. Then remove it, or/,
    ],
  ];
  if (uid === 0) {
    const give = (registry: string): void => chownSync(registry, 65_534, 65_534);
    foreign.push(['belongs to another user', give, /belongs to another user \(uid 65534\), .* Remove it, or/]);
  }
  test.each(foreign)('a registry that %s is refused, and nothing is removed', (_what, change, sentence) => {
    const { temp, registry } = ownRegistry();
    leaveRun(registry, '0123456789ab', JSON.stringify(deadRun));
    change(registry);
    expect(() => openAndClose(temp)).toThrow(sentence);
    expect(() => openAndClose(temp)).toThrow('or set TMPDIR to a folder of your own.');
    expect(existsSync(join(registry, 'data', '0123456789ab'))).toBe(true);
    rmSync(temp, { recursive: true });
  });
});

/** A registry of its own, so that the other runs of this machine are left alone. It is that of TMPDIR=`temp`. */
function ownRegistry(): { temp: string; registry: string } {
  const temp = mkdtempSync(join(tmpdir(), 'svc-orphans-'));
  return { temp, registry: join(temp, `svc-cluster-${uid}`) };
}

/** Puts a run into the registry: its record, and its folder. */
function leaveRun(registry: string, run: string, record: string): void {
  mkdirSync(join(registry, 'runs'), { recursive: true, mode: 0o700 });
  writeFileSync(join(registry, 'runs', run), record);
  mkdirSync(join(registry, 'data', run), { recursive: true, mode: 0o700 });
}

function linkTo(elsewhere: string, path: string): void {
  renameSync(path, elsewhere);
  symlinkSync(elsewhere, path);
}

/** Runs a script in another process, with `openRun` of the registry of TMPDIR=`temp`. Returns its output. */
function runWithRegistry(temp: string, script: string): string {
  const module = new URL('./run-registry.ts', import.meta.url).href;
  const imports = `import { openRun } from '${module}'; import { statSync } from 'node:fs';`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', `${imports} ${script}`], {
    env: toolEnvironment({ TMPDIR: temp }),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

const openAndClose = (temp: string): string => runWithRegistry(temp, 'await (await openRun()).close();');

/** A cluster with one node, owned by another process. */
async function startOwner(): Promise<{ owner: ChildProcess; kubeconfig: string; run: string }> {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const owner = spawn(process.execPath, [main, '--nodes=1'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
    env: toolEnvironment(),
  });
  const kubeconfig = await new Promise<string>((resolve, reject) => {
    createInterface({ input: owner.stdout }).once('line', resolve);
    owner.once('exit', () => reject(new Error('the owner ended before the cluster was up')));
  });
  return { owner, kubeconfig, run: basename(dirname(kubeconfig)) };
}
