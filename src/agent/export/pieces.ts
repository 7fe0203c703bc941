import type { QueuedSample, QueuedSeries } from './queue/record.ts';

/** Samples of one request. */
export const pieceSamples = 2_000;
const maxPieces = 4;

/**
 * Splits a round into requests that go out side by side. All samples of a series, and all series of a histogram's
 * label set, are in one piece, so order is kept and histograms stay whole. Pure: the same round gives the same pieces.
 */
export function splitRound(samples: readonly QueuedSample[]): QueuedSample[][] {
  const count = Math.min(maxPieces, Math.ceil(samples.length / pieceSamples));
  if (count <= 1) return samples.length > 0 ? [[...samples]] : [];
  const pieces: QueuedSample[][] = Array.from({ length: count }, () => []);
  for (const sample of samples) pieces[hashOf(sample.series) % count]!.push(sample);
  return pieces.filter((piece) => piece.length > 0);
}

const hashes = new WeakMap<QueuedSeries, number>();

/** FNV-1a over the family and the labels that tell its label sets apart. */
function hashOf(series: QueuedSeries): number {
  let hash = hashes.get(series);
  if (hash !== undefined) return hash;
  hash = 0x811c9dc5;
  for (const text of [series.meta.family, ...series.labels.filter(([n]) => !partLabels.has(n)).flat()]) {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    hash = Math.imul(hash ^ 0xff, 0x01000193);
  }
  hash >>>= 0;
  hashes.set(series, hash);
  return hash;
}

const partLabels: ReadonlySet<string> = new Set(['__name__', 'le', 'quantile']);
