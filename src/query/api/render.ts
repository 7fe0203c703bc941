import type { QueryStats, QueryValue } from '../../promql/index.ts';
import { AsciiText } from './ascii-text.ts';
import { formatScalar } from './format-value.ts';
import { LabelJson } from './label-json.ts';
import { histogramJson } from './render-histogram.ts';
import { formatTimestamp } from './times.ts';

/** A piece of an answer is handed out when it has about this many characters. */
const pieceLength = 32 * 1024;
/** Where a stamp's own bracket stands. */
const afterPoint = 3;

/** The `data` of an answered query as JSON, in pieces, so that a large matrix is never one string. */
export function* renderQueryData(value: QueryValue, stats?: object): Generator<string> {
  yield `{"resultType":"${value.type}","result":`;
  switch (value.type) {
    case 'scalar':
      yield `[${formatTimestamp(value.timestamp)},"${formatScalar(value.value)}"]`;
      break;
    case 'string':
      yield `[${formatTimestamp(value.timestamp)},${JSON.stringify(value.value)}]`;
      break;
    case 'vector':
      yield* renderVector(value);
      break;
    case 'matrix':
      yield* renderMatrix(value);
  }
  yield stats ? `,"stats":${JSON.stringify(stats)}}` : '}';
}

function* renderVector({ elements }: QueryValue & { type: 'vector' }): Generator<string> {
  const out = new AsciiText();
  const json = new LabelJson();
  let known = NaN;
  let stamp = '';
  out.append('[');
  for (let i = 0; i < elements.length; i++) {
    const { labels, timestamp, value, histogram } = elements[i]!;
    if (timestamp !== known) stamp = formatTimestamp((known = timestamp));
    out.append(i === 0 ? '{"metric":' : ',{"metric":');
    if (!json.appendTo(out, labels)) {
      yield out.take();
      yield json.of(labels);
    }
    if (histogram) out.append(`,"histogram":[${stamp},${histogramJson(histogram)}]}`);
    else {
      out.append(`,"value":[${stamp},"`);
      out.appendSample(value);
      out.append('"]}');
    }
    if (out.length >= pieceLength) yield out.take();
  }
  out.append(']');
  yield out.take();
}

function* renderMatrix({ series }: QueryValue & { type: 'matrix' }): Generator<string> {
  const out = new AsciiText();
  const json = new LabelJson();
  // Series of a range mostly share their times, so each is turned into text once.
  let shown: Float64Array | null = null;
  const texts = new Map<number, Uint8Array>();
  let stamps: Uint8Array[] = [];
  out.append('[');
  for (let s = 0; s < series.length; s++) {
    const { labels, timestamps, values, histograms } = series[s]!;
    out.append(s === 0 ? '{"metric":' : ',{"metric":');
    if (!json.appendTo(out, labels)) {
      yield out.take();
      yield json.of(labels);
    }
    if (timestamps !== shown) {
      shown = timestamps;
      stamps = Array.from(timestamps, (time) => stampOf(time, texts));
    }
    if (values.length > 0) out.append(',"values":[');
    for (let i = 0; i < values.length; i++) {
      out.appendBytes(stamps[i]!, i === 0 ? afterPoint : 0);
      out.appendSample(values[i]!);
      if (out.length >= pieceLength) yield out.take();
    }
    if (values.length > 0) out.append('"]]');
    if (histograms.length > 0) {
      const points = histograms.map(({ timestamp: t, histogram: h }) => `[${formatTimestamp(t)},${histogramJson(h)}]`);
      out.append(`,"histograms":[${points.join(',')}]`);
    }
    out.append('}');
    if (out.length >= pieceLength) yield out.take();
  }
  out.append(']');
  yield out.take();
}

/** A time with what stands before it, behind another point, and between it and its value. */
function stampOf(time: number, texts: Map<number, Uint8Array>): Uint8Array {
  let text = texts.get(time);
  if (text === undefined) texts.set(time, (text = Buffer.from(`"],[${formatTimestamp(time)},"`)));
  return text;
}

/** `stats=all`: the shape of Prometheus; timings in seconds. */
export function statsJson(stats: QueryStats, seconds: { queue: number; evaluation: number }): object {
  const { queue, evaluation } = seconds;
  return {
    timings: {
      evalTotalTime: evaluation,
      resultSortTime: 0,
      queryPreparationTime: 0,
      innerEvalTime: evaluation,
      execQueueTime: queue,
      execTotalTime: queue + evaluation,
    },
    samples: {
      totalQueryableSamples: stats.samplesRead,
      samplesRead: stats.samplesRead,
      peakSamples: stats.peakSamples,
    },
  };
}
