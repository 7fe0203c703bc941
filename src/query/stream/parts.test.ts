import { Readable } from 'node:stream';
import { jest } from '@jest/globals';
import { RE2JS } from 're2js';
import { LineSplitter, type StreamMessage, type StreamRequest } from '../../stream/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Random } from '../../testing/promql/random.ts';
import type { TlsClient } from '../../net/tls-client.ts';
import { createAgentStreamReader } from './agent-stream.ts';
import { NodeStates } from './node-states.ts';
import { ReaderQueue } from './reader-queue.ts';
import { nodesOf, sameSet, visibleNamespaces } from './scope.ts';
import { streamPlan } from './stream-plan.ts';

test('lines come out whole wherever the pieces are cut, also within a character', () => {
  const random = new Random(3);
  const lines = ['{"a":"ü€😀"}', '{}', `{"b":"${'x'.repeat(200)}"}`];
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  for (let round = 0; round < 100; round++) {
    const splitter = new LineSplitter();
    const out: string[] = [];
    for (let at = 0; at < bytes.length;) {
      const size = 1 + random.below(40);
      out.push(...splitter.take(bytes.subarray(at, at + size)));
      at += size;
    }
    splitter.end();
    expect(out).toEqual(lines);
  }
});

test('a line without an end and one that is too long are failures', () => {
  const cut = new LineSplitter();
  expect(cut.take(Buffer.from('{}\n{"no'))).toEqual(['{}']);
  expect(() => cut.end()).toThrow('in the middle of a line');
  expect(() => new LineSplitter(5).take(Buffer.from('123456'))).toThrow('longer than 5');
  expect(() => new LineSplitter(5).take(Buffer.from('123456\n'))).toThrow('longer than 5');
});

const chosen = (request: Parameters<typeof nodesOf>[0]): string[] => {
  const { wants } = nodesOf(request);
  return ['a', 'b', 'c'].filter(wants);
};

test.each([
  [{}, ['a', 'b', 'c']],
  [{ include: [{ node: ['a'] }] }, ['a']],
  [{ include: [{ node: ['a', 'b'], status: ['5+'] }, { node: ['b'] }] }, ['a', 'b']],
  [{ include: [{ node: ['a'] }, { method: ['GET'] }] }, ['a', 'b', 'c']],
  [{ exclude: [{ node: ['a'] }] }, ['b', 'c']],
  [{ exclude: [{ node: ['a'], method: ['GET'] }] }, ['a', 'b', 'c']],
  [{ include: [{ node: ['a', 'b'] }], exclude: [{ node: ['b'] }] }, ['a']],
])('the request %j selects the nodes %j', (request, nodes) => {
  expect(chosen(request)).toEqual(nodes);
});

test('the visible namespaces are those both requested and allowed', () => {
  const shop = new Set(['shop']);
  expect(visibleNamespaces(undefined, undefined)).toBeUndefined();
  expect(visibleNamespaces(undefined, shop)).toBe(shop);
  expect(visibleNamespaces(['zoo', 'shop'], shop)).toEqual(shop);
  expect(visibleNamespaces(['zoo'], undefined)).toEqual(new Set(['zoo']));
  expect([sameSet(shop, new Set(['shop'])), sameSet(shop, new Set(['zoo'])), sameSet(shop, undefined)]).toEqual([
    ...[true, false, false],
  ]);
});

test('relative times of a request become the same absolute times for all agents', () => {
  const now = Date.UTC(2026, 0, 1);
  const { base, number, follow } = streamPlan({ since: '5m', until: '2026-01-01T01:00:00Z', follow: true }, now);
  expect(base).toEqual({ since: '2025-12-31T23:55:00.000Z', until: '2026-01-01T01:00:00.000Z' });
  expect([number, follow]).toEqual([0, true]);
  expect(streamPlan({ since: '99999999999h' }, now).base).toEqual({});
  expect(() => streamPlan({ include: [{ path: ['('] }] }, now)).toThrow('path: not an RE2 pattern');
  expect(() => streamPlan({ after: 'ab.1' }, now)).toThrow('after: is for the stream of one agent');
});

test('patterns of paths beyond the limits of a query are refused before any of them is compiled', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const filters = (n: number, each: number): NonNullable<StreamRequest['include']> =>
    Array.from({ length: n }, (_, i) => ({ path: Array.from({ length: each }, (__, j) => `\\pL{190}a${i}.${j}`) }));
  expect(() => streamPlan({ include: filters(64, 32), exclude: filters(64, 32) }, 0)).toThrow(
    'path: cost of all regular expressions:',
  );
  const cheap = Array.from({ length: 51 }, (_, i) => `/[a-z]/${i}`);
  expect(() => streamPlan({ include: [{ path: cheap.slice(1) }], exclude: [{ path: cheap }] }, 0)).toThrow(
    'path: regular expressions: 51, at most 50',
  );
  expect(compile).not.toHaveBeenCalled();
  streamPlan({ include: [{ path: cheap.slice(1) }], exclude: [{ path: cheap.slice(1) }] }, 0);
  expect(compile).toHaveBeenCalledTimes(50);
  const names = Array.from({ length: 64 }, (_, i) => `/items/${i}`);
  streamPlan({ include: [{ path: names }], exclude: [{ path: names.map((name) => `${name}/.*`) }] }, 0);
  expect(compile).toHaveBeenCalledTimes(50);
  compile.mockRestore();
});

test('filters beyond the limits of an agent are refused before any agent is asked', () => {
  const selector = Array(341).fill('!a').join();
  const include = Array.from({ length: 32 }, () => ({ labelSelector: Array<string>(64).fill(selector) }));
  expect(() => streamPlan({ include }, 0)).toThrow(
    'labelSelector: requirements of label selectors and addresses: 1023',
  );
});

test('the lists of a request are encoded once for all agents', async () => {
  let encoded = 0;
  const values = [{ path: ['/a'] }, {}];
  const include = Object.assign([...values], { toJSON: () => (encoded++, values) });
  const bodies: unknown[] = [];
  const client = {
    stream: ({ body }: { body: string }) => {
      bodies.push(JSON.parse(body));
      return Promise.resolve({ status: 200, body: Readable.from([]) });
    },
  } as unknown as TlsClient;
  const clients = { followers: client, others: client };
  const read = createAgentStreamReader(clients, new FakeClock(), 1, () => ({ name: 'a' }) as never);
  const { signal } = new AbortController();
  const asked: StreamRequest = { include, namespaces: ['shop'], follow: true };
  for (const after of ['a', 'b', 'c']) {
    const request = { ...asked, after };
    for await (const _ of read({ node: after, address: '::1' }, request, { headMs: 1, signal }));
  }
  expect(encoded).toBe(1);
  expect(bodies).toEqual(['a', 'b', 'c'].map((after) => ({ ...asked, include: values, after })));
});

test('nodes that change together are reported together, and two changes of one node in their order', async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const states = new NodeStates(clock, ({ node, node_status: s }) => {
    told.push(`${node}: ${s!.state} ${s!.nodes.join()} ${s!.message ?? ''}`.trim());
  });
  for (const node of ['c', 'a', 'b']) states.add('NODE_CONNECTED', node);
  states.add('NODE_UNAVAILABLE', 'd', 'no agent pod');
  states.add('NODE_UNAVAILABLE', 'a', 'gone');
  states.add('NODE_CONNECTED', 'a');
  expect(told).toEqual([]);
  await clock.advance(50);
  expect(told).toEqual([
    'svc-query: NODE_CONNECTED a,b,c',
    'd: NODE_UNAVAILABLE d no agent pod',
    'a: NODE_UNAVAILABLE a gone',
    'a: NODE_CONNECTED a',
  ]);
  states.add('NODE_CONNECTED', 'a');
  states.stop();
  expect(clock.pending).toBe(0);
});

const span = (name: string): StreamMessage => ({ node: 'n', time: 't', span: { name } as never });
const words = (messages: readonly StreamMessage[]): string[] =>
  messages.map(({ span: s, lost, node_status: status }) =>
    s ? s.name : lost ? `lost ${lost.count} ${lost.source}` : status!.state,
  );

test('a reader that takes nothing costs only its queue’s memory; losses are reported where they occurred', async () => {
  let lost = 0;
  const queue = new ReaderQueue({ maxBytes: 1_000, now: () => 0, onLost: (count) => (lost += count) });
  const got: string[] = [];
  let letOn = (): void => {};
  const gone = new AbortController();
  const sink = {
    gone: gone.signal,
    write: (messages: readonly StreamMessage[]) => {
      got.push(...words(messages));
      return new Promise<void>((resolve) => (letOn = resolve));
    },
  };
  queue.push({ message: span('first'), bytes: 100 });
  const ended = new AbortController();
  const drained = queue.drain(sink, ended.signal);
  for (let i = 0; i < 10_000; i++) queue.push({ message: span(`s${i}`), bytes: 100 });
  expect(queue.bytes).toBe(1_000);
  queue.tell({ node: 'n', time: 't', node_status: { state: 'NODE_ERROR', nodes: ['n'] } });
  for (let i = 0; i < 5; i++) queue.tell({ node: 'n', time: 't', lost: { source: 'reader', count: 7 } });
  for (let i = 0; i < 10_000; i++)
    queue.tell({ node: 'n', time: 't', node_status: { state: 'NODE_ERROR', nodes: ['n'] } });
  expect(queue.bytes).toBeLessThan(3_000);
  ended.abort();
  letOn();
  await new Promise<void>((resolve) => setImmediate(resolve));
  letOn();
  await drained;
  expect(got.slice(0, 14)).toEqual([
    ...['first', 's0', 's1', 's2', 's3', 's4', 's5', 's6', 's7', 's8', 's9'],
    ...['lost 9990 relay', 'NODE_ERROR', 'lost 35 relay'],
  ]);
  expect(lost).toBe(9_990 + 35 + 10_001 - got.filter((word) => word === 'NODE_ERROR').length);
  expect(got.at(-1)).toMatch(/^lost \d+ relay$/);
});
