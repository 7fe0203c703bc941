import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crashRounds } from '../testing/tsdb/crash-rounds.ts';

/** Few rounds, to keep a unit test short. e2e/tsdb runs two hundred. */
const rounds = 4;

test('after kill -9 under load, the store has every acknowledged float and histogram, and no other value', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-crash-'));
  try {
    expect(await crashRounds(dir, rounds, 1)).toBe(rounds);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}, 120_000);
