import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { crashRounds, crashWriterSource } from '../../src/testing/tsdb/crash-rounds.ts';

/**
 * Lanes run in parallel. Each lane takes its directories one after another, and kills each directory's writer `rounds`
 * times.
 */
const lanes = 4;
const directories = 5;
const rounds = 10;
const esbuild = fileURLToPath(new URL('../../node_modules/.bin/esbuild', import.meta.url));

/**
 * Removes a folder when stdin ends, which happens however this process ends. The sleep gives the writers a moment to
 * end as well.
 */
const sweeper = 'cat > /dev/null; sleep 2; rm -rf "$0"';
/** Folder of all files of this test. */
let root = '';
let sweep: ChildProcess;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-crash-'));
  sweep = spawn('sh', ['-c', sweeper, root], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
});
afterEach(async () => {
  sweep.stdin!.end();
  await once(sweep, 'exit');
});

/** Bundles the program that writes to a store: one file starts several times as fast as its sources. */
async function bundledWriter(dir: string): Promise<string> {
  const file = join(dir, 'crash-writer.mjs');
  const flags = ['--bundle', '--platform=node', '--format=esm', '--log-level=error', `--outfile=${file}`];
  await promisify(execFile)(esbuild, [crashWriterSource, ...flags]);
  return file;
}

test('two hundred kills -9 under load lose no acknowledged sample and leave no wrong one', async () => {
  const writer = await bundledWriter(root);
  const lane = async (number: number): Promise<number> => {
    let killed = 0;
    for (let k = 0; k < directories; k++) {
      const dir = await mkdtemp(join(root, 'store-'));
      try {
        killed += await crashRounds(dir, rounds, number * 7919 + k * 31 + 1, writer);
      } finally {
        await rm(dir, { recursive: true, force: true });
      }
    }
    return killed;
  };
  const killed = await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  expect(killed.reduce((a, b) => a + b)).toBe(200);
}, 600_000);
