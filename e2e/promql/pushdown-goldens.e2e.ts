import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { sameAnswer } from '../../bench/promql/same-answer.ts';
import { labelValue, parse, ParseError, planQuery, print, withMatchers } from '../../src/promql/index.ts';
import type { ExecutionPath } from '../../src/query/fanout/pushdown-report.ts';
import { conformanceData, conformanceDir, needing } from '../../src/testing/needs.ts';
import type { GoldenAnswer, GoldenFile } from '../../src/testing/promql/goldens.ts';
import { parseOpenMetrics } from '../../src/testing/promql/open-metrics.ts';
import { startQueryStage } from '../../src/testing/query/query-stage.ts';
import type { QueryStage } from '../../src/testing/query/query-stage.ts';
import { ShiftedClock } from '../../src/testing/shifted-clock.ts';

/**
 * Compares recorded answers of a real Prometheus with those of the whole stack: agents with stores of their own behind
 * mutual TLS, and a query server. Each query takes all execution paths, which differ in how much of it the agents
 * compute. The data is not part of this repository.
 */

const acrossNodes = ['agg', 'series', 'off'] as const;
const ofOneNode = ['whole', ...acrossNodes] as const;
const features = { experimentalFunctions: true };
const nodeLabel = 'k8s_node_name';
type Row = ReturnType<typeof parseOpenMetrics>[number];

function read(path: string): string {
  return gunzipSync(readFileSync(join(conformanceDir, path))).toString();
}

/** Spreads series over agents. Their node label is left out, because each agent adds its own. */
function spread(rows: readonly Row[], nodes: number): Map<string, Row[]> {
  const agents = new Map<string, Row[]>();
  rows.forEach((row, i) => {
    const own = labelValue(row.labels, nodeLabel);
    const node = nodes === 3 && own !== '' ? own : `node-${i % nodes}`;
    const labels = row.labels.filter(([name]) => name !== nodeLabel);
    // Series that differ only by their node must still differ when they are on one agent.
    const kept = node === own || own === '' ? labels : [...labels, ['origin', own] as const];
    agents.set(node, [...(agents.get(node) ?? []), { ...row, labels: kept }]);
  });
  return agents;
}

/** Starts agents whose clock shows the date of the data: otherwise retention would delete the data during queries. */
async function startWith(agents: ReadonlyMap<string, readonly Row[]>, end: number): Promise<QueryStage> {
  const clock = new ShiftedClock(end * 1000);
  const stage = await startQueryStage({ nodes: [...agents.keys()].sort(), clock, flags: { agentTimeout: '60s' } });
  for (const [node, rows] of agents) {
    for (const { labels, samples } of rows) {
      const named = Object.fromEntries(labels);
      for (const { time, value } of samples) stage.cluster.append(node, named, time, value);
    }
  }
  return stage;
}

interface Told {
  readonly text: string;
  readonly status: number;
  readonly path: unknown;
}

/** The query with all of its selectors limited to one node; unchanged if it does not parse. */
function forNode(query: string, node: string): string {
  try {
    return print(withMatchers(parse(query, features), [{ type: '=', name: nodeLabel, value: node }]));
  } catch (error) {
    if (error instanceof ParseError) return query;
    throw error;
  }
}

/** Whether nodes send partial states of this query: if not, `agg` and `series` are the same path. */
function hasPartialStates(query: string): boolean {
  try {
    const { fragments } = planQuery(parse(query, features), { partitionLabel: nodeLabel });
    return fragments.some(({ kind }) => kind === 'agg');
  } catch (error) {
    if (error instanceof ParseError) return false;
    throw error;
  }
}

/**
 * The answers to this query. Paths that execute the query in the same way are asked once; `path` is then the name of
 * one of them. The last answer is that of the path `off`, on which agents compute nothing. A range has one in `everyStep`
 * of the recorded steps: where the paths are compared with each other only, one in four shows the same.
 */
async function askAll(
  stage: QueryStage,
  query: string,
  file: GoldenFile,
  kind: 'instant' | 'range',
  paths: readonly ExecutionPath[],
  everyStep: number,
): Promise<Told[]> {
  const { end, rangeStart } = file;
  const step = file.step * everyStep;
  const url = kind === 'instant' ? '/api/v1/query' : '/api/v1/query_range';
  const span =
    kind === 'instant' ? { time: String(end) } : { start: String(rangeStart), end: String(end), step: String(step) };
  const told: Told[] = [];
  const left = new Set(paths);
  if (!hasPartialStates(query)) left.delete('series');
  for (const path of left) {
    const answer = await stage.ask(url, { query, ...span }, { form: true, headers: { 'x-svc-pushdown': path } });
    const taken = answer.headers['x-svc-pushdown'];
    told.push({ text: answer.text, status: answer.status, path: taken });
    if (taken === path) continue;
    // Nothing of the query is pushed down by `path`, or nothing more than by `taken`.
    if (taken === 'off') break;
    if (taken !== undefined) left.delete(String(taken) as ExecutionPath);
  }
  return told;
}

/** The first difference between the paths, or between `off` and the recorded answer if one is given. */
function problemOf(told: readonly Told[], golden: GoldenAnswer | null): string | null {
  const off = told.at(-1);
  const other = told.find(({ text }) => text !== off!.text);
  if (other !== undefined)
    return `path ${String(other.path)}: ${other.text.slice(0, 200)}, off: ${off!.text.slice(0, 200)}`;
  if (golden === null) return null;
  if (off!.status !== golden.code) return `status ${off!.status}, recorded ${golden.code}`;
  if (golden.code !== 200) return null;
  if (golden.data!.resultType === 'vector' || golden.data!.resultType === 'matrix') {
    return sameAnswer(off!.text, JSON.stringify(golden));
  }
  const { data } = JSON.parse(off!.text) as GoldenAnswer;
  return JSON.stringify(data) === JSON.stringify(golden.data) ? null : `${JSON.stringify(data)}, recorded otherwise`;
}

type Comparison = 'recorded' | 'with each other' | 'with each other, for one node';

needing(conformanceData).describe('the recorded queries', () => {
  describe.each<[data: string, nodes: number, compared: Comparison]>([
    ['svc', 3, 'recorded'],
    ['svc', 1, 'with each other'],
    ['svc', 20, 'with each other'],
    ['svc', 3, 'with each other, for one node'],
    ['demo', 3, 'with each other'],
    ['demo', 1, 'with each other'],
    ['demo', 20, 'with each other'],
  ])('of %s over %i agents (comparison: %s)', (data, nodes, compared) => {
    test('have the same answer on all paths', async () => {
      const file = JSON.parse(read(`golden/${data}.golden.json.gz`)) as GoldenFile;
      const agents = spread(parseOpenMetrics(read(`input/${data}.om.gz`)), nodes);
      const stage = await startWith(agents, file.end);
      const node = compared === 'with each other, for one node' ? [...agents.keys()][0]! : null;
      const paths = nodes === 1 || node !== null ? ofOneNode : acrossNodes;
      const problems: object[] = [];
      const taken: Record<string, number> = {};
      try {
        for (const { query: text, instant, range } of file.cases) {
          const query = node === null ? text : forNode(text, node);
          for (const [kind, golden] of [
            ['instant', instant],
            ['range', range],
          ] as const) {
            const told = await askAll(stage, query, file, kind, paths, compared === 'recorded' ? 1 : 4);
            for (const { path } of told) if (path !== undefined) taken[String(path)] = (taken[String(path)] ?? 0) + 1;
            const problem = problemOf(told, compared === 'recorded' ? golden : null);
            if (problem !== null) problems.push({ query, kind, problem });
          }
        }
      } finally {
        await stage.close();
      }
      process.stderr.write(
        `${data} over ${nodes} agents, compared ${compared}: answers by path ${JSON.stringify(taken)}\n`,
      );
      expect(problems).toEqual([]);
      // Each path was taken, and not only requested.
      expect(Object.keys(taken)).toEqual(expect.arrayContaining([...paths]));
    }, 600_000);
  });
});
