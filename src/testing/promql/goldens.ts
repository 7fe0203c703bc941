import { Engine, QueryError, almostEqual, labelsKey, sortedLabels, type QueryResult } from '../../promql/index.ts';
import type { MemorySource } from './memory-source.ts';

/** One recorded answer of the HTTP API. */
export interface GoldenAnswer {
  readonly code: number;
  readonly error?: string;
  readonly errorType?: string;
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
  readonly data?: { readonly resultType: string; readonly result: unknown };
}

/** A file of recorded answers. Times in seconds. */
export interface GoldenFile {
  readonly end: number;
  readonly rangeStart: number;
  readonly step: number;
  readonly cases: readonly { readonly query: string; readonly instant: GoldenAnswer; readonly range: GoldenAnswer }[];
}

/** The outcome of one recorded query; `problem` is null if the answers are identical. */
export interface GoldenOutcome {
  readonly query: string;
  readonly problem: string | null;
}

const epsilon = 1e-9;
const status: Record<string, number> = { bad_data: 400, execution: 422, timeout: 503, canceled: 499, internal: 500 };

/** Runs every recorded query and compares both of its answers, instant and range, with the recorded ones. */
export async function runGoldens(file: GoldenFile, source: MemorySource): Promise<GoldenOutcome[]> {
  const engine = new Engine({ experimentalFunctions: true });
  const outcomes: GoldenOutcome[] = [];
  const [start, end, step] = [file.rangeStart, file.end, file.step].map((seconds) => seconds * 1000) as [
    number,
    number,
    number,
  ];
  for (const { query, instant, range } of file.cases) {
    const first = await compare(() => engine.instant(query, end, { source }), instant, query);
    const second = await compare(() => engine.range(query, start, end, step, { source }), range, query);
    const problem = first !== null ? `instant: ${first}` : second !== null ? `range: ${second}` : null;
    outcomes.push({ query, problem });
  }
  return outcomes;
}

async function compare(run: () => Promise<QueryResult>, golden: GoldenAnswer, query: string): Promise<string | null> {
  let result: QueryResult;
  try {
    result = await run();
  } catch (error) {
    return compareError(error, golden);
  }
  if (golden.code !== 200) return `answered, expected ${golden.code} ${golden.error ?? ''}`;
  for (const kind of ['warnings', 'infos'] as const) {
    const [got, want] = [[...result[kind]].sort(), [...(golden[kind] ?? [])].sort()];
    if (JSON.stringify(got) !== JSON.stringify(want)) {
      return `${kind} ${JSON.stringify(got)}, expected ${JSON.stringify(want)}`;
    }
  }
  return compareData(result, golden.data!, query);
}

function compareError(error: unknown, golden: GoldenAnswer): string | null {
  const type = error instanceof QueryError ? error.errorType : 'internal';
  const message = (error as Error).message;
  if (status[type] !== golden.code) return `${type} ${message}, expected ${golden.code} ${golden.error ?? 'an answer'}`;
  const want = (golden.error ?? '').replace('invalid parameter "query": ', '');
  return message === want ? null : `message ${JSON.stringify(message)}, expected ${JSON.stringify(want)}`;
}

type Pair = readonly [number, string];
interface GoldenSeries {
  readonly metric: Record<string, string>;
  readonly value?: Pair;
  readonly values?: readonly Pair[];
}

interface Row {
  readonly key: string;
  readonly points: readonly (readonly [number, number])[];
}

function compareData(result: QueryResult, data: NonNullable<GoldenAnswer['data']>, query: string): string | null {
  const { value } = result;
  if (value.type !== data.resultType) return `type ${value.type}, expected ${data.resultType}`;
  if (value.type === 'scalar') return samePoint([value.timestamp, value.value], point(data.result as Pair));
  if (value.type === 'string') return value.value === (data.result as Pair)[1] ? null : 'another string';
  const got: Row[] =
    value.type === 'vector'
      ? value.elements.map((e) => ({ key: labelsKey(e.labels), points: [[e.timestamp, e.value]] }))
      : value.series.map((s) => ({
          key: labelsKey(s.labels),
          points: Array.from(s.timestamps, (t, i) => [t, s.values[i]!]),
        }));
  const want: Row[] = (data.result as GoldenSeries[]).map(({ metric, value: one, values }) => ({
    key: labelsKey(sortedLabels(Object.entries(metric))),
    points: (values ?? [one!]).map(point),
  }));
  const keepsOrder = value.type === 'matrix' || /^\s*(sort|topk|bottomk)/.test(query);
  if (!keepsOrder) for (const rows of [got, want]) rows.sort((a, b) => (a.key < b.key ? -1 : 1));
  if (got.length !== want.length) return `${got.length} series, expected ${want.length}`;
  for (const [i, row] of got.entries()) {
    const other = want[i]!;
    if (row.key !== other.key) return `series ${JSON.stringify(row.key)}, expected ${JSON.stringify(other.key)}`;
    if (row.points.length !== other.points.length) {
      return `${row.points.length} points in ${JSON.stringify(row.key)}, expected ${other.points.length}`;
    }
    for (const [j, p] of row.points.entries()) {
      const problem = samePoint(p, other.points[j]!);
      if (problem !== null) return `${JSON.stringify(row.key)}: ${problem}`;
    }
  }
  return null;
}

function point([seconds, text]: Pair): readonly [number, number] {
  const value = text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text);
  return [Math.round(seconds * 1000), value];
}

function samePoint(got: readonly [number, number], want: readonly [number, number]): string | null {
  if (got[0] === want[0] && almostEqual(got[1], want[1], epsilon)) return null;
  return `${got[1]} at ${got[0]}, expected ${want[1]} at ${want[0]}`;
}
