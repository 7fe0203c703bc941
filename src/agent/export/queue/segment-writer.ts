import {
  type Definitions,
  frame,
  maxRecordBytes,
  type NumberedSample,
  type QueuedSample,
  type QueuedSeries,
  samplesPayload,
  seriesPayload,
  spansPayload,
} from './record.ts';

/** Samples per record. A histogram's samples are never split, so a record may be a little longer. */
const recordSamples = 500;
/** Samples of one histogram at several times may be split beyond this many. */
const recordGroupSamples = 20_000;
/** Spans per record. */
const recordSpans = 200;
/** Longer records of spans or series have only one. Units: bytes, and characters of series. */
const recordLength = 1024 * 1024;
/** A character takes at most three bytes, and a record has more than its texts. Units: characters. */
const maxSeriesLength = Math.floor(maxRecordBytes / 4);
/** Units: bytes. */
const maxSpanBytes = maxRecordBytes - 64;
/** Stands for the number of a series that is too large for a record. */
const tooLarge = -1;

/** Makes the records of one segment: definitions of new series, then samples and spans. */
export class SegmentWriter {
  /** The series and strings that the segment has defined. */
  readonly known: Definitions = { series: [], texts: [] };
  readonly #numbers = new Map<string, number>();
  readonly #refs = new Map<QueuedSeries, number>();

  /** The records of these items, and the number of items that no record can hold. */
  records(
    samples: readonly QueuedSample[],
    spans: readonly Uint8Array[],
  ): { readonly records: Uint8Array[]; readonly tooLarge: number } {
    const fresh: QueuedSeries[] = [];
    const numbered: NumberedSample[] = [];
    const kept: QueuedSample[] = [];
    for (const sample of samples) {
      const ref = this.#refOf(sample.series, fresh);
      if (ref === tooLarge) continue;
      const { timeMs, value, stale, exemplar } = sample;
      numbered.push({ ref, timeMs, value, stale, exemplar });
      kept.push(sample);
    }
    const small = spans.filter((span) => span.length <= maxSpanBytes);
    const payloads = [
      ...chunks(fresh, Infinity, lengthOf).map((some) => seriesPayload(some, this.known, this.#numbers)),
      ...sampleRuns(kept).map(([from, to]) => samplesPayload(numbered.slice(from, to))),
      ...chunks(small, recordSpans, (span) => span.length).map(spansPayload),
    ];
    const left = samples.length - kept.length + (spans.length - small.length);
    return { records: payloads.map(frame), tooLarge: left };
  }

  #refOf(series: QueuedSeries, fresh: QueuedSeries[]): number {
    let ref = this.#refs.get(series);
    if (ref !== undefined) return ref;
    ref = lengthOf(series) > maxSeriesLength ? tooLarge : this.known.series.length + fresh.length;
    if (ref !== tooLarge) fresh.push(series);
    this.#refs.set(series, ref);
    return ref;
  }
}

/** All texts of a series. Units: characters. */
function lengthOf({ labels, meta }: QueuedSeries): number {
  const own = meta.family.length + meta.help.length + meta.unit.length;
  return labels.reduce((sum, [name, value]) => sum + name.length + value.length, own);
}

/** Where the records of samples begin and end. */
function sampleRuns(samples: readonly QueuedSample[]): [from: number, to: number][] {
  const runs: [number, number][] = [];
  for (let from = 0; from < samples.length;) {
    let to = Math.min(from + recordSamples, samples.length);
    while (to < samples.length && isOneRecord(samples[to - 1]!, samples[to]!, to - from)) to++;
    runs.push([from, to]);
    from = to;
  }
  return runs;
}

function isOneRecord(a: QueuedSample, b: QueuedSample, count: number): boolean {
  return belongTogether(a, b) && (count < recordGroupSamples || a.timeMs === b.timeMs);
}

/** True for samples of one histogram or summary. */
export function belongTogether(a: QueuedSample, b: QueuedSample): boolean {
  return a.series.group !== undefined && a.series.group === b.series.group;
}

function chunks<T>(items: readonly T[], size: number, lengthOfItem: (item: T) => number): T[][] {
  const out: T[][] = [];
  let length = Infinity;
  for (const item of items) {
    length += lengthOfItem(item);
    if (length > recordLength || out.at(-1)!.length >= size) {
      out.push([]);
      length = lengthOfItem(item);
    }
    out.at(-1)!.push(item);
  }
  return out;
}
