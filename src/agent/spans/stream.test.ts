import { BlockList } from 'node:net';
import { jest } from '@jest/globals';
import { heapAfterGc } from '../../testing/heap.ts';
import { Random } from '../../testing/promql/random.ts';
import { Pace } from '../../base/turns/turns.ts';
import { flowRecord } from './flow-intake.ts';
import {
  type FilterField,
  rfc3339Nano,
  parseStreamRequest,
  requestOfParams,
  type SpanRecord,
  type StreamQuery,
  streamQuery,
  type StreamRequest,
} from '../../stream/index.ts';
import { readStream, startOf, type StreamEvent } from './stream-reader.ts';
import { type StreamItem, StreamRing } from './stream-ring.ts';

const never = new AbortController().signal;
const large = { maxBytes: 1e9, maxAgeMs: 3_600_000 };
const context = {
  node: 'node-1',
  podLabels: (namespace: string, name: string) =>
    namespace === 'shop' && name === 'checkout-1' ? { app: 'checkout', tier: 'web' } : undefined,
};
const queryOf = (query: string, nowMs: number): StreamQuery =>
  streamQuery(requestOfParams(new URLSearchParams(query)), nowMs, context);

function span(change: Partial<SpanRecord> = {}): SpanRecord {
  return {
    traceId: 't',
    spanId: 's',
    name: 'GET /',
    kind: 'server',
    start: '2026-01-01T00:00:00.000000000Z',
    durationNs: 5e6,
    status: 'unset',
    attributes: {},
    ...change,
  };
}

const item = (change: Partial<SpanRecord> = {}, timeMs = 1_000, bytes = 1): StreamItem => ({
  timeMs,
  bytes,
  span: span(change),
});

async function read(ring: StreamRing, query: StreamQuery | string): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  const asked = typeof query === 'string' ? queryOf(query, 10_000) : query;
  // Without turns for other work, the batches do not depend on how busy the machine is.
  const pace = new Pace(undefined, { due: () => false, next: () => Promise.resolve() });
  for await (const batch of readStream(ring, asked, never, startOf(ring, asked), pace)) events.push(...batch);
  return events;
}

/** So many lists of one value. */
function lists(count: number, value: string): string[][] {
  return Array.from({ length: count }, () => [value]);
}

const names = (events: StreamEvent[]): string[] =>
  events.map((e) => ('item' in e ? (e.item.span?.name ?? `flow ${e.item.flow!.bytes}`) : `lost ${e.lost} ${e.source}`));

test('the ring keeps the newest items within its limits of bytes and age', () => {
  const ring = new StreamRing({ maxBytes: 3, maxAgeMs: 5_000 });
  for (let i = 0; i < 5; i++) ring.push(item({}, 1_000 + i), 1_000);
  expect([ring.first, ring.next, ring.bytes]).toEqual([2, 5, 3]);
  expect(ring.at(1)).toBeUndefined();
  expect(ring.at(2)!.timeMs).toBe(1_002);
  ring.setLimits({ maxBytes: 3, maxAgeMs: 5_000 }, 6_004);
  expect([ring.first, ring.next]).toEqual([4, 5]);
});

test('beyond maxBytes the namespace that holds most loses its oldest items, and readers get their count', async () => {
  const ring = new StreamRing({ maxBytes: 4, maxAgeMs: 1e9 });
  const push = (account: string, name: string): void => ring.push({ ...item({ name }), account }, 1_000);
  push('quiet', 'q1');
  for (let i = 0; i < 5_000; i++) push('noisy', `n${i}`);
  push('quiet', 'q2');
  expect([ring.first, ring.next, ring.bytes]).toEqual([0, 5_002, 4]);
  expect([ring.at(0)?.span?.name, ring.at(1), ring.at(5_002)]).toEqual(['q1', undefined, undefined]);
  const held = ['q1', 'n4998', 'n4999', 'q2'];
  expect(names(await read(ring, `after=${ring.id}.0`))).toEqual(['lost 4998 reader', ...held]);
  expect(names(await read(ring, 'number=10&since=10s'))).toEqual(['lost 6 ring', ...held]);
  expect(names(await read(ring, 'number=2'))).toEqual(['n4999', 'q2']);
});

test('a hundred thousand items through a small ring leave it small', async () => {
  const ring = new StreamRing({ maxBytes: 10, maxAgeMs: 1e9 });
  const before = await heapAfterGc();
  for (let i = 0; i < 100_000; i++) ring.push(item({ name: String(i) }), 1_000);
  const grown = (await heapAfterGc()) - before;
  expect(ring.at(99_999)!.span!.name).toBe('99999');
  expect(ring.next - ring.first).toBe(10);
  // The bound is a few bytes for each item. An entry that stays would take a hundred.
  expect(grown).toBeLessThan(2_000_000);
});

test('the newest N come oldest first; with `first` the oldest N come; `all` gives every item', async () => {
  const ring = new StreamRing(large);
  for (const name of ['a', 'b', 'c']) ring.push(item({ name }), 1_000);
  expect(names(await read(ring, 'number=2'))).toEqual(['b', 'c']);
  expect(names(await read(ring, 'number=2&first'))).toEqual(['a', 'b']);
  expect(names(await read(ring, 'number=all'))).toEqual(['a', 'b', 'c']);
  expect(names(await read(ring, 'number=0'))).toEqual([]);
});

test.each([
  ['namespace=shop', ['shop']],
  ['pod=shop/check', ['shop']],
  ['pod=check', ['shop']],
  ['method=get', ['shop', 'plain']],
  ['method=GET&method=POST', ['shop', 'plain', 'post']],
  ['path=/a/.*', ['plain']],
  ['path=/a', []],
  ['status=5%2B', ['post']],
  ['status=404', ['plain']],
  ['status=400-599', ['plain', 'post']],
  ['status=error', ['post']],
  ['minDuration=1s', ['post']],
  ['method=GET&status=404', ['plain']],
  ['workload=checkout', ['shop']],
  ['since=8500ms', ['plain', 'post']],
  ['until=8500ms', ['shop', 'plain']],
])('the filter %s keeps %p', async (query, expected) => {
  const ring = new StreamRing(large);
  const shop = { namespace: 'shop', pod: 'checkout-1', workload: { kind: 'Deployment', name: 'checkout' } };
  ring.push(item({ name: 'shop', method: 'GET', statusCode: 200, ...shop }, 1_000), 1_000);
  ring.push(item({ name: 'plain', method: 'GET', path: '/a/b', statusCode: 404 }, 1_500), 1_000);
  ring.push(item({ name: 'post', method: 'POST', statusCode: 503, status: 'error', durationNs: 2e9 }, 2_000), 1_000);
  expect(names(await read(ring, query))).toEqual(expected);
});

test.each([
  ['colour=red', 'colour: is not a field'],
  ['number=-1', 'number: must be a whole number'],
  ['follow=maybe', 'follow: must be true or false'],
  ['first&follow', 'first: excludes follow'],
  ['status=high', 'status: must be a code'],
  ['path=(', 'path: not an RE2 pattern'],
  ['since=yesterday', 'since: must be an RFC 3339 time'],
  ['minDuration=5', 'minDuration: "5" is not a duration'],
  ['port=0', 'port: must be a port number'],
  ['ip=10.0.0.0/33', 'ip: must be an IP address or a CIDR'],
  ['labelSelector=a b', 'labelSelector: "a b" is not a label requirement'],
  ['include=x', 'include: must be a JSON object'],
  ['include={"colour":["red"]}', 'include/0/colour'],
  ['types=log', 'types/0'],
])('the refusal of the query %s names the field', (query, message) => {
  expect(() => queryOf(query, 0)).toThrow(message);
});

test.each<[string, number, (i: number) => string, string]>([
  ['very many patterns', 101, (i) => `/a/[0-9]${i}`, 'path: regular expressions: 101, at most 100'],
  ['many large patterns', 4, (i) => `.{900}${i}`, 'path: cost of all regular expressions: 75'],
  ['a pattern that is too large', 1, () => '.{1000}', 'path: cost of a regular expression: 21000'],
])('%s in the filters of a query are refused', (_, count, pattern, message) => {
  const filters = Array.from({ length: count }, (__, i) => ({ path: [pattern(i)] }));
  const request = { include: filters.filter((__, i) => i % 2 === 0), exclude: filters.filter((__, i) => i % 2 === 1) };
  expect(() => streamQuery(request, 0, context)).toThrow(message);
});

test.each<[string, FilterField, string[][], string]>([
  [
    '1,001 requirements of label selectors',
    'labelSelector',
    [['!a'], ['a,!b,c in (x,y)'], ...lists(997, '!a')],
    'labelSelector: requirements of label selectors and addresses: 1001, at most 1000',
  ],
  [
    '1,001 addresses',
    'ip',
    lists(1_001, '10.0.0.1'),
    'ip: requirements of label selectors and addresses: 1001, at most 1000',
  ],
  [
    '65,537 characters',
    'workload',
    [['w'], ...lists(64, 'x'.repeat(1_024))],
    'workload: characters of all filters: 65537, at most 65536',
  ],
])('%s in all filters of a query together are refused', (_, field, filters, message) => {
  const of = (all: string[][]): StreamRequest => {
    const half = all.map((values) => ({ [field]: values }));
    return { include: half.filter((__, i) => i % 2 === 0), exclude: half.filter((__, i) => i % 2 === 1) };
  };
  expect(() => streamQuery(of(filters), 0, context)).toThrow(message);
  streamQuery(of(filters.slice(1)), 0, context);
});

test('nothing of a query is compiled before all its limits are checked', () => {
  const lists_ = jest.spyOn(BlockList.prototype, 'addSubnet');
  const wrong = { labelSelector: ['a b'], ip: ['10.0.0.1'] };
  expect(() =>
    streamQuery({ include: [wrong], exclude: lists(1_001, '::1').map((ip) => ({ ip })) }, 0, context),
  ).toThrow('ip: requirements');
  expect(lists_).not.toHaveBeenCalled();
  lists_.mockRestore();
});

test('the work of a query grows with each requirement of its label selectors and each address', () => {
  const work = (filter: NonNullable<StreamRequest['include']>[number]): number =>
    streamQuery({ include: [filter] }, 0, context).work(item());
  const selectors = [1, 2, 3].map((n) => work({ labelSelector: [Array(n).fill('!a').join()] }));
  const addresses = [1, 2, 3].map((n) => work({ ip: Array<string>(n).fill('10.0.0.0/8') }));
  expect(selectors.map((units) => units - selectors[0]!)).toEqual([0, 10, 20]);
  expect(addresses.map((units) => units - addresses[0]!)).toEqual([0, 1_000, 2_000]);
});

test('a path that is too long for the patterns of the query is counted, not matched', async () => {
  const ring = new StreamRing(large);
  const path = `/${'a'.repeat(199)}`;
  ring.push(item({ name: 'short', path: '/aaa' }), 1_000);
  ring.push(item({ name: 'long', path, method: 'GET' }), 1_000);
  const dear = encodeURIComponent('/([a-z]?){150}[a-z]{150}|/a+');
  expect(names(await read(ring, `path=${dear}`))).toEqual(['lost 1 pattern', 'short']);
  expect(names(await read(ring, `path=${dear}&after=${ring.id}.0`))).toEqual(['lost 1 pattern', 'short']);
  const dearToCompile = encodeURIComponent('(?i).*[\\x80-\\x{10FFFF}a].*');
  expect(names(await read(ring, `path=${dearToCompile}`))).toEqual(['short', 'long']);
  expect(names(await read(ring, `path=${dear}&method=POST`))).toEqual([]);
  expect(names(await read(ring, `path=${path}`))).toEqual(['long']);
  expect(names(await read(ring, 'path=/a.*'))).toEqual(['short', 'long']);
});

test('a scan of the ring lets other work run, and misses nothing that is held', async () => {
  const ring = new StreamRing(large);
  for (let i = 0; i < 20_000; i++) ring.push(item({ name: String(i), path: `/a/${i}`, statusCode: 200 }), 1_000);
  let turns = 0;
  const pace = (): Pace => new Pace(undefined, { due: () => true, next: async () => void turns++ });
  const scan = async (query: string): Promise<string[]> => {
    turns = 0;
    const events: StreamEvent[] = [];
    const asked = queryOf(query, 10_000);
    for await (const batch of readStream(ring, asked, never, startOf(ring, asked), pace())) events.push(...batch);
    return names(events);
  };
  const found = ['7', '77', '777', '7777'];
  for (const query of ['number=10', 'number=all&first', `after=${ring.id}.0`]) {
    expect(await scan(`${query}&path=${encodeURIComponent('/a/7{1,4}')}`)).toEqual(found);
    expect(turns).toBeGreaterThan(100);
    expect(await scan(`${query}&status=200&number=20000`)).toHaveLength(20_000);
    expect(turns).toBeGreaterThan(50);
  }
});

test('a reader that leaves during a scan ends it', async () => {
  const ring = new StreamRing(large);
  for (let i = 0; i < 20_000; i++) ring.push(item({ name: String(i) }), 1_000);
  const gone = new AbortController();
  let turns = 0;
  const pace = new Pace(undefined, { due: () => true, next: async () => void (++turns && gone.abort()) });
  const asked = queryOf('number=all&method=GET', 10_000);
  for await (const _ of readStream(ring, asked, gone.signal, startOf(ring, asked), pace));
  expect(turns).toBe(1);
});

const attributes = (values: Record<string, string | number>) =>
  Object.entries(values).map(([key, value]) => ({ key, value }));

/** A span of checkout, one of another workload that calls out, and a flow between two pods. */
function mixedRing(): StreamRing {
  const ring = new StreamRing(large);
  const checkout = { namespace: 'shop', pod: 'checkout-1', workload: { kind: 'Deployment', name: 'checkout' } };
  const called = { 'server.address': '10.1.2.3', 'server.port': 8080, 'client.address': '2001:db8::7' };
  ring.push(item({ name: 'in', method: 'GET', traceId: 'abc', attributes: called, ...checkout }), 1_000);
  const query = { 'db.system.name': 'postgresql', 'server.port': 5432 };
  ring.push(item({ name: 'out', kind: 'client', namespace: 'bank', pod: 'ledger-0', attributes: query }), 1_000);
  const flow = flowRecord(
    attributes({
      direction: 'request',
      transport: 'tcp',
      'src.address': '10.1.0.9',
      'dst.address': '10.9.0.1',
      'dst.port': 6379,
      'k8s.src.namespace': 'shop',
      'k8s.src.name': 'checkout-1',
      'k8s.src.type': 'Pod',
      'k8s.dst.namespace': 'cache',
      'k8s.dst.owner.name': 'redis',
      'k8s.dst.owner.type': 'StatefulSet',
      'k8s.dst.node.name': 'node-7',
      'iface.direction': 'egress',
    }),
    7,
    '2026-01-01T00:00:01.000000000Z',
  );
  ring.push({ timeMs: 1_000, bytes: 1, flow }, 1_000);
  return ring;
}

test.each([
  ['', ['in', 'out', 'flow 7']],
  ['types=span', ['in', 'out']],
  ['types=flow', ['flow 7']],
  ['namespace=shop', ['in', 'flow 7']],
  ['namespace=cache', ['flow 7']],
  ['pod=shop/checkout-', ['in', 'flow 7']],
  ['workload=statefulset/redis', ['flow 7']],
  ['workload=cache/StatefulSet/redis', ['flow 7']],
  ['workload=shop/StatefulSet/redis', []],
  ['labelSelector=app%3Dcheckout,tier in (web,api)', ['lost 1 labels', 'in', 'flow 7']],
  ['labelSelector=app!%3Dcheckout', ['lost 1 labels']],
  ['labelSelector=app!%3Dcheckout&namespace=shop', []],
  ['labelSelector=constructor&namespace=shop', []],
  ['labelSelector=!constructor&namespace=shop', ['in', 'flow 7']],
  ['exclude={"labelSelector":["app"]}', ['out']],
  ['labelSelector=!missing,app&number=all', ['lost 1 labels', 'in', 'flow 7']],
  ['node=node-1', ['in', 'out', 'flow 7']],
  ['node=node-7', ['flow 7']],
  ['direction=ingress', ['in']],
  ['direction=egress', ['out']],
  ['direction=request', ['flow 7']],
  ['protocol=http', ['in']],
  ['protocol=SQL', ['out']],
  ['protocol=tcp', ['in', 'out', 'flow 7']],
  ['ip=10.1.0.0/16', ['in', 'flow 7']],
  ['ip=10.9.0.1', ['flow 7']],
  ['ip=2001:db8::/32', ['in']],
  ['port=8080&port=6379', ['in', 'flow 7']],
  ['traceId=ABC', ['in']],
  ['method=GET', ['in']],
  ['include={"namespace":["bank"]}&include={"port":["6379"]}', ['out', 'flow 7']],
  ['exclude={"namespace":["shop"]}', ['out']],
  ['namespace=shop&exclude={"protocol":["TCP"],"direction":["request"]}', ['in']],
])('the query %s shows %p', async (query, expected) => {
  expect(names(await read(mixedRing(), query))).toEqual(expected);
});

test('a JSON body selects the same as a query', async () => {
  const request = parseStreamRequest({
    number: 1,
    include: [{ namespace: ['bank'] }],
    exclude: [{ protocol: ['HTTP'] }],
  });
  expect(names(await read(mixedRing(), streamQuery(request, 0, context)))).toEqual(['out']);
  expect(() => parseStreamRequest({ number: 'many' })).toThrow('number');
  expect(() => parseStreamRequest({ types: ['span', 'span'] })).toThrow('types');
});

test('a query for more than the ring holds gets the held items and the count of dropped items', async () => {
  const ring = new StreamRing({ maxBytes: 2, maxAgeMs: 1e9 });
  for (const name of ['a', 'b', 'c', 'd', 'e']) ring.push(item({ name }), 1_000);
  expect(names(await read(ring, 'number=2'))).toEqual(['d', 'e']);
  expect(names(await read(ring, 'number=4'))).toEqual(['lost 2 ring', 'd', 'e']);
  expect(names(await read(ring, 'number=all'))).toEqual(['lost 3 ring', 'd', 'e']);
  expect(names(await read(ring, 'number=all&since=8s'))).toEqual([]);
});

test('newest and oldest are decided by the time of an item, not by its arrival', async () => {
  const ring = new StreamRing(large);
  const at = (ms: number): StreamItem => item({ name: String(ms), start: rfc3339Nano(BigInt(ms) * 1_000_000n) }, ms);
  for (const ms of [5, 1, 9, 3, 7, 2, 8]) ring.push(at(ms), 10);
  expect(names(await read(ring, 'number=3'))).toEqual(['7', '8', '9']);
  expect(names(await read(ring, 'number=3&first'))).toEqual(['1', '2', '3']);
  expect(names(await read(ring, 'number=all'))).toEqual(['1', '2', '3', '5', '7', '8', '9']);
});

test('in a ring filled at random, the newest and the oldest N are those of the sorted list of all items', async () => {
  const random = new Random(20_261_122);
  for (let round = 0; round < 200; round++) {
    const ring = new StreamRing(large);
    const all: { name: string; ms: number }[] = [];
    for (let i = random.below(60); i > 0; i--) {
      const ms = random.below(40);
      all.push({ name: `${i} at ${ms}`, ms });
      ring.push(item({ name: `${i} at ${ms}`, start: rfc3339Nano(BigInt(ms) * 1_000_000n) }, ms), 100);
    }
    all.sort((a, b) => a.ms - b.ms);
    const number = random.below(12) + 1;
    const [newest, oldest] = [await read(ring, `number=${number}`), await read(ring, `number=${number}&first`)];
    expect(names(newest)).toEqual(all.slice(-number).map(({ name }) => name));
    expect(names(oldest)).toEqual(all.slice(0, number).map(({ name }) => name));
  }
});

test('only items of the given namespaces are shown, and labels of pods elsewhere match nothing', async () => {
  expect(names(await read(mixedRing(), 'namespaces=bank'))).toEqual(['out']);
  expect(names(await read(mixedRing(), 'namespaces=cache&namespaces=bank'))).toEqual(['out', 'flow 7']);
  expect(names(await read(mixedRing(), 'namespaces=cache&namespace=shop'))).toEqual(['flow 7']);
  expect(names(await read(mixedRing(), 'namespaces=zoo'))).toEqual([]);
  expect(names(await read(mixedRing(), 'namespaces=cache&labelSelector=app'))).toEqual([]);
  expect(names(await read(mixedRing(), 'namespaces=shop&labelSelector=app'))).toEqual(['in', 'flow 7']);
});

test('a reader goes on at its cursor, in order of arrival; a cursor of another ring gives everything', async () => {
  const ring = new StreamRing({ maxBytes: 3, maxAgeMs: 1e9 });
  for (const name of ['a', 'b', 'c']) ring.push(item({ name }), 1_000);
  const after = (seq: number, id = ring.id): Promise<StreamEvent[]> => read(ring, `after=${id}.${seq}`);
  expect(await after(1)).toMatchObject([{ next: 2 }, { next: 3 }]);
  expect(names(await after(3))).toEqual([]);
  expect(names(await after(99))).toEqual([]);
  expect(names(await after(99, 'abc'))).toEqual(['a', 'b', 'c']);
  for (const name of ['d', 'e', 'f', 'g']) ring.push(item({ name }), 1_000);
  expect(names(await after(1))).toEqual(['lost 3 reader', 'e', 'f', 'g']);
  await expect(read(ring, 'after=yesterday')).rejects.toThrow('after: is no cursor');
});

test('a follower gets new items, and a slow follower the count of items that it missed', async () => {
  const ring = new StreamRing({ maxBytes: 2, maxAgeMs: 1e9 });
  const stop = new AbortController();
  const stream = readStream(ring, queryOf('follow', 0), stop.signal);
  const first = stream.next();
  ring.push(item({ name: 'a' }), 1_000);
  expect(names([...((await first).value as StreamEvent[])])).toEqual(['a']);
  for (const name of ['b', 'c', 'd', 'e', 'f']) ring.push(item({ name }), 1_000);
  expect(names([...((await stream.next()).value as StreamEvent[])])).toEqual(['lost 3 reader', 'e', 'f']);
  const last = stream.next();
  stop.abort();
  expect((await last).done).toBe(true);
});

test('a follower gets the count of items whose labels this node does not know', async () => {
  const ring = new StreamRing(large);
  const stop = new AbortController();
  const stream = readStream(ring, queryOf('follow&labelSelector=app%3Dcheckout', 0), stop.signal);
  const first = stream.next();
  ring.push(item({ name: 'theirs', namespace: 'bank', pod: 'ledger-0' }), 1_000);
  ring.push(item({ name: 'none' }), 1_000);
  ring.push(item({ name: 'ours', namespace: 'shop', pod: 'checkout-1' }), 1_000);
  expect(names([...((await first).value as StreamEvent[])])).toEqual(['lost 1 labels', 'ours']);
  stop.abort();
  expect((await stream.next()).done).toBe(true);
});
