import { type FloatHistogram, histogramBuckets, type MatrixSeries, type QueryValue } from '../../promql/index.ts';
import { formatSample, formatScalar } from './format-value.ts';
import { LabelJson } from './label-json.ts';
import { Stamps } from './stamps.ts';
import { textBlocks } from './text-blocks.ts';
import { formatTimestamp } from './times.ts';
import { Utf8Text } from './utf8-text.ts';

/** An answer is rendered in pieces of about this size. Bytes. */
const pieceBytes = 64 * 1024;
/** The size of a piece is checked after this many values. */
const batch = 256;
/**
 * Longer series are written in parts of this many samples, so that the texts of all their times are never in memory
 * together.
 */
const partLength = 16_384;

/** The `data` of an answered query as JSON in UTF-8, in pieces, so that a large matrix is never in one buffer. */
export function* renderQueryData(value: QueryValue, stats?: object): Generator<Uint8Array> {
  const out = new Utf8Text();
  out.append(`{"resultType":"${value.type}","result":`);
  switch (value.type) {
    case 'scalar':
      out.append(`[${formatTimestamp(value.timestamp)},"${formatScalar(value.value)}"]`);
      break;
    case 'string':
      out.append(`[${formatTimestamp(value.timestamp)},${JSON.stringify(value.value)}]`);
      break;
    case 'vector':
      yield* renderVector(out, value);
      break;
    case 'matrix':
      yield* renderMatrix(out, value);
  }
  out.append(stats ? `,"stats":${JSON.stringify(stats)}}` : '}');
  yield out.take();
}

function* renderVector(out: Utf8Text, { elements }: QueryValue & { type: 'vector' }): Generator<Uint8Array> {
  const json = new LabelJson(out);
  let known = NaN;
  let stamp = '';
  let before = textBlocks('');
  out.append('[');
  for (let i = 0; i < elements.length; i++) {
    const { labels, timestamp, value, histogram } = elements[i]!;
    if (timestamp !== known) {
      stamp = formatTimestamp((known = timestamp));
      before = textBlocks(`,"value":[${stamp},"`);
    }
    out.append(i === 0 ? '{"metric":' : ',{"metric":');
    json.append(labels);
    if (histogram) out.append(`,"histogram":[${stamp},${histogramJson(histogram)}]}`);
    else {
      out.appendBlocks(before);
      out.appendSample(value);
      out.append('"]}');
    }
    if (out.length >= pieceBytes) yield out.take();
  }
  out.append(']');
}

function* renderMatrix(out: Utf8Text, { series }: QueryValue & { type: 'matrix' }): Generator<Uint8Array> {
  const json = new LabelJson(out);
  const stamps = new Stamps();
  out.append('[');
  for (let s = 0; s < series.length; s++) {
    const { labels, histograms } = series[s]!;
    out.append(s === 0 ? '{"metric":' : ',{"metric":');
    json.append(labels);
    yield* renderValues(out, series[s]!, stamps);
    yield* renderHistograms(out, histograms);
    out.append('}');
    if (out.length >= pieceBytes) yield out.take();
  }
  out.append(']');
}

function* renderValues(out: Utf8Text, { timestamps, values }: MatrixSeries, stamps: Stamps): Generator<Uint8Array> {
  if (values.length === 0) return;
  out.append(',"values":[');
  for (let start = 0; start < values.length; start += partLength) {
    const isWhole = values.length <= partLength;
    const part = isWhole ? values : values.subarray(start, start + partLength);
    stamps.show(isWhole ? timestamps : timestamps.subarray(start, start + partLength), start === 0);
    for (let i = 0; i < part.length; i += batch) {
      out.appendSamples(stamps, part, i, Math.min(i + batch, part.length));
      if (out.length >= pieceBytes) yield out.take();
    }
  }
  out.append('"]]');
}

function* renderHistograms(out: Utf8Text, histograms: MatrixSeries['histograms']): Generator<Uint8Array> {
  if (histograms.length === 0) return;
  let before = ',"histograms":[';
  for (const { timestamp, histogram } of histograms) {
    out.append(`${before}[${formatTimestamp(timestamp)},${histogramJson(histogram)}]`);
    before = ',';
    if (out.length >= pieceBytes) yield out.take();
  }
  out.append(']');
}

/**
 * A native histogram as the API writes it: count, sum and the populated buckets as `[boundaries, lower, upper, count]`,
 * boundaries 0 `(lower, upper]`, 1 `[lower, upper)`, 2 both open, 3 both closed.
 */
function histogramJson(histogram: FloatHistogram): string {
  const head = `{"count":"${formatSample(histogram.count)}","sum":"${formatSample(histogram.sum)}"`;
  const custom = histogram.customValues.length > 0;
  const buckets = histogramBuckets(histogram).flatMap(({ lower, upper, count }) => {
    if (count === 0) return [];
    const kind = custom ? (lower === -Infinity ? 3 : 0) : lower < 0 ? (upper > 0 ? 3 : 1) : 0;
    return [`[${kind},"${formatSample(lower)}","${formatSample(upper)}","${formatSample(count)}"]`];
  });
  return buckets.length === 0 ? `${head}}` : `${head},"buckets":[${buckets.join(',')}]}`;
}
