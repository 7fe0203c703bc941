import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { highBits, lowBits } from '../../tsdb/chunk/index.ts';
import { labelsKey, openStore } from '../../tsdb/index.ts';
import type { Store } from '../../tsdb/index.ts';
import { crashHistogram, crashHistogramSeries, crashSeries, crashTime, crashValue } from './crash-writer.ts';
import { bitsHex, histogramText, readSamples } from './read-samples.ts';

/** The program that writes until it is killed. */
export const crashWriterSource = fileURLToPath(new URL('./crash-writer.ts', import.meta.url));
/** A writer is killed at most this many milliseconds after its first line of output. */
const longestLifeMs = 60;

/**
 * Each round starts a writer on a store, kills it at a random moment, opens the store and checks every sample. All
 * rounds use the same directory. `writer`: the program, as source or bundled (which starts faster). Returns the number
 * of rounds.
 * Errors: names the round, and the sample that was lost or wrong.
 */
export async function crashRounds(
  dir: string,
  rounds: number,
  seed: number,
  writer = crashWriterSource,
): Promise<number> {
  const next = random(seed);
  const unacknowledged = new Set<number>();
  let first = 0;
  for (let round = 0; round < rounds; round++) {
    const acked = await writeUntilKilled(writer, dir, first, next() * longestLifeMs);
    // The clock shows the same time as the writer's, so that opening neither moves nor removes samples.
    const clock = { ...systemClock, now: () => crashTime(acked) };
    const store = await openStore({ dir, clock, logger: silentLogger, retentionMs: 1e12 });
    try {
      if (store.stats().replay.orphanSamples > 0) throw new Error('samples without a series');
      first = checkAll(store, acked, unacknowledged) + 1;
      // The log may end in the middle of a commit, with its histograms but without its floats. No later writer adds
      // these floats, so later rounds accept that they are missing.
      for (let n = acked + 1; n < first; n++) unacknowledged.add(n);
    } catch (cause) {
      throw new Error(`round ${round}, acknowledged up to ${acked}`, { cause });
    }
    await store.close();
  }
  return rounds;
}

/** Runs the writer, kills it `lifeMs` after its first output, and returns the last number that it acknowledged. */
async function writeUntilKilled(writer: string, dir: string, first: number, lifeMs: number): Promise<number> {
  const child = spawn(process.execPath, [writer, dir, String(first)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (data: Buffer) => {
    if (text === '') setTimeout(() => child.kill('SIGKILL'), lifeMs);
    text += data.toString();
  });
  await once(child, 'close');
  const whole = text.slice(0, text.lastIndexOf('\n')).split('\n').filter(Boolean);
  if (child.signalCode !== 'SIGKILL' || whole.length === 0)
    throw new Error(`writer ended by itself: ${child.exitCode}`);
  return Number(whole.at(-1));
}

/**
 * Checks that every sample up to `acked` is there, except those in `unacknowledged`, and that no sample has a wrong
 * value. Returns the newest number found.
 */
export function checkAll(store: Store, acked: number, unacknowledged: ReadonlySet<number> = new Set()): number {
  const found = readSamples(store);
  let newest = 0;
  const check = (key: string, expected: (n: number) => string): void => {
    const samples = found.get(key) ?? new Map<number, string>();
    for (let n = 0; n <= acked; n++) {
      const text = samples.get(crashTime(n));
      if (text === undefined && unacknowledged.has(n)) continue;
      if (text !== expected(n)) throw new Error(`lost or wrong: ${key}, sample ${n}`);
    }
    for (const [t, text] of samples) {
      const n = (t - crashTime(0)) / 30_000;
      if (text !== expected(n)) throw new Error(`wrong: ${key} at ${t}`);
      newest = Math.max(newest, n);
    }
  };
  for (const [s, labels] of crashSeries.entries()) {
    check(labelsKey(labels), (n) => bitsHex(highBits(crashValue(s, n)), lowBits(crashValue(s, n))));
  }
  check(labelsKey(crashHistogramSeries), (n) => histogramText(crashHistogram(n)));
  return newest;
}

/** Numbers in [0, 1), always the same for a seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
