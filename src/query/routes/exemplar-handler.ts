import { nodeLabel } from '../../api/labels.ts';
import { selectorsOf } from '../../promql/index.ts';
import { compareLabels, labelsFromObject } from '../../tsdb/index.ts';
import { AgentFailure } from '../fanout/failure.ts';
import { concerns } from '../fanout/readers/restrict-reader.ts';
import { ApiError } from '../api/api-error.ts';
import { runRequest } from '../api/call.ts';
import type { Handler } from '../api/call.ts';
import { queryExpr } from './language-handlers.ts';
import { timeParam } from '../api/params.ts';
import { sendSuccess } from '../api/respond.ts';
import { maxTimeMs, minTimeMs } from '../json/times.ts';

/** One element of the answer, in Prometheus' form. */
interface ExemplarSeries {
  readonly seriesLabels: Readonly<Record<string, string>>;
  readonly exemplars: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly value: string;
    readonly timestamp: number;
  }[];
}

/** `/api/v1/query_exemplars`: exemplars of the series that any selector of the query matches, from all agents. */
export const exemplars: Handler = async (call, deps) => {
  const { req, res, params, namespaces } = call;
  const selectors = selectorsOf(queryExpr(params));
  const start = timeParam(params, 'start', minTimeMs);
  const end = timeParam(params, 'end', maxTimeMs);
  if (end < start) throw new ApiError('bad_data', 'end timestamp must not be before start timestamp');
  const form = { query: params.get('query') ?? '', start: String(start / 1000), end: String(end / 1000) };
  const reads = selectors.map((matchers) => ({ matchers, mint: start, maxt: end }));
  const answer = await deps.runner.ask({ path: '/api/v1/query_exemplars', form }, runRequest(call), seriesOf, reads);
  const found = answer.result
    .flat()
    .filter(({ seriesLabels }) => namespaces === undefined || concerns(seriesLabels, namespaces))
    .map((series) => ({ series, labels: labelsFromObject(series.seriesLabels) }))
    .sort((a, b) => compareLabels(a.labels, b.labels))
    .map(({ series }) => series);
  await sendSuccess(req, res, [JSON.stringify(found)], answer);
};

/** An agent's exemplars, rebuilt from the validated fields. Errors: AgentFailure `protocol`. */
function seriesOf(data: unknown, node: string): ExemplarSeries[] {
  const wrong = (what: string): AgentFailure => new AgentFailure('protocol', `exemplars: ${what}`);
  if (!Array.isArray(data)) throw wrong('no list');
  return data.map((item: unknown) => {
    const { seriesLabels, exemplars: list } = (item ?? {}) as { seriesLabels?: unknown; exemplars?: unknown };
    if (!isTexts(seriesLabels) || !Array.isArray(list)) throw wrong('a series without labels or list');
    if (seriesLabels[nodeLabel] !== node) {
      throw wrong(`series of ${JSON.stringify(seriesLabels[nodeLabel])} from the agent of ${node}`);
    }
    return { seriesLabels, exemplars: list.map((one: unknown) => exemplarOf(one) ?? fail(wrong('an exemplar'))) };
  });
}

function exemplarOf(one: unknown): ExemplarSeries['exemplars'][number] | undefined {
  const { labels, value, timestamp } = (one ?? {}) as { labels?: unknown; value?: unknown; timestamp?: unknown };
  if (!isTexts(labels) || typeof value !== 'string' || typeof timestamp !== 'number') return undefined;
  return { labels, value: value.replace(/^Infinity$/, '+Inf').replace(/^-Infinity$/, '-Inf'), timestamp };
}

function isTexts(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && Object.values(value).every((text) => typeof text === 'string');
}

function fail(error: Error): never {
  throw error;
}
