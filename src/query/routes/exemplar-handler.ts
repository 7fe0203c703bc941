import { Type } from '@sinclair/typebox';
import { nodeLabel } from '../../api/labels.ts';
import { OperatorError } from '../../base/errors.ts';
import { sortInTurns } from '../../base/turns/sort-in-turns.ts';
import { Pace, type Pacing } from '../../base/turns/turns.ts';
import { parser } from '../../base/wire/parser.ts';
import { selectorsOf } from '../../promql/index.ts';
import { compareLabels, labelsFromObject, type Labels } from '../../tsdb/index.ts';
import { AgentFailure } from '../fanout/failure.ts';
import { nodesFilter } from '../fanout/fan-out.ts';
import { concerns } from '../fanout/readers/restrict-reader.ts';
import { ApiError } from '../api/api-error.ts';
import { runRequest } from '../api/call.ts';
import type { Handler } from '../api/call.ts';
import { queryExpr } from './language-handlers.ts';
import { timeParam } from '../api/params.ts';
import { sendSuccess } from '../api/respond.ts';
import { jsonPieces } from '../json/json-pieces.ts';
import { maxTimeMs, minTimeMs } from '../json/times.ts';

const labelSet = Type.Record(Type.String(), Type.String());
const parseSeries = parser(
  'exemplars',
  Type.Object({
    seriesLabels: labelSet,
    exemplars: Type.Array(Type.Object({ labels: labelSet, value: Type.String(), timestamp: Type.Number() })),
  }),
);

/**
 * For pacing: making the labels of one series, checking one exemplar, and one comparison, cost as much as this many
 * samples.
 */
const [seriesWork, exemplarWork, compareWork] = [200, 50, 20];

/** One element of the answer, in Prometheus' form. */
type ExemplarSeries = ReturnType<typeof parseSeries>;

/**
 * `/api/v1/query_exemplars`: exemplars of the series that any selector of the query matches, from all agents that may
 * have such series.
 */
export const exemplars: Handler = async (call, deps) => {
  const { req, res, params, namespaces } = call;
  const selectors = selectorsOf(queryExpr(params));
  const start = timeParam(params, 'start', minTimeMs);
  const end = timeParam(params, 'end', maxTimeMs);
  if (end < start) throw new ApiError('bad_data', 'end timestamp must not be before start timestamp');
  const form = { query: params.get('query') ?? '', start: String(start / 1000), end: String(end / 1000) };
  const reads = selectors.map((matchers) => ({ matchers, mint: start, maxt: end }));
  const which = { nodes: nodesFilter(selectors), reads };
  const answer = await deps.runner.ask({ path: '/api/v1/query_exemplars', form }, runRequest(call), seriesOf, which);
  const pace = new Pace(call.signal);
  const found: { readonly series: ExemplarSeries; readonly labels: Labels }[] = [];
  for (const series of answer.result.flat()) {
    const { seriesLabels } = series;
    if (namespaces === undefined || concerns(seriesLabels, namespaces))
      found.push({ series, labels: labelsFromObject(seriesLabels) });
    if (pace.spend(seriesWork)) await pace.turn();
  }
  const sorted = await sortInTurns(pace, found, (a, b) => compareLabels(a.labels, b.labels), compareWork);
  const data = sorted.map(({ series }) => series);
  await sendSuccess(req, res, jsonPieces(data), answer);
};

/**
 * An agent's exemplars, rebuilt from the validated fields of its answer. Errors: ERR_INPUT_INVALID; AgentFailure
 * `protocol` for series of another node; those of the pacing.
 */
export async function seriesOf(data: unknown, pacing: Pacing, node: string): Promise<ExemplarSeries[]> {
  if (!Array.isArray(data)) throw new OperatorError('ERR_INPUT_INVALID', 'exemplars: must be a list');
  const checked: ExemplarSeries[] = [];
  for (const one of data as unknown[]) {
    const { seriesLabels, exemplars: list } = parseSeries(one, () => `exemplars of series ${checked.length}`);
    const found = seriesLabels[nodeLabel];
    if (found !== node)
      throw new AgentFailure('protocol', `exemplars: series of ${JSON.stringify(found)} from the agent of ${node}`);
    checked.push({ seriesLabels, exemplars: list.map(exemplarOf) });
    if (pacing.spend(seriesWork + list.length * exemplarWork)) await pacing.turn();
  }
  return checked;
}

function exemplarOf({ labels, value, timestamp }: ExemplarSeries['exemplars'][number]) {
  return { labels, value: value.replace(/^Infinity$/, '+Inf').replace(/^-Infinity$/, '-Inf'), timestamp };
}
