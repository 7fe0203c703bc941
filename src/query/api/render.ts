import type { Labels, QueryStats, QueryValue } from '../../promql/index.ts';
import { ApiError } from './api-error.ts';
import { formatSample, formatScalar } from './format-value.ts';
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
      for (const { labels, timestamp, value: v } of value.elements) {
        yield `${separator}{"metric":${labelsJson(labels)},"value":[${formatTimestamp(timestamp)},"${formatSample(v)}"]}`;
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
  for (const { labels, timestamps, values } of value.series) {
    let text = `${separator}{"metric":${labelsJson(labels)},"values":[`;
    for (let i = 0; i < timestamps.length; i++) {
      const t = timestamps[i]!;
      let stamp = texts.get(t);
      if (stamp === undefined) texts.set(t, (stamp = `[${formatTimestamp(t)},"`));
      text += i === 0 ? stamp : `,${stamp}`;
      text += formatSample(values[i]!);
      text += '"]';
    }
    yield `${text}]}`;
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

export function labelsJson(labels: Labels): string {
  let text = '';
  for (const [name, value] of labels)
    text += `${text === '' ? '{' : ','}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return text === '' ? '{}' : `${text}}`;
}

/**
 * Refuses an answer that holds native histograms: the store has none, so one can only come from a series that was
 * read wrongly. Errors: ApiError `execution`.
 */
export function assertFloats(value: QueryValue): void {
  const histogram =
    (value.type === 'vector' && value.elements.some((e) => e.histogram !== undefined)) ||
    (value.type === 'matrix' && value.series.some((s) => s.histograms.length > 0));
  if (histogram) throw new ApiError('execution', 'native histograms are not supported');
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
    samples: { totalQueryableSamples: stats.samplesRead, peakSamples: stats.peakSamples },
  };
}
