import type { HistogramAppender } from '../chunk/index.ts';

/** The target size of a chunk of histograms, and its minimum number of samples. Source: Prometheus tsdb/chunkenc. */
const targetBytes = 1024;
const minSamples = 10;

/** A chunk of histograms that is being written. */
export interface OpenHistograms {
  readonly appender: HistogramAppender;
  /** End of the aligned range; no chunk crosses it. */
  readonly rangeEnd: number;
  /** Times from here on belong to the next chunk. */
  end: number;
  predicted: boolean;
}

/**
 * The time at which a chunk should end, estimated from its progress so that the chunks up to `limit` get equally long.
 * `fullness`: a full chunk is this many times as large as the chunk is at `now`. Times in ms. Source: Prometheus' head.
 */
export function chunkEndTime(start: number, now: number, limit: number, fullness: number): number {
  const chunks = (limit - start) / ((now - start + 1) * fullness);
  return chunks <= 1 ? limit : Math.trunc(start + (limit - start) / Math.floor(chunks));
}

/** Whether a histogram at `t` belongs to the next chunk. Predicts the end once a quarter of the size is reached. */
export function histogramIsFull(open: OpenHistograms, t: number): boolean {
  const { appender } = open;
  const bytes = appender.byteLength;
  const rangeEndTime = open.rangeEnd;
  if (!open.predicted && bytes >= targetBytes / 4) {
    open.end = chunkEndTime(appender.minT, appender.maxT, open.end, targetBytes / bytes);
    open.predicted = true;
  }
  return (t >= open.end || bytes >= targetBytes * 2) && (appender.count >= minSamples || t >= rangeEndTime);
}
