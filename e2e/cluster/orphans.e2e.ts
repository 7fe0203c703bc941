import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../../src/testing/until.ts';
import { heldNetworks } from './run-registry.ts';
import { exited, processesOfRun, spawnBound, toolEnvironment } from './processes.ts';

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
    // A registry of its own, so that the other runs of this machine are left alone.
    const temp = mkdtempSync(join(tmpdir(), 'svc-orphans-'));
    const registry = join(temp, `svc-cluster-${process.getuid?.() ?? 0}`);
    const run = randomBytes(6).toString('hex');
    const data = join(temp, 'data');
    mkdirSync(join(registry, 'runs'), { recursive: true });
    mkdirSync(data);
    const record = { owner: 2 ** 22 + 1, ownerIdentity: '1', dir: data, keep: false };
    writeFileSync(join(registry, 'runs', run), JSON.stringify(record));
    const left = spawnBound(['sleep', '600'], { run, env: toolEnvironment(), stdio: 'ignore' });
    await until('it runs with the marker', async () => processesOfRun(run).length === 1);
    const module = new URL('./run-registry.ts', import.meta.url).href;
    const script = `import { openRun } from '${module}'; await (await openRun()).close();`;
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { env: toolEnvironment({ TMPDIR: temp }) });
    await exited(left);
    expect(left.signalCode).toBe('SIGKILL');
    expect(existsSync(data)).toBe(false);
    expect(readdirSync(temp)).toEqual([]);
    rmSync(temp, { recursive: true });
  });
});

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
