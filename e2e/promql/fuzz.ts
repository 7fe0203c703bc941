import { Engine, compareLabels, type QueryResult } from '../../src/promql/index.ts';
import { isSmooth, withOtherLastDigits } from '../../src/testing/promql/input-error.ts';
import { MemorySource } from '../../src/testing/promql/memory-source.ts';
import { randomExpression } from '../../src/testing/promql/random-expression.ts';
import { randomSeries, type RandomSeries } from '../../src/testing/promql/random-series.ts';
import { Random } from '../../src/testing/promql/random.ts';
import { withStoredHints } from '../../src/testing/promql/stored-hints.ts';
import { remoteWrite } from '../prometheus/remote-write.ts';
import { startPeer, type Peer } from '../prometheus/server.ts';
import { difference, type PeerAnswer } from './compare.ts';

/** An expression for which our engine and a real Prometheus (the peer) give different answers. */
export interface Disagreement {
  readonly query: string;
  readonly mode: 'instant' | 'range';
  readonly what: string;
}

/** The outcome of a run. */
export interface FuzzOutcome {
  readonly agreed: number;
  /**
   * Expressions for which the two answers differ, but by no more than our own answers do when the last digits of the
   * samples change. They are not in `agreed`.
   */
  readonly undecided: number;
  /** Expressions whose instant query our engine answered with a value, not an error. */
  readonly answered: number;
  readonly disagreements: readonly Disagreement[];
}

const start = 1_700_000_000_000;
const interval = 30_000;
const samples = 60;
const end = start + (samples - 1) * interval;
const rangeStart = start + 12 * 60_000;
const stepMs = 60_000;

const features = [
  'promql-experimental-functions',
  'promql-extended-range-selectors',
  'promql-binop-fill-modifiers',
] as const;

/**
 * Evaluates the same random expressions over the same random series in our engine and in a real Prometheus, each as an
 * instant and as a range query, and compares value, error type and annotations.
 */
export async function fuzz(options: {
  readonly count: number;
  readonly seed: number;
  readonly only?: string;
  readonly found?: (one: Disagreement) => void;
}): Promise<FuzzOutcome> {
  const random = new Random(options.seed);
  const shape = { start, interval, samples, nodes: 3, histograms: true };
  const world = randomSeries(random, shape).sort((a, b) => compareLabels(a.labels, b.labels));
  const sourceOf = (change = (all: RandomSeries['samples']): RandomSeries['samples'] => all): MemorySource => {
    const made = new MemorySource();
    for (const { labels, samples: all } of world) made.load(labels, withStoredHints(change(all)));
    return made;
  };
  const source = sourceOf();
  /** The same series, whose samples have other last digits. */
  let shiftedSources: readonly MemorySource[] | undefined;
  const engine = new Engine({ experimentalFunctions: true, extendedRangeSelectors: true, fillModifiers: true });
  const peer = await startPeer({ features });
  const disagreements: Disagreement[] = [];
  let [agreed, undecided, answered] = [0, 0, 0];
  const answersOf = async (query: string, from: MemorySource): Promise<(QueryResult | Error)[]> => [
    await ours(() => engine.instant(query, end, { source: from })),
    await ours(() => engine.range(query, rangeStart, end, stepMs, { source: from })),
  ];
  const check = async (query: string): Promise<void> => {
    const answers = await answersOf(query, source);
    const span = { start: rangeStart / 1000, end: end / 1000, step: stepMs / 1000 };
    const asked = await Promise.all([
      ask(peer, 'query', { query, time: end / 1000 }),
      ask(peer, 'query_range', { query, ...span }),
    ]);
    if (!(answers[0] instanceof Error)) answered++;
    const what = answers.map((answer, i) => difference(answer, asked[i]!));
    if (what.every((one) => one === null)) agreed++;
    else if (isSmooth(query)) {
      const chance = new Random(options.seed);
      shiftedSources ??= Array.from({ length: 16 }, () => sourceOf((all) => withOtherLastDigits(all, chance)));
      const shifted: (QueryResult | Error)[][] = [];
      for (const other of shiftedSources) shifted.push(await answersOf(query, other));
      for (const i of what.keys())
        what[i] = difference(
          answers[i]!,
          asked[i]!,
          shifted.map((both) => both[i]!),
        );
      if (what.every((one) => one === null)) undecided++;
    }
    for (const [i, mode] of (['instant', 'range'] as const).entries()) {
      if (what[i] === null) continue;
      const one = { query, mode, what: what[i]! };
      disagreements.push(one);
      options.found?.(one);
      break;
    }
  };
  try {
    // The peer reads series in the order in which it first received them, and this order decides between equal values.
    await remoteWrite(
      peer.url,
      world.map(({ labels }) => ({ labels, samples: [{ time: start - 3_600_000, value: 0 }] })),
    );
    await remoteWrite(peer.url, world);
    if (options.only !== undefined) await check(options.only);
    else {
      const scope = { histograms: true, experimental: true, start, end };
      const queue = Array.from({ length: options.count }, () => randomExpression(random, scope));
      const worker = async (): Promise<void> => {
        for (let query = queue.pop(); query !== undefined; query = queue.pop()) await check(query);
      };
      await Promise.all([worker(), worker(), worker(), worker()]);
    }
  } finally {
    await peer.stop();
  }
  return { agreed, undecided, answered, disagreements };
}

async function ours(run: () => Promise<QueryResult>): Promise<QueryResult | Error> {
  try {
    return await run();
  } catch (error) {
    return error as Error;
  }
}

async function ask(peer: Peer, path: string, params: Record<string, string | number>): Promise<PeerAnswer> {
  const body = new URLSearchParams(
    Object.entries(params).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const answer = await fetch(`${peer.url}/api/v1/${path}`, {
    method: 'POST',
    body,
    signal: AbortSignal.timeout(60_000),
  });
  return (await answer.json()) as PeerAnswer;
}
