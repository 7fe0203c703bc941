import { systemClock } from '../../base/clock.ts';
import type { Memory } from '../../base/memory-pool.ts';
import type { TlsClient } from '../../net/tls-client.ts';
import {
  encodePartial,
  emptyHistogram,
  Engine,
  engineVersion,
  evaluateFragment,
  labelValue,
  partialContentType,
  QueryError,
} from '../../promql/index.ts';
import type { FragmentRequest, FragmentResult, Labels, QueryResult } from '../../promql/index.ts';
import { agentNames } from '../agents/directory.ts';
import { MemorySource } from '../../testing/promql/memory-source.ts';
import { parseMetric } from '../../testing/promql/series-description.ts';
import { until } from '../../testing/until.ts';
import { AgentFailure } from './failure.ts';
import { Pushdown } from './pushdown.ts';
import { NodeLedger } from './node-ledger.ts';
import { createPartialReader, type PartialReader } from './readers/partial-reader.ts';

const steps = 100;
const series = 30;
/** Bytes of one column, as a reader of answers takes them. */
const columnBytes = 384 + 9 * steps;
/** Bytes of one group, likewise. */
const groupBytes = 2_000;

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
source.load(
  parseMetric('h{k8s_node_name="n"}'),
  Array.from({ length: steps }, (_, i) => ({
    ...{ time: i * 1000, value: 0 },
    histogram: {
      ...emptyHistogram,
      count: 40,
      positive: { indexes: [...Array(40).keys()], counts: Array(40).fill(1) },
    },
  })),
);
for (const name of ['first', 'second']) {
  for (let i = 0; i < series; i++) {
    const labels = parseMetric(`${name}{k8s_node_name="n",i="${i}"}`);
    source.load(labels, [{ time: 0, value: 1 }]);
  }
}

/** Evaluates a fragment as the agent of a node, and reads the answer as it comes over the wire. */
const overTheWire: PartialReader = async (agent, call, options) => {
  const { fragment, steps: at, settings, hash } = call;
  const result = await evaluateFragment(fragment, source, at, { settings, maxSamples: 1e6 });
  const header = { planHash: hash, node: agent.node, labelsOwned: ['k8s_node_name'], minT: 0, maxT: 9, engineVersion };
  const frames = encodePartial({ ...header, partitionClean: true }, result, { waitMs: 0, evaluateMs: 0 });
  const each = async (use: (part: Buffer) => void) => {
    for (const frame of frames) use(Buffer.from(frame));
  };
  const stream = async () => ({ status: 200, headers: { 'content-type': partialContentType }, body: { each } });
  const way = { client: { stream } as unknown as TlsClient, port: 1, nameOf: agentNames('svc-system') };
  return createPartialReader(way)(agent, call, options);
};

/** Runs a range query over nodes. `before` is awaited before each answer; `merged` gets each merged answer. */
async function ask(
  query: string,
  memory: Recording,
  {
    nodes = ['n'],
    before = async () => {},
    merged = () => {},
    reader = undefined,
  }: {
    nodes?: readonly string[];
    before?: (fragment: FragmentRequest, node: string) => Promise<void>;
    merged?: (answer: readonly FragmentResult[] | null) => void;
    reader?: PartialReader | undefined;
  } = {},
): Promise<QueryResult> {
  const { signal } = new AbortController();
  const plain: PartialReader = async ({ node }, { fragment, steps: at, settings }) => {
    await before(fragment, node);
    const result = await evaluateFragment(fragment, source, at, { settings, maxSamples: 1e6 });
    const heldBytes = result.columns.length * columnBytes + result.groups.length * groupBytes;
    memory.take(heldBytes);
    const stats = { waitMs: 0, evaluateMs: 0 };
    return { result, stats, bytes: 0, heldBytes, groupBytes: result.groups.map(() => groupBytes) };
  };
  const pushdown = new Pushdown({
    scope: {
      agents: nodes.map((node) => ({ node, address: node, absence: undefined, nodeReady: true })),
      ...{ reader: async () => [], clock: systemClock, agentTimeoutMs: 5_000 },
      ...{ deadline: systemClock.monotonic() + 10_000, signal, maxSamples: 1e6, memory, lost: new Map() },
    },
    ...{
      path: 'agg',
      forced: true,
      reader: reader ?? plain,
      ledger: new NodeLedger(new Map()),
      budget: { left: 1e6, memory },
    },
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

/** Bytes that are held after the answers of all nodes are merged. */
async function heldByMerged(query: string, nodes: readonly string[], reader = overTheWire): Promise<number> {
  const memory = new Recording();
  let held = 0;
  await ask(query, memory, { nodes, reader, merged: () => (held = memory.held) });
  return held;
}

test('the state of a group that two nodes answer is charged once, their native histograms are charged both', async () => {
  const sums = 'sum by (i) (first)';
  const one = await heldByMerged(sums, ['n']);
  expect(one).toBeGreaterThan(series * 8 * steps);
  // The second node's dictionary adds a few bytes.
  expect(await heldByMerged(sums, ['n', 'm'])).toBeLessThan(1.2 * one);
  const histograms = await heldByMerged('sum(h)', ['n']);
  expect(histograms).toBeGreaterThan(steps * 40 * 16);
  expect(await heldByMerged('sum(h)', ['n', 'm'])).toBeGreaterThan(1.9 * histograms);
});

test('a large group that only one node answers stays charged, however many small ones are joined', async () => {
  const sizeOf = (labels: Labels): number => (labelValue(labels, 'i') === '0' ? 100_000 : 10);
  const reader: PartialReader = async ({ node }, { fragment, steps: at, settings }, { budget }) => {
    const result = await evaluateFragment(fragment, source, at, { settings, maxSamples: 1e6 });
    const groups = result.groups.filter(({ labels }) => node === 'n' || labelValue(labels, 'i') !== '0');
    const sizes = groups.map(({ labels }) => sizeOf(labels));
    const heldBytes = sizes.reduce((sum, bytes) => sum + bytes, 0);
    budget.memory?.take(heldBytes);
    const stats = { waitMs: 0, evaluateMs: 0 };
    return { result: { ...result, groups }, stats, bytes: 0, heldBytes, groupBytes: sizes };
  };
  expect(await heldByMerged('sum by (i) (first)', ['m', 'n'], reader)).toBe(100_000 + (series - 1) * 10);
});

test('if no node answers, what their lost answers left in the shared pool is given back', async () => {
  const reader: PartialReader = async (_, { pool }) => {
    pool.number('a text');
    throw new AgentFailure('protocol', 'the answer breaks off');
  };
  expect(await heldByMerged('sum by (i) (first)', ['n'], reader)).toBe(0);
});
