import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { silentLogger } from '../../base/logger.ts';
import { labelsFromObject, openStore } from '../../tsdb/index.ts';
import type { Labels, NativeHistogram } from '../../tsdb/index.ts';
import { aHistogram } from './histograms.ts';

/**
 * A process that a test kills. It writes to a real store without pause and prints, after each commit, the number of the
 * last durable samples. Arguments: directory, first number. Sample `n` of series `s` has time `crashTime(n)` and value
 * `crashValue(s, n)`.
 */
export const crashStart = Date.UTC(2026, 0, 1);
export const crashSeries: readonly Labels[] = Array.from({ length: 8 }, (_, s) =>
  labelsFromObject({ __name__: 'm', s: String(s) }),
);
export const crashTime = (n: number): number => crashStart + n * 30_000;
export const crashValue = (s: number, n: number): number => n * 1.5 + s;
export const crashHistogramSeries: Labels = labelsFromObject({ __name__: 'h' });
export const crashHistogram = (n: number): NativeHistogram => aHistogram(Math.floor(n / 50) % 8, n % 50);

if (/crash-writer\.m?[jt]s$/.test(process.argv[1] ?? '')) await main(process.argv[2]!, Number(process.argv[3]));

async function main(dir: string, first: number): Promise<void> {
  // A killed process saves no compiled code at its end. So the code is saved now, for the next process.
  flushCompileCache();
  let n = first;
  // The clock advances with the samples, far faster than real time: blocks and checkpoints are written many times a
  // second.
  const clock = { now: () => crashTime(n), monotonic: () => n, setTimeout: () => () => {} };
  const store = await openStore({ dir, clock, logger: silentLogger, retentionMs: 1e12, segmentBytes: 20_000 });
  for (; ; n++) {
    for (const [s, labels] of crashSeries.entries()) store.append(labels, crashTime(n), crashValue(s, n));
    store.appendHistogram(crashHistogramSeries, crashTime(n), crashHistogram(n));
    if (n % 3 !== 2) continue;
    await store.commit();
    writeSync(1, `${n}\n`);
    if (n % 60 === 59) await store.maintain();
  }
}
