import type { Labels, QueryStats, QueryValue } from '../../promql/index.ts';
import { formatSample, formatScalar } from './format-value.ts';
import { histogramJson } from './render-histogram.ts';
import { formatTimestamp } from './times.ts';

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
    case 'vector': {
      let separator = '[';
      for (const { labels, timestamp, value: v, histogram } of value.elements) {
        const sample = histogram
          ? `"histogram":[${formatTimestamp(timestamp)},${histogramJson(histogram)}]`
          : `"value":[${formatTimestamp(timestamp)},"${formatSample(v)}"]`;
        yield `${separator}{"metric":${labelsJson(labels)},${sample}}`;
        separator = ',';
      }
      yield separator === '[' ? '[]' : ']';
      break;
    }
    case 'matrix':
      yield* renderMatrix(value);
  }
  if (stats) yield `,"stats":${JSON.stringify(stats)}`;
  yield '}';
}

function* renderMatrix(value: QueryValue & { type: 'matrix' }): Generator<string> {
  // All series of a range share their times, so each is turned into text once.
  const texts = new Map<number, string>();
  let separator = '[';
  for (const { labels, timestamps, values, histograms } of value.series) {
    let text = `${separator}{"metric":${labelsJson(labels)}`;
    if (timestamps.length > 0) text += ',"values":[';
    for (let i = 0; i < timestamps.length; i++) {
      const t = timestamps[i]!;
      let stamp = texts.get(t);
      if (stamp === undefined) texts.set(t, (stamp = `[${formatTimestamp(t)},"`));
      text += i === 0 ? stamp : `,${stamp}`;
      text += formatSample(values[i]!);
      text += '"]';
    }
    if (timestamps.length > 0) text += ']';
    if (histograms.length > 0) {
      const points = histograms.map(({ timestamp: t, histogram: h }) => `[${formatTimestamp(t)},${histogramJson(h)}]`);
      text += `,"histograms":[${points.join(',')}]`;
    }
    yield `${text}}`;
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

export function labelsJson(labels: Labels): string {
  let text = '';
  for (const [name, value] of labels) text += `${text === '' ? '{' : ','}${quoted(name)}:${quoted(value)}`;
  return text === '' ? '{}' : `${text}}`;
}

/** What JSON escapes, and more: half a surrogate pair. */
const escaped = /["\\\x00-\x1f\ud800-\udfff]/;

function quoted(text: string): string {
  return escaped.test(text) ? JSON.stringify(text) : `"${text}"`;
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
