import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crashRounds } from '../../src/testing/tsdb/crash-rounds.ts';

/** Side by side, each on directories of its own; a directory is killed so often before the next is begun. */
const lanes = 4;
const directories = 5;
const rounds = 10;

test('kill -9 at random points under load, two hundred times: nothing acknowledged is lost, nothing is wrong', async () => {
  const lane = async (number: number): Promise<number> => {
    let killed = 0;
    for (let k = 0; k < directories; k++) {
      const dir = await mkdtemp(join(tmpdir(), 'svc-crash-'));
      try {
        killed += await crashRounds(dir, rounds, number * 7919 + k * 31 + 1);
      } finally {
        await rm(dir, { recursive: true, force: true });
      }
    }
    return killed;
  };
  const killed = await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  expect(killed.reduce((a, b) => a + b)).toBe(200);
}, 600_000);
