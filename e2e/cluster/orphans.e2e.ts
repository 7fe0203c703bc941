import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { basename, dirname } from 'node:path';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { exited, processesOfRun, toolEnvironment } from './processes.ts';

/** The addresses that runs have put on the loopback device. */
const addresses = (): string[] =>
  process.platform === 'linux'
    ? (execFileSync('ip', ['-o', 'addr', 'show', 'dev', 'lo'], { encoding: 'utf8' }).match(/198\.18\.\d+\.1\/24/g) ??
      [])
    : [];

describe('what a run leaves on the machine', () => {
  test('leaves no process behind after stop', async () => {
    const cluster = await startCluster({ nodes: 1 });
    const run = basename(cluster.dir);
    const address = `${cluster.nodes[0]?.ip}/24`;
    expect(processesOfRun(run).length).toBeGreaterThanOrEqual(5);
    await cluster.stop();
    expect(processesOfRun(run)).toEqual([]);
    expect(addresses()).not.toContain(address);
    expect(existsSync(cluster.dir)).toBe(false);
  });

  test('leaves no process behind when the owner is killed with -9', async () => {
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
    const run = basename(dirname(kubeconfig));
    const held = addresses();
    expect(processesOfRun(run).length).toBeGreaterThanOrEqual(5);
    owner.kill('SIGKILL');
    await exited(owner);
    await eventually('all its processes are gone', () => processesOfRun(run).length === 0, 10_000);
    await eventually('its folder is gone', () => !existsSync(dirname(kubeconfig)), 10_000);
    if (held.length > 0) await eventually('its addresses are gone', () => addresses().length < held.length, 10_000);
  });
});
