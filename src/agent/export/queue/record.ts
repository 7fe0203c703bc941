import { crc32c } from '../../../base/wire/crc32c.ts';
import { OperatorError } from '../../../base/errors.ts';
import type { Labels } from '../../../tsdb/index.ts';
import { ByteReader, ByteWriter } from '../../../tsdb/bytes.ts';

/** Metadata of a series' metric: sent as metadata, and needed to reassemble a histogram. */
export interface SeriesMeta {
  readonly family: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary' | 'unknown';
  readonly help: string;
  readonly unit: string;
}

/** A series as a queue's segment defines it. */
export interface QueuedSeries {
  readonly labels: Labels;
  readonly meta: SeriesMeta;
  /**
   * Equal for all series of one histogram or summary with the same labels (without `le` and `quantile`), which are sent
   * together. Absent for any other series.
   */
  readonly group?: string;
}

/** A value that was measured during a trace. Ids are lower-case hex; the span id may be empty. Units: ms. */
export interface QueuedExemplar {
  readonly timeMs: number;
  readonly value: number;
  readonly traceId: string;
  readonly spanId: string;
}

/** One sample. A stale marker has no value. Units: ms since the epoch. */
export interface QueuedSample {
  readonly series: QueuedSeries;
  readonly timeMs: number;
  readonly value: number;
  readonly stale: boolean;
  readonly exemplar?: QueuedExemplar;
}

/**
 * Records of a segment: `u32 length, u32 crc32c, payload`, little-endian; the payload's first byte is its kind.
 * Each segment numbers its series on its own, so that it can be read without the others. `exemplified` records are
 * samples followed by their exemplars, each with the index of its sample.
 */
export const recordKinds = { series: 1, samples: 2, spans: 3, exemplified: 4 } as const;
export const recordHeadBytes = 8;
/** A longer record is invalid. Units: bytes. */
export const maxRecordBytes = 16 * 1024 * 1024;

export function frame(payload: Uint8Array): Uint8Array {
  const out = new Uint8Array(recordHeadBytes + payload.length);
  const view = new DataView(out.buffer);
  view.setUint32(0, payload.length, true);
  view.setUint32(4, crc32c(payload), true);
  out.set(payload, recordHeadBytes);
  return out;
}

/** The payload at an offset, or null when there is no complete, valid record. */
export function unframe(bytes: Uint8Array, at: number): Uint8Array | null {
  if (bytes.length - at < recordHeadBytes) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, recordHeadBytes);
  const length = view.getUint32(0, true);
  if (length === 0 || length > maxRecordBytes || bytes.length - at - recordHeadBytes < length) return null;
  const payload = bytes.subarray(at + recordHeadBytes, at + recordHeadBytes + length);
  return crc32c(payload) === view.getUint32(4, true) ? payload : null;
}

/** The definitions of a segment so far. Series and strings are numbered in the order of arrival. */
export interface Definitions {
  readonly series: QueuedSeries[];
  readonly texts: string[];
}

/**
 * Defines series: first the strings that are new to the segment, then each series by string numbers. The fifty thousand
 * series of a node share most of their strings, which are thus written once a segment.
 */
export function seriesPayload(
  series: readonly QueuedSeries[],
  known: Definitions,
  numbers: Map<string, number>,
): Uint8Array {
  const fresh: string[] = [];
  const number = (text: string): number => {
    let at = numbers.get(text);
    if (at === undefined) {
      at = known.texts.length;
      numbers.set(text, at);
      known.texts.push(text);
      fresh.push(text);
    }
    return at;
  };
  const body = new ByteWriter(64 * series.length + 16);
  for (const one of series) {
    const { labels, meta } = one;
    known.series.push(one);
    for (const text of [meta.family, meta.type, meta.help, meta.unit]) body.varint(number(text));
    body.varint(labels.length);
    for (const [name, value] of labels) {
      body.varint(number(name));
      body.varint(number(value));
    }
  }
  const out = new ByteWriter(body.length + 256);
  out.u8(recordKinds.series);
  out.varint(fresh.length);
  for (const text of fresh) out.text(text);
  out.varint(series.length);
  out.bytes(body.view());
  return out.view();
}

/** Errors: ERR_STORE_CORRUPT. */
export function readSeries(payload: Uint8Array, known: Definitions): void {
  const read = new ByteReader(payload, 1);
  const text = (): string => {
    const found = known.texts[read.varint()];
    if (found === undefined) throw new OperatorError('ERR_STORE_CORRUPT', 'export queue: an undefined string');
    return found;
  };
  for (let left = read.varint(); left > 0; left--) known.texts.push(read.text());
  for (let left = read.varint(); left > 0; left--) {
    const family = text();
    const type = text() as SeriesMeta['type'];
    const meta = { family, type, help: text(), unit: text() };
    const labels: [string, string][] = [];
    for (let n = read.varint(); n > 0; n--) labels.push([text(), text()]);
    known.series.push({ labels, meta });
  }
}

/** A sample with its series' number in the segment. */
export interface NumberedSample {
  readonly ref: number;
  readonly timeMs: number;
  readonly value: number;
  readonly stale: boolean;
  readonly exemplar?: QueuedExemplar | undefined;
}

export function samplesPayload(samples: readonly NumberedSample[]): Uint8Array {
  const out = new ByteWriter(16 * samples.length + 32);
  const baseMs = samples[0]?.timeMs ?? 0;
  const exemplars = samples.flatMap(({ exemplar }, i) => (exemplar ? [[i, exemplar] as const] : []));
  out.u8(exemplars.length > 0 ? recordKinds.exemplified : recordKinds.samples);
  out.varint(samples.length);
  out.zigzag(baseMs);
  for (const { ref, timeMs, value, stale } of samples) {
    out.varint(ref * 2 + (stale ? 1 : 0));
    out.zigzag(timeMs - baseMs);
    if (!stale) out.f64(value);
  }
  if (exemplars.length > 0) out.varint(exemplars.length);
  for (const [i, { timeMs, value, traceId, spanId }] of exemplars) {
    out.varint(i);
    out.zigzag(timeMs - baseMs);
    out.f64(value);
    out.text(traceId);
    out.text(spanId);
  }
  return out.view();
}

/** Errors: ERR_STORE_CORRUPT for a series that the segment does not define. */
export function readSamples(payload: Uint8Array, series: readonly QueuedSeries[], into: QueuedSample[]): void {
  const read = new ByteReader(payload, 1);
  const first = into.length;
  let left = read.varint();
  const baseMs = read.zigzag();
  for (; left > 0; left--) {
    const tagged = read.varint();
    const stale = tagged % 2 === 1;
    const known = series[Math.floor(tagged / 2)];
    if (!known) throw new OperatorError('ERR_STORE_CORRUPT', 'export queue: a sample of an unknown series');
    const timeMs = baseMs + read.zigzag();
    into.push({ series: known, timeMs, value: stale ? NaN : read.f64(), stale });
  }
  if (payload[0] !== recordKinds.exemplified) return;
  for (left = read.varint(); left > 0; left--) {
    const at = first + read.varint();
    const sample = into[at];
    if (!sample) throw new OperatorError('ERR_STORE_CORRUPT', 'export queue: an exemplar of an unknown sample');
    const timeMs = baseMs + read.zigzag();
    into[at] = { ...sample, exemplar: { timeMs, value: read.f64(), traceId: read.text(), spanId: read.text() } };
  }
}

/** Spans are stored in the form in which they are sent: encoded messages. */
export function spansPayload(spans: readonly Uint8Array[]): Uint8Array {
  const out = new ByteWriter(spans.reduce((n, s) => n + s.length + 5, 16));
  out.u8(recordKinds.spans);
  out.varint(spans.length);
  for (const span of spans) {
    out.varint(span.length);
    out.bytes(span);
  }
  return out.view();
}

export function readSpans(payload: Uint8Array, into: Uint8Array[]): void {
  const read = new ByteReader(payload, 1);
  for (let left = read.varint(); left > 0; left--) into.push(read.bytes(read.varint()));
}

/** How many samples or spans a payload holds; 0 for definitions. */
export function itemCount(payload: Uint8Array): number {
  return payload[0] === recordKinds.series ? 0 : new ByteReader(payload, 1).varint();
}
