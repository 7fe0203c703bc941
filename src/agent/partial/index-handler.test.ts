import { once } from 'node:events';
import { jest } from '@jest/globals';
import { RE2JS } from 're2js';
import { readFrames } from '../../base/wire/frames.ts';
import { MemoryPool } from '../../base/memory-pool.ts';
import { silentLogger } from '../../base/logger.ts';
import { createCa, issueLeaf } from '../../net/ca.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { TlsClient } from '../../net/tls-client.ts';
import { fixedTls } from '../../net/tls-material.ts';
import { encodeIndexRequest, IndexDecoder, SeriesPool } from '../../promql/index.ts';
import type { IndexHeader, IndexLists, IndexRequest } from '../../promql/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryFiles } from '../../testing/tsdb/memory-files.ts';
import { labelsFromObject, openStore, type Store } from '../../tsdb/index.ts';
import { createSelfMetrics } from '../self-metrics.ts';
import { indexRoute } from '../servers/framed-server.ts';
import { routed } from '../servers/routes.ts';
import { leastWaitingBytes } from './admission.ts';
import { createIndexHandler, defaultIndexLimits, type IndexDeps, type IndexLimits } from './index-handler.ts';

const end = 1_700_000_000_000;
const node = 'node-1';
const clock = new FakeClock(end);
const never = new AbortController().signal;
let store: Store;

beforeAll(async () => {
  const externalLabels = labelsFromObject({ k8s_node_name: node });
  store = await openStore({ dir: '/s', files: new MemoryFiles(), clock, logger: silentLogger, externalLabels });
  for (let pod = 0; pod < 20; pod++) {
    const labels = labelsFromObject({ __name__: pod < 10 ? 'requests_total' : 'bytes_total', pod: `p${pod}` });
    for (let k = 0; k <= 20; k++) store.append(labels, end - (20 - k) * 30_000, k * pod);
  }
});
afterAll(() => store.close());

const asked: IndexRequest = {
  kind: 'values',
  label: 'pod',
  sets: [[{ type: '=', name: '__name__', value: 'requests_total' }]],
  startMs: end - 600_000,
  endMs: end,
  limit: 0,
  maxBytes: 1e6,
  deadlineMs: 5_000,
};
const handlerWith = (limits: Partial<IndexLimits> = {}, of: IndexDeps['store'] = store) =>
  createIndexHandler({ store: of, node, clock, limits: { ...defaultIndexLimits, ...limits } });

async function answered(request: IndexRequest): Promise<IndexLists & { header: IndexHeader }> {
  const outcome = await handlerWith()(encodeIndexRequest(request), never);
  if ('refusal' in outcome) throw new Error(`${outcome.refusal}: ${outcome.message}`);
  const { kind, limit } = request;
  const decoder = new IndexDecoder({ kind, limit, pool: new SeriesPool(), onHeader: () => {}, onSeries: () => {} });
  async function* stream(): AsyncGenerator<Uint8Array> {
    yield* 'frames' in outcome ? outcome.frames : [];
  }
  for await (const message of readFrames(stream(), 'answer')) decoder.add(message);
  return decoder.finish();
}

test('the answer has the names, values or label sets of the store, and the name of its node', async () => {
  const values = await answered(asked);
  expect(values.header).toEqual({ kind: 'values', node, partitionClean: true });
  expect(values.texts).toEqual(Array.from({ length: 10 }, (_, i) => `p${i}`));
  const names = await answered({ ...asked, kind: 'names', label: null });
  expect(names.texts).toEqual(['__name__', 'k8s_node_name', 'pod']);
  const { series } = await answered({ ...asked, kind: 'series', label: null });
  expect([...series]).toEqual(await store.series(asked.sets, asked.startMs, asked.endMs));
  expect(series).toHaveLength(10);
  expect((await answered({ ...asked, startMs: end + 1, endMs: end + 1 })).texts).toEqual([]);
});

test('a matcher without a name is about a label that no series has', async () => {
  const { texts } = await answered(asked);
  const withEmpty = (type: '=' | '!=' | '=~' | '!~', value: string): Promise<IndexLists> =>
    answered({ ...asked, sets: [[...asked.sets[0]!, { type, name: '', value }]] });
  expect((await withEmpty('=', '')).texts).toEqual(texts);
  expect((await withEmpty('!~', '.+')).texts).toEqual(texts);
  expect((await withEmpty('!=', '')).texts).toEqual([]);
  expect((await withEmpty('=~', 'a')).texts).toEqual([]);
});

test('a limit keeps the first elements in order; several selectors give the union of their elements', async () => {
  expect((await answered({ ...asked, limit: 3 })).texts).toEqual(['p0', 'p1', 'p2']);
  const both = [...asked.sets, [{ type: '=~', name: 'pod', value: 'p1.*' } as const]];
  expect((await answered({ ...asked, sets: both })).texts).toHaveLength(20);
  const { series } = await answered({ ...asked, kind: 'series', label: null, sets: [[]], limit: 4 });
  expect([...series]).toEqual((await store.series([], asked.startMs, asked.endMs)).slice(0, 4));
});

test('a regular expression in several selectors is evaluated once for each value', async () => {
  const evaluate = jest.spyOn(RE2JS.prototype, 'testExact');
  try {
    const pattern = { type: '=~', name: 'pod', value: 'p.*[0-9]' } as const;
    const sets = Array.from({ length: 50 }, (_, i) => [
      pattern,
      { type: '!=', name: '__name__', value: `${i}` } as const,
    ]);
    expect((await answered({ ...asked, sets })).texts).toHaveLength(20);
    // The empty text, when the request is checked, then the empty text and 20 values.
    expect(evaluate.mock.calls.length).toBe(22);
  } finally {
    evaluate.mockRestore();
  }
});

test('a label value that is too long for a regular expression loses this node alone', async () => {
  store.append(labelsFromObject({ __name__: 'paths', path: 'ab'.repeat(100) }), end, 1);
  const sets = [[{ type: '=~', name: 'path', value: '(a|b)*a(a|b){600}' } as const]];
  for (const kind of ['names', 'values', 'series'] as const) {
    expect(await handlerWith()(encodeIndexRequest({ ...asked, kind, sets }), never)).toMatchObject({
      refusal: 'busy',
      message: expect.stringMatching(/^matcher on path: label value of 200 characters/),
    });
  }
});

test('the answer to a request tells if a selected series carries another node’s name', async () => {
  store.append(labelsFromObject({ __name__: 'flow_bytes', k8s_node_name: 'node-2' }), end, 1);
  expect((await answered(asked)).header.partitionClean).toBe(true);
  expect((await answered({ ...asked, sets: [[]] })).header.partitionClean).toBe(false);
});

test('a request with an unknown version or kind is `unsupported`, one with a wrong field is `invalid`', async () => {
  const body = JSON.parse(encodeIndexRequest(asked)) as Record<string, unknown>;
  const told = async (change: Record<string, unknown>): Promise<string> => {
    const outcome = await handlerWith()(JSON.stringify({ ...body, ...change }), never);
    return 'refusal' in outcome ? `${outcome.refusal}: ${outcome.message}` : 'answered';
  };
  expect(await told({})).toBe('answered');
  expect(await told({ v: 2 })).toMatch(/^unsupported: version 2/);
  expect(await told({ kind: 'exemplars' })).toMatch(/^unsupported: kind "exemplars"/);
  expect(await told({ label: '' })).toMatch(/^invalid: .*label: is empty/);
  expect(await told({ sets: [] })).toMatch(/^invalid: .*sets: is not a list of 1/);
  expect(await told({ sets: [{}] })).toMatch(/^invalid: .*sets\[0\]/);
  expect(await told({ sets: [[{ type: '~', name: 'a', value: '' }]] })).toMatch(/^invalid: .*sets\[0\]\[0\]\.type/);
  expect(await told({ sets: [[{ type: '=', name: 5, value: '' }]] })).toMatch(/^invalid: .*sets\[0\]\[0\]\.name/);
  expect(await told({ sets: [[{ type: '=', name: 'a' }]] })).toMatch(/^invalid: .*sets\[0\]\[0\]\.value/);
  expect(await told({ sets: [[{ type: '=~', name: 'a', value: '(' }]] })).toMatch(/^invalid: .*bad regular/);
  const slow = Array.from({ length: 4 }, (_, i) => [{ type: '=~', name: 'a', value: `a{900}${i}` }]);
  expect(await told({ sets: slow })).toMatch(/^invalid: .*sets: is too large: cost of all regular expressions: 75604/);
  expect(await told({ end: end - 700_000 })).toMatch(/^invalid: .*end/);
  expect(await told({ limit: -1 })).toMatch(/^invalid: .*limit/);
  expect(await told({ deadline: 0 })).toMatch(/^invalid: .*deadline/);
});

test.each<[string, Partial<IndexRequest>, Partial<IndexLimits>]>([
  ['the request', { maxBytes: 20 }, {}],
  ['the handler', {}, { maxBytes: 20 }],
])('an answer with more bytes than %s allows is refused, and no part of it is sent', async (_, change, limits) => {
  const outcome = await handlerWith(limits)(encodeIndexRequest({ ...asked, ...change }), never);
  expect(outcome).toMatchObject({ refusal: 'over_limit', message: 'answer of more than 20 bytes' });
});

test('requests wait in a bounded queue, and no longer than until their deadline', async () => {
  const handler = handlerWith({ concurrency: 1, waitingBytes: 2 * leastWaitingBytes });
  const body = encodeIndexRequest(asked);
  const outcomes = await Promise.all([1, 2, 3].map(() => handler(body, never)));
  expect(outcomes.map((outcome) => ('refusal' in outcome ? outcome.refusal : 'answered')).sort()).toEqual([
    'answered',
    'answered',
    'busy',
  ]);
  const none = handlerWith({ concurrency: 0 });
  const late = none(body, never);
  await clock.advance(5_000);
  expect(await late).toMatchObject({ refusal: 'timeout', message: 'not done within 5000 ms' });
  const gone = new AbortController();
  const left = none(body, gone.signal);
  gone.abort(new Error('the client disconnected'));
  await expect(left).rejects.toThrow('the client disconnected');
});

test('a list that waits for memory until its deadline is refused; the refusal states the memory in use', async () => {
  const memory = new MemoryPool({ limitBytes: 1_000, freeBytes: 0 });
  const held = memory.open('');
  const holding = new AbortController();
  const other = held.run(holding.signal, async (lease) => {
    lease.part().take(990);
    await once(lease.signal, 'abort');
  });
  const late = createIndexHandler({ store, node, clock, memory })(encodeIndexRequest(asked), never);
  await clock.advance(5_000);
  expect(await late).toEqual({
    refusal: 'timeout',
    message: expect.stringMatching(/^not done within 5000 ms, for want of memory: all queries together hold 990 of /),
  });
  holding.abort();
  await other;
});

const kinds: Partial<IndexRequest>[] = [
  { kind: 'series', label: null },
  { kind: 'values', label: 'pod' },
];
test.each(kinds)('a list takes its memory from the pool while it is made: $kind', async (kind) => {
  const request = encodeIndexRequest({ ...asked, ...kind, sets: [[]] });
  let frames = 0;
  const told = async (limitBytes: number): Promise<string> => {
    const memory = new MemoryPool({ limitBytes, freeBytes: 0 });
    const outcome = await createIndexHandler({ store, node, clock, memory })(request, never);
    if ('refusal' in outcome) {
      expect(memory.heldBytes).toBe(0);
      return `${outcome.refusal}: ${outcome.message}`;
    }
    frames = outcome.bytes;
    expect(memory.heldBytes).toBe(frames);
    outcome.release?.();
    expect(memory.heldBytes).toBe(0);
    return 'answered';
  };
  expect(await told(1e6)).toBe('answered');
  // Enough for the bytes of the answer, but not for the list that they are encoded from.
  expect(await told(frames + 100)).toMatch(/^over_limit: the query would hold \d+ bytes of memory/);
});

test('an internal error is answered without its details', async () => {
  const ask = (series: Store['series']) => {
    const { labelNames, labelValues } = store;
    const of = { series, labelNames: labelNames.bind(store), labelValues: labelValues.bind(store) };
    return handlerWith({}, of)(encodeIndexRequest(asked), never);
  };
  expect(await ask(store.series.bind(store))).toHaveProperty('frames');
  const outcome = await ask(() => Promise.reject(new TypeError('x is undefined')));
  expect(outcome).toEqual({ refusal: 'internal', message: 'internal error' });
});

test('the port serves clients of our CA that have an allowed name, counts requests, and says what is wrong with a request', async () => {
  // eslint-disable-next-line tests/fixed-date-beside-real-clock -- OpenSSL judges certificates by the machine's clock.
  const now = Date.now();
  const ca = await createCa({ commonName: 'svc-ca', now });
  const identity = async (commonName: string) => {
    const dnsNames = [commonName, `${commonName}.svc-system.svc`];
    const leaf = await issueLeaf(ca, { commonName, dnsNames }, { now });
    return fixedTls({ cert: leaf.cert, key: leaf.key, ca: ca.cert });
  };
  const metrics = createSelfMetrics({ node, version: '0' });
  const handler = routed([indexRoute({ handler: handlerWith(), metrics, logger: silentLogger })]);
  const server = createTlsServer(await identity('svc-agent'), handler, { clientNames: ['svc-query'] });
  const port = await listen('remote-read', server, { host: '127.0.0.1', port: 0 });
  const call = async (from: ReturnType<typeof fixedTls>, method: string, body = '', path = '/api/v1/index') => {
    const client = new TlsClient(from);
    const target = { host: '127.0.0.1', port, servername: 'svc-agent.svc-system.svc' };
    try {
      return (await client.request({ ...target, deadlineMs: 5_000, maxBytes: 1e7, method, path, body })).status;
    } finally {
      client.close();
    }
  };
  try {
    const query = await identity('svc-query');
    expect(await call(query, 'POST', encodeIndexRequest(asked))).toBe(200);
    expect(await call(query, 'GET')).toBe(405);
    expect(await call(query, 'POST', '{')).toBe(400);
    expect(await call(query, 'POST', encodeIndexRequest({ ...asked, maxBytes: 1 }))).toBe(413);
    expect(await call(query, 'POST', '{}', '/api/v1/other')).toBe(404);
    expect(await call(await identity('svc-agent'), 'POST', encodeIndexRequest(asked))).toBe(403);
    const page = await metrics.registry.metrics();
    expect(page).toMatch(/svc_index_requests_total\{code="200",[^}]*\} 1/);
    expect(page).toMatch(/svc_index_inflight\{[^}]*\} 0/);
    expect(page).toMatch(/svc_index_bytes_total\{[^}]*\} [1-9]/);
  } finally {
    await closeServer(server, 0);
  }
});
