import { systemClock } from '../../../base/clock.ts';
import { MemoryPool } from '../../../base/memory-pool.ts';
import { OperatorError } from '../../../base/errors.ts';
import type { TlsClient } from '../../../net/tls-client.ts';
import {
  encodeIndexAnswer,
  encodePartial,
  engineVersion,
  indexContentType,
  LabelPool,
  partialContentType,
  SeriesPool,
} from '../../../promql/index.ts';
import type { IndexHeader, IndexLists } from '../../../promql/index.ts';
import { emptyAnswer } from '../../../testing/promql/empty-answer.ts';
import { buildStreamedRead, createRemoteReadHandler, encodePoints, labelsFromObject } from '../../../tsdb/index.ts';
import { agentNames } from '../../agents/directory.ts';
import { askAgents, createAgentAsker } from '../ask-agents.ts';
import type { SampleBudget } from '../merge/series-collector.ts';
import { createAgentReader } from './agent-reader.ts';
import type { AgentWay } from './call-agent.ts';
import { createIndexReader } from './index-reader.ts';
import { createPartialReader, type PartialCall } from './partial-reader.ts';

const agent = { node: 'n', address: '10.0.0.1', absence: undefined, nodeReady: true };
const time = { deadlineMs: 1_000, latestMs: 1_000, signal: new AbortController().signal };
const queries = [{ startMs: 0, endMs: 9e6, matchers: [{ type: '=', name: '__name__', value: 'x' } as const] }];
const indexQuestion = { kind: 'names', label: null, startMs: 0, endMs: 9e6, limit: 0 } as const;
const fragment = { kind: 'agg', expr: 'x', op: 'count', grouping: [], without: false, param: null } as const;
const partialCall = {
  fragment: { ...fragment, countSamples: true },
  steps: { start: 0, step: 1, count: 3 },
  settings: { lookbackDeltaMs: 1, defaultStepMs: 1 },
  hash: 'h',
  shiftedTo: null,
  pool: new LabelPool(),
} as unknown as PartialCall;

/** An agent whose answer breaks off after these bytes. `read` is called at that point. */
function cutAfter(parts: readonly Uint8Array[], contentType: string, read: () => void): AgentWay {
  return answering(parts, contentType, () => {
    read();
    throw new OperatorError('ERR_AGENT_UNREACHABLE', 'socket hang up');
  });
}

/** An agent that answers with these bytes. `end` is called after them. */
function answering(parts: readonly Uint8Array[], contentType: string, end: () => void): AgentWay {
  const body = {
    async *[Symbol.asyncIterator]() {
      for (const part of parts) yield Buffer.from(part);
      end();
    },
    each: async (use: (part: Buffer) => void) => {
      for (const part of parts) use(Buffer.from(part));
      end();
    },
  };
  const stream = async () => ({ status: 200, headers: { 'content-type': contentType }, body });
  return { client: { stream } as unknown as TlsClient, port: 1, nameOf: agentNames('svc-system') };
}

/** Returns the samples and bytes that `work` had taken from its budget when it called `note`, and after it failed. */
async function spentBy(work: (budget: SampleBudget, note: () => void) => Promise<unknown>) {
  const pool = new MemoryPool({ limitBytes: 1e9, freeBytes: 0 });
  const budget: { left: number } & Partial<SampleBudget> = { left: 1_000 };
  const spent = (): [number, number] => [1_000 - budget.left, pool.heldBytes];
  let before: [number, number] = [0, 0];
  await pool.open('user').run(time.signal, async ({ part }) => {
    const whole = Object.assign(budget, { memory: part() });
    await expect(work(whole, () => (before = spent()))).rejects.toMatchObject({ reason: 'protocol' });
  });
  return { before, after: spent() };
}

test('an answer of raw series that breaks off gives its samples and memory back to the budget', async () => {
  const points = Array.from({ length: 240 }, (_, i) => ({ t: i * 1_000, low: 0, high: i << 20 }));
  const labels = labelsFromObject({ __name__: 'x', k8s_node_name: 'n' });
  const handler = createRemoteReadHandler({ select: () => [{ labels, chunks: () => encodePoints(points, 120) }] });
  const { headers, body } = buildStreamedRead(queries);
  const answer = await handler({ headers, body });
  const parts: Uint8Array[] = [];
  for await (const part of answer.body) parts.push(part);
  const { before, after } = await spentBy((budget, note) => {
    const reader = createAgentReader(cutAfter(parts, answer.headers['content-type']!, note));
    return reader(agent, queries, { ...time, budget });
  });
  expect(before).toEqual([240, expect.any(Number)]);
  expect(before[1]).toBeGreaterThan(0);
  expect(after).toEqual([0, 0]);
});

test('a frame of raw series that is larger than agents write is refused before it is read', async () => {
  // The length of the frame: 16 MiB and 1 byte.
  const head = Uint8Array.of(0x81, 0x80, 0x80, 0x08);
  const budget = { left: 1_000 };
  const asked = createAgentReader(cutAfter([head], 'application/x-streamed-protobuf', () => {}))(agent, queries, {
    ...time,
    budget,
  });
  await expect(asked).rejects.toThrow('of 16777217 bytes, at most 16777216 allowed');
});

test.each<[string, string, (way: AgentWay) => (budget: SampleBudget) => Promise<unknown>]>([
  [
    'partial results',
    partialContentType,
    (way) => (budget) =>
      createPartialReader(way)(agent, { ...partialCall, fragment }, { ...time, budget, maxSamples: 1e6 }),
  ],
  [
    'labels',
    indexContentType,
    (way) => (budget) =>
      createIndexReader(way)(agent, { ...indexQuestion, sets: [[]] }, { ...time, budget, pool: new SeriesPool() }),
  ],
])('a frame of %s takes memory as it arrives, and gives it back when it breaks off', async (_, type, readerOf) => {
  const part = Buffer.alloc(100_000);
  // The length of the frame: 1 MiB.
  part.set([0x80, 0x80, 0x40]);
  const { before, after } = await spentBy((budget, note) => readerOf(cutAfter([part, part, part], type, note))(budget));
  expect(before[1]).toBe(300_000);
  expect(after).toEqual([0, 0]);
});

test('an answer of partial results that breaks off gives its samples and memory back to the budget', async () => {
  const header = { planHash: 'h', node: 'n', labelsOwned: ['k8s_node_name'], minT: 0, maxT: 9, partitionClean: true };
  const stats = { waitMs: 0, evaluateMs: 0 };
  const [first] = [...encodePartial({ ...header, engineVersion }, emptyAnswer, stats)];
  const { before, after } = await spentBy((budget, note) => {
    const reader = createPartialReader(cutAfter([first!], partialContentType, note));
    return reader(agent, partialCall, { ...time, budget, maxSamples: 1e6 });
  });
  expect(before[0]).toBeGreaterThan(0);
  expect(before[1]).toBeGreaterThan(0);
  expect(after).toEqual([0, 0]);
});

test.each<[IndexHeader['kind'], IndexLists]>([
  ['names', { texts: ['job', 'k8s_node_name'], series: [] }],
  ['series', { texts: [], series: ['a', 'b'].map((job) => labelsFromObject({ job, k8s_node_name: 'n' })) }],
])(
  'a list of %s that breaks off gives back its samples and memory, but for the sets in the pool',
  async (kind, lists) => {
    let kept = 0;
    const frames = [...encodeIndexAnswer({ kind, node: 'n', partitionClean: true }, lists)];
    const { before, after } = await spentBy((budget, note) => {
      const reader = createIndexReader(cutAfter(frames.slice(0, -1), indexContentType, note));
      const pool = new SeriesPool((bytes) => (kept += bytes));
      return reader(agent, { ...indexQuestion, kind, sets: [[]] }, { ...time, budget, pool });
    });
    expect(before[0]).toBeGreaterThan(0);
    expect(before[1]).toBeGreaterThan(0);
    expect(after).toEqual([0, 0]);
    if (kind === 'series') expect(kept).toBeGreaterThan(2 * 36);
    else expect(kept).toBe(0);
  },
);

test.each([
  ['breaks off', cutAfter],
  ['is refused once it has been read', answering],
])('an answer about series that %s gives its memory back', async (_, agentOf) => {
  const pool = new MemoryPool({ limitBytes: 1e9, freeBytes: 0 });
  let before = 0;
  const way = agentOf([Buffer.from('{"status":"success","data":["a"]}')], 'application/json', () => {
    before = pool.heldBytes;
  });
  await pool.open('user').run(time.signal, async ({ part }) => {
    const given = { clock: systemClock, signal: time.signal, agentTimeoutMs: 1_000, remainingMs: 1_000 };
    const options = { agents: [agent], asker: createAgentAsker(way), memory: part(), ...given };
    const { answers, lost } = await askAgents({ path: '/' }, options, () => {
      throw new Error('series of another node');
    });
    expect([answers, lost.get('n')?.reason]).toEqual([[], 'protocol']);
  });
  expect(before).toBeGreaterThan(0);
  expect(pool.heldBytes).toBe(0);
});
