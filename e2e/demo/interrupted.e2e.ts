import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../../src/testing/until.ts';
import { exited } from '../cluster/processes.ts';

test('Ctrl-C while the demo starts leaves nothing in the temporary folder', async () => {
  const temp = mkdtempSync(join(tmpdir(), 'svc-interrupted-'));
  const runs = join(temp, `svc-cluster-${process.getuid?.() ?? 0}`, 'data');
  const hasWal = (run: string): boolean => existsSync(join(runs, run, 'etcd/member/wal'));
  // Without `ip` on the PATH the run takes no network. It must take none: its registry, in a folder of its own, does
  // not know which networks other runs have taken.
  const { XDG_CACHE_HOME, KUBEBUILDER_ASSETS, HOME } = process.env;
  const env = { XDG_CACHE_HOME, KUBEBUILDER_ASSETS, HOME, PATH: '/nonexistent', TMPDIR: temp };
  const demo = spawn(process.execPath, [fileURLToPath(new URL('./demo.ts', import.meta.url))], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let shown = '';
  demo.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  try {
    await until('etcd has written its first files', async () => readdirSync(runs).some(hasWal), { timeoutMs: 60_000 });
    expect(readdirSync(temp).some((name) => name.startsWith('svc-outside-'))).toBe(true);
    demo.kill('SIGINT');
    await exited(demo);
    expect([demo.exitCode, shown.includes('stopping: ')]).toEqual([130, true]);
    await until('the temporary folder is empty', async () => readdirSync(temp).length === 0);
  } finally {
    demo.kill('SIGKILL');
    rmSync(temp, { recursive: true, force: true, maxRetries: 5 });
  }
});
