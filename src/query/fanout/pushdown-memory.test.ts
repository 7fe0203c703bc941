import { systemClock } from '../../base/clock.ts';
import type { Memory } from '../../base/memory-pool.ts';
import { Engine, evaluateFragment, QueryError } from '../../promql/index.ts';
import type { FragmentRequest, FragmentResult, QueryResult } from '../../promql/index.ts';
import { MemorySource } from '../../testing/promql/memory-source.ts';
import { parseMetric } from '../../testing/promql/series-description.ts';
import { until } from '../../testing/until.ts';
import { Pushdown } from './pushdown.ts';
import { NodeLedger } from './node-ledger.ts';
import type { PartialReader } from './readers/partial-reader.ts';

const steps = 100;
const series = 30;
/** Bytes of one column, as a reader of answers takes them. */
const columnBytes = 384 + 9 * steps;

/** Memory that tells how much is taken. */
class Recording implements Memory {
  held = 0;
  peak = 0;

  take(bytes: number): null {
    this.held += bytes;
    this.peak = Math.max(this.peak, this.held);
    return null;
  }

  give(bytes: number): void {
    this.held -= bytes;
  }
}

const source = new MemorySource();
for (const name of ['first', 'second']) {
  for (let i = 0; i < series; i++) {
    const labels = parseMetric(`${name}{k8s_node_name="n",i="${i}"}`);
    source.load(labels, [{ time: 0, value: 1 }]);
  }
}

/** Runs a range query over nodes. `before` is awaited before each answer; `merged` gets each merged answer. */
async function ask(
  query: string,
  memory: Recording,
  {
    nodes = ['n'],
    before = async () => {},
    merged = () => {},
  }: {
    nodes?: readonly string[];
    before?: (fragment: FragmentRequest, node: string) => Promise<void>;
    merged?: (answer: readonly FragmentResult[] | null) => void;
  } = {},
): Promise<QueryResult> {
  const { signal } = new AbortController();
  const reader: PartialReader = async ({ node }, { fragment, steps: at, settings }) => {
    await before(fragment, node);
    const result = await evaluateFragment(fragment, source, at, { settings, maxSamples: 1e6 });
    const held = { columns: result.columns.length * columnBytes, groups: result.groups.length * 2_000 };
    memory.take(held.columns + held.groups);
    return { result, stats: { waitMs: 0, evaluateMs: 0 }, bytes: 0, held };
  };
  const pushdown = new Pushdown({
    scope: {
      agents: nodes.map((node) => ({ node, address: node, absence: undefined, nodeReady: true })),
      ...{ reader: async () => [], clock: systemClock, agentTimeoutMs: 5_000 },
      ...{ deadline: systemClock.monotonic() + 10_000, signal, maxSamples: 1e6, memory, lost: new Map() },
    },
    ...{ path: 'agg', forced: true, reader, ledger: new NodeLedger(new Map()), budget: { left: 1e6, memory } },
  });
  const { partitionLabel, aggregates } = pushdown;
  const run: Pushdown['run'] = async (...request) => {
    const answer = await pushdown.run(...request);
    merged(answer);
    return answer;
  };
  const distribution = { partitionLabel, aggregates, run };
  return new Engine({ experimentalFunctions: true }).range(query, 0, (steps - 1) * 1000, 1000, {
    source,
    distribution,
    memory,
  });
}

/** Bytes of columns with a sample at each step, as the engine counts them. */
const answerBytes = (columns: number): number => columns * (384 + 16 * steps);

test('answers that came in before their part of the query is evaluated stay charged until the engine charges them', async () => {
  const memory = new Recording();
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  let answers = 0;
  const answer = ask('first + on (i) second', memory, {
    before: ({ expr }) => (expr === 'first' ? held : Promise.resolve()),
    merged: () => answers++,
  });
  await until('the second answer is merged', () => answers === 1);
  expect(memory.held).toBeGreaterThanOrEqual(series * columnBytes);
  release();
  await answer;
  expect(memory.held).toBe(answerBytes(series));
});

test.each([
  ['sum by (i) (first)', series],
  ['count_values by (i) ("v", first)', series],
  ['topk(1, first)', 1],
  ['limitk(2, first)', 2],
])('after %s only the memory of its answer is taken', async (query, columns) => {
  const memory = new Recording();
  await ask(query, memory);
  expect(memory.held).toBe(answerBytes(columns));
  expect(memory.peak).toBeGreaterThan(memory.held);
});

test('if a node fails, the memory of the answers that came before is given back', async () => {
  const memory = new Recording();
  let failed = 0;
  await ask('topk(1, first)', memory, {
    nodes: ['a', 'n'],
    before: async (_, node) => {
      if (node !== 'a') return;
      await until('the other node has answered', () => memory.held > 0);
      failed++;
      throw new QueryError('execution', 'fails over the data of this node');
    },
  });
  expect(failed).toBe(1);
  const samplesHere = series * 16;
  expect(memory.held).toBe(answerBytes(1) + samplesHere);
});
