import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Identity } from '../identity/identity.ts';
import { decodeTracesRequest } from '../otlp/protobuf/traces.ts';
import { parseStreamQuery } from './span-filter.ts';
import { SpanPipeline } from './span-pipeline.ts';
import { rfc3339Nano, type SpanRecord } from './span-record.ts';
import { readStream, type StreamEvent } from './stream-reader.ts';
import { type StreamItem, StreamRing } from './stream-ring.ts';

const recorded = 1_795_258_170_000;
const never = new AbortController().signal;
const large = { maxBytes: 1e9, maxAgeMs: 3_600_000 };

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

async function read(ring: StreamRing, query: string): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const e of readStream(ring, parseStreamQuery(new URLSearchParams(query), 10_000), never)) events.push(e);
  return events;
}

const names = (events: StreamEvent[]): string[] =>
  events.map((e) => ('item' in e ? e.item.span.name : `lost ${e.lost}`));

test('recorded spans are shown with identity and request, without the internal children of Go and without the caller', () => {
  const ring = new StreamRing(large);
  const body = readFileSync(join(import.meta.dirname, '../testdata/otlp/09-patched-http-traces-go.bin'));
  const pipeline = new SpanPipeline({ ring, clock: new FakeClock(recorded), identity: new Identity() });
  const taken = pipeline.take(decodeTracesRequest(body));
  const spans = Array.from({ length: ring.next - ring.first }, (_, i) => ring.at(ring.first + i)!.span);
  expect(taken).toBeGreaterThan(spans.length);
  expect(spans.map((s) => s.name)).not.toContain('in queue');
  expect(spans[0]).toEqual({
    traceId: 'f734fcd205a0f8c9f989aa217d7372bc',
    spanId: '8afa71315e304011',
    name: 'GET /api/users/{id}',
    kind: 'server',
    start: '2026-11-21T10:49:21.017363954Z',
    durationNs: 5_396_942,
    status: 'unset',
    service: 'go-shop',
    method: 'GET',
    path: '/api/users/1',
    route: '/api/users/{id}',
    statusCode: 200,
    attributes: {
      'http.request.body.size': 0,
      'http.response.body.size': 0,
      'server.address': 'go-shop',
      'server.port': 8080,
      'url.scheme': 'http',
    },
  });
  expect(spans.find((s) => s.statusCode === 500)).toMatchObject({ status: 'error' });
});

test('the ring keeps the newest within its bytes and its age', () => {
  const ring = new StreamRing({ maxBytes: 3, maxAgeMs: 5_000 });
  for (let i = 0; i < 5; i++) ring.push(item({}, 1_000 + i), 1_000);
  expect([ring.first, ring.next, ring.bytes]).toEqual([2, 5, 3]);
  expect(ring.at(1)).toBeUndefined();
  expect(ring.at(2)!.timeMs).toBe(1_002);
  ring.setLimits({ maxBytes: 3, maxAgeMs: 5_000 }, 6_004);
  expect([ring.first, ring.next]).toEqual([4, 5]);
});

test('thousands of items through a small ring leave it small', () => {
  const ring = new StreamRing({ maxBytes: 10, maxAgeMs: 1e9 });
  for (let i = 0; i < 10_000; i++) ring.push(item({ name: String(i) }), 1_000);
  expect(ring.at(9_999)!.span.name).toBe('9999');
  expect(ring.next - ring.first).toBe(10);
});

test('the newest N come oldest first; first turns it round; more than there is gives what there is', async () => {
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
])('the query %s is refused with its field', (query, message) => {
  expect(() => parseStreamQuery(new URLSearchParams(query), 0)).toThrow(message);
});

test('a follower gets what comes, and a slow one learns how much it missed', async () => {
  const ring = new StreamRing({ maxBytes: 2, maxAgeMs: 1e9 });
  const stop = new AbortController();
  const stream = readStream(ring, parseStreamQuery(new URLSearchParams('follow'), 0), stop.signal);
  const first = stream.next();
  ring.push(item({ name: 'a' }), 1_000);
  expect((await first).value).toMatchObject({ item: { span: { name: 'a' } } });
  for (const name of ['b', 'c', 'd', 'e', 'f']) ring.push(item({ name }), 1_000);
  expect((await stream.next()).value).toEqual({ lost: 3 });
  expect((await stream.next()).value).toMatchObject({ item: { span: { name: 'e' } } });
  expect((await stream.next()).value).toMatchObject({ item: { span: { name: 'f' } } });
  const last = stream.next();
  stop.abort();
  expect((await last).done).toBe(true);
});

test('times are written to the nanosecond, and impossible ones do not break anything', () => {
  expect(rfc3339Nano(1_795_258_161_017_363_954n)).toBe('2026-11-21T10:49:21.017363954Z');
  expect(rfc3339Nano(0n)).toBe('1970-01-01T00:00:00.000000000Z');
  expect(rfc3339Nano(2n ** 64n - 1n)).toMatch(/^2554-/);
});
