import { gunzipSync } from 'node:zlib';
import type { HistogramPoint } from '../otlp/model.ts';
import { decodeMetricsRequest, decodeTracesRequest } from '../otlp/protobuf/decode.ts';
import { WireReader } from '../../base/wire/protobuf-wire.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { heapAfterGc } from '../../testing/heap.ts';
import { snappyDecompress } from '../../tsdb/remote-read/snappy.ts';
import { encodeSpan } from './encode/otlp-spans.ts';
import { OtlpSender } from './otlp-sender.ts';
import type { Post, PostAnswer } from './post.ts';
import type { QueuedSample, QueuedSeries } from './queue/record.ts';
import { RemoteWriteSender } from './remote-write-sender.ts';
import { addResults, type Chain, type Send, sendEach, SendLater, type SendResult } from './sender.ts';
import { retryAfterMs } from './verdict.ts';

interface Sent {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

const answer = (status: number, headers: Record<string, string> = {}, body = ''): PostAnswer => ({
  status,
  headers,
  body: Buffer.from(body),
});
const written = (n: number): Record<string, string> => ({ 'x-prometheus-remote-write-samples-written': String(n) });

function aReceiver(answers: (sent: Sent) => PostAnswer): { post: Post; sent: Sent[] } {
  const sent: Sent[] = [];
  return {
    sent,
    post: (url, headers, body) => {
      sent.push({ url: url.href, headers, body });
      return Promise.resolve(answers(sent.at(-1)!));
    },
  };
}

const series = (
  name: string,
  more: [string, string][] = [],
  type: QueuedSeries['meta']['type'] = 'counter',
): QueuedSeries => ({
  labels: ([['__name__', name], ...more] as [string, string][]).sort(([a], [b]) => (a < b ? -1 : 1)),
  meta: { family: name.replace(/_(bucket|sum|count)$/, ''), type, help: 'h', unit: 's' },
});
const sample = (one: QueuedSeries, value: number, timeMs = 1_000): QueuedSample => ({
  series: one,
  value,
  timeMs,
  stale: false,
});
const exemplar = { timeMs: 900, value: 0.3, traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const aSpan = {
  traceId: exemplar.traceId,
  spanId: exemplar.spanId,
  name: 'GET /',
  kind: 'server',
  start: '',
  durationNs: 1_000,
  status: 'error' as const,
  namespace: 'shop',
  method: 'GET',
  attributes: { 'server.port': 80 },
};
const four = [1, 2, 3, 4].map((n) => sample(series(`m${n}`), n));

/** Sends until nothing is left, as the exporter does: also what has to wait, and what has to be sent in parts. */
async function deliver(send: Send): Promise<SendResult> {
  let sum: SendResult = { taken: 0, refused: 0 };
  for (let left: readonly Chain[] = [[send]]; left.length > 0;) {
    const sent = await sendEach(left);
    sum = sent.results.reduce(addResults, sum);
    left = sent.left;
  }
  return sum;
}

function remoteWrite(post: Post, authorization?: string, clock = new FakeClock()): RemoteWriteSender {
  return new RemoteWriteSender({
    url: new URL('https://m.example.com/api/v1/push'),
    post,
    clock,
    labels: [['cluster', 'c']],
    userAgent: 'svc-agent/1',
    authorization: () => authorization,
  });
}
/** How often each field occurs in a request: 1 is a series, 3 the metadata of a family. */
function fieldsOf({ body }: Sent): Record<number, number> {
  const read = new WireReader(snappyDecompress(body, 1e6));
  const fields: Record<number, number> = {};
  while (!read.done) {
    const key = read.key();
    fields[key >>> 3] = (fields[key >>> 3] ?? 0) + 1;
    read.skip(key & 7);
  }
  return fields;
}
const isNew = ({ headers }: Sent): boolean => headers['x-prometheus-remote-write-version'] === '2.0.0';

test('the first request of remote write is in version 2.0, with its headers and the token', async () => {
  const { post, sent } = aReceiver(() => answer(204, written(4)));
  expect(await remoteWrite(post, 'Bearer t').samples(four)).toEqual({ taken: 4, refused: 0 });
  expect(sent).toHaveLength(1);
  expect(sent[0]!.headers).toMatchObject({
    'content-type': 'application/x-protobuf;proto=io.prometheus.write.v2.Request',
    'content-encoding': 'snappy',
    'x-prometheus-remote-write-version': '2.0.0',
    authorization: 'Bearer t',
  });
});

test.each([
  ['answers 415', (s: Sent) => (isNew(s) ? answer(415) : answer(204))],
  ['takes the request and understands nothing of it', () => answer(204)],
  ['answers 400', (s: Sent) => (isNew(s) ? answer(400) : answer(200))],
])('a receiver of remote write 1.0 that %s gets version 1.0 from then on', async (_, answers) => {
  const { post, sent } = aReceiver(answers);
  const sender = remoteWrite(post);
  expect(await sender.samples(four)).toEqual({ taken: 4, refused: 0 });
  expect(await sender.samples(four)).toEqual({ taken: 4, refused: 0 });
  expect(sent.map(isNew)).toEqual([true, false, false]);
  expect(fieldsOf(sent[1]!)).toEqual({ 1: 4, 3: 4 });
});

test('metadata that a receiver of 1.0 did not take goes out again with the next request, then not for a minute', async () => {
  let away = true;
  const { post, sent } = aReceiver((s) => answer(isNew(s) ? 415 : away ? 503 : 204));
  const sender = remoteWrite(post);
  await expect(sender.samples(four)).rejects.toThrow(SendLater);
  away = false;
  await sender.samples(four);
  await sender.samples(four);
  expect(sent.slice(1).map(fieldsOf)).toEqual([{ 1: 4, 3: 4 }, { 1: 4, 3: 4 }, { 1: 4 }]);
});

test('families whose metadata is due again anyway are not remembered', async () => {
  const clock = new FakeClock();
  const { post, sent } = aReceiver((s) => answer(isNew(s) ? 415 : 204));
  const sender = remoteWrite(post, undefined, clock);
  const before = await heapAfterGc();
  for (let minute = 0; minute < 40; minute++) {
    const families = Array.from({ length: 500 }, (_, i) => Buffer.alloc(1_000, `${minute}_${i}_`).toString());
    await sender.samples(families.map((name) => sample(series(name), 1)));
    sent.length = 0;
    await clock.advance(61_000);
  }
  expect((await heapAfterGc()) - before).toBeLessThan(6e6);
  await sender.samples(four);
  await sender.samples(four);
  expect(sent.map(fieldsOf)).toEqual([{ 1: 4, 3: 4 }, { 1: 4 }]);
});

test('samples that a receiver of 1.0 refuses are found by halving; the rest arrives', async () => {
  const bad = (body: Uint8Array): boolean => Buffer.from(snappyDecompress(body, 1e6)).includes('m3');
  const { post } = aReceiver((s) =>
    isNew(s) ? answer(415) : bad(s.body) ? answer(400, {}, 'out of order') : answer(204),
  );
  const sender = remoteWrite(post);
  expect(await deliver(() => sender.samples(four))).toEqual({
    taken: 3,
    refused: 1,
    reason: 'HTTP 400: out of order',
  });
});

test.each([
  ['2.0', 4, () => answer(204, written(1))],
  ['1.0', 3, (s: Sent) => (isNew(s) ? answer(415) : answer(204))],
])('remote write %s carries exemplars with the ids of their traces', async (_, field, answers) => {
  const { post, sent } = aReceiver(answers);
  await remoteWrite(post).samples([{ ...four[0]!, exemplar }]);
  const message = snappyDecompress(sent.at(-1)!.body, 1e6);
  const texts: string[] = [];
  let found: WireReader | undefined;
  for (const read = new WireReader(message); !read.done;) {
    const key = read.key();
    if (key === ((4 << 3) | 2)) texts.push(read.string());
    else if (key === ((5 << 3) | 2) || key === ((1 << 3) | 2)) {
      for (const ts = read.message(); !ts.done;) {
        const inner = ts.key();
        if (inner === ((field << 3) | 2)) found = ts.message();
        else ts.skip(inner & 7);
      }
    } else read.skip(key & 7);
  }
  const labels: string[] = [];
  const numbers: number[] = [];
  for (const read = found!; !read.done;) {
    const key = read.key();
    if (key === ((2 << 3) | 1)) numbers.push(read.double());
    else if (key === 3 << 3) numbers.push(read.int());
    else if (field === 4) for (const refs = read.message(); !refs.done;) labels.push(texts[refs.uint()]!);
    else {
      for (const pair = read.message(); !pair.done;) {
        pair.key();
        labels.push(pair.string());
      }
    }
  }
  expect(labels).toEqual(['span_id', exemplar.spanId, 'trace_id', exemplar.traceId]);
  expect(numbers).toEqual([0.3, 900]);
});

test('OTLP carries exemplars in the points that they belong to', async () => {
  const { post, sent } = aReceiver(() => answer(200));
  const name = 'http_server_request_duration';
  await otlp(post).samples([
    { ...sample(series(`${name}_bucket`, [['le', '0.5']], 'histogram'), 3), exemplar },
    sample(series(`${name}_bucket`, [['le', '+Inf']], 'histogram'), 4),
    sample(series(`${name}_count`, [], 'histogram'), 4),
    { ...sample(series('orders'), 7), exemplar: { ...exemplar, spanId: '' } },
  ]);
  const { metrics } = decodeMetricsRequest(gunzipSync(sent[0]!.body)).resources[0]!.scopes[0]!;
  const of = (wanted: string): unknown =>
    metrics.find((m) => m.name === wanted)!.data!.points.map((p) => (p as { exemplars: unknown }).exemplars);
  const plain = { timeNs: 900e6, value: 0.3, traceId: exemplar.traceId, spanId: exemplar.spanId };
  expect(of('http.server.request.duration')).toEqual([[plain]]);
  expect(of('orders')).toEqual([[{ ...plain, spanId: '' }]]);
});

test('a receiver of 2.0 reports how many samples it wrote, and the rest count as refused', async () => {
  const { post, sent } = aReceiver(() => answer(400, written(3), 'out of order'));
  expect(await remoteWrite(post).samples(four)).toEqual({ taken: 3, refused: 1, reason: 'HTTP 400: out of order' });
  expect(sent).toHaveLength(1);
});

test.each([
  [429, { 'retry-after': '7' }, 7_000],
  [503, {}, undefined],
  [401, {}, undefined],
  [403, {}, undefined],
  [404, {}, undefined],
  [405, {}, undefined],
  [407, {}, undefined],
  [408, {}, undefined],
  [302, { location: 'http://169.254.169.254/' }, undefined],
])('after HTTP %i the data waits', async (status, headers, afterMs) => {
  const { post } = aReceiver(() => answer(status, headers));
  const error = await remoteWrite(post)
    .samples(four)
    .catch((e: unknown) => e);
  expect(error).toBeInstanceOf(SendLater);
  expect((error as SendLater).afterMs).toBe(afterMs);
});

test.each([400, 406, 409, 412, 422])(
  'data that is answered with HTTP %i is refused, and does not hold up what follows',
  async (status) => {
    const { post } = aReceiver((s) => answer(isNew(s) ? 415 : status, {}, 'no'));
    const refused = { taken: 0, refused: 4, reason: `HTTP ${status}: no` };
    const sender = remoteWrite(post);
    expect(await deliver(() => sender.samples(four))).toEqual(refused);
    expect(await otlp(aReceiver(() => answer(status, {}, 'no')).post).samples(four)).toEqual(refused);
  },
);

test('a request that is too large is sent in halves', async () => {
  let requests = 0;
  const { post, sent } = aReceiver(() => (requests++ === 0 ? answer(413) : answer(204, written(2))));
  const sender = remoteWrite(post);
  expect((await deliver(() => sender.samples(four))).taken).toBe(4);
  expect(sent).toHaveLength(3);
});

test('a half that was taken is not sent again while the other has to wait', async () => {
  const ids = ['01', '02', '03', '04'].map((id) => `b7ad6b71692033${id}`);
  const spans = ids.map((spanId) => encodeSpan({ ...aSpan, spanId }, 5n, 'n1'));
  const statuses = [413, 200, 503, 503, 200];
  const { post, sent } = aReceiver(() => answer(statuses[sent.length - 1]!));
  const sender = otlp(post);
  expect(await deliver(() => sender.spans(spans))).toEqual({ taken: 4, refused: 0 });
  const idsOf = ({ body }: Sent): string[] =>
    decodeTracesRequest(gunzipSync(body)).resources.flatMap((r) =>
      r.scopes.flatMap((scope) => scope.spans.map(({ spanId }) => spanId)),
    );
  const [first, second] = [ids.slice(0, 2), ids.slice(2)];
  expect(sent.map(idsOf)).toEqual([ids, first, second, second, second]);
  const tooLarge = [413, 204, 503, 204];
  const receiver = aReceiver(() => answer(tooLarge[receiver.sent.length - 1]!, written(2)));
  const writer = remoteWrite(receiver.post);
  expect(await deliver(() => writer.samples(four))).toEqual({ taken: 4, refused: 0 });
  const namesOf = ({ body }: Sent): string[] => {
    const text = Buffer.from(snappyDecompress(body, 1e6)).toString('latin1');
    return ['m1', 'm2', 'm3', 'm4'].filter((name) => text.includes(name));
  };
  expect(receiver.sent.slice(1).map(namesOf)).toEqual([
    ['m1', 'm2'],
    ['m3', 'm4'],
    ['m3', 'm4'],
  ]);
});

test('Retry-After is seconds or a date, and bounded', () => {
  expect(retryAfterMs('5', 0)).toBe(5_000);
  expect(retryAfterMs('Thu, 01 Jan 1970 00:00:30 GMT', 10_000)).toBe(20_000);
  expect(retryAfterMs('999999', 0)).toBe(600_000);
  expect(retryAfterMs('soon', 0)).toBeUndefined();
});

function otlp(post: Post, endpoint = 'https://o.example.com/api/v1/otlp'): OtlpSender {
  const common = {
    post,
    clock: new FakeClock(),
    labels: [['cluster', 'c']] as const,
    userAgent: 'a',
    authorization: () => undefined,
  };
  return new OtlpSender({ ...common, endpoint: new URL(endpoint), node: 'n1' });
}

test('OTLP joins the series of a histogram again, and ends a stale series with a point without a value', async () => {
  const { post, sent } = aReceiver(() => answer(200));
  const name = 'http_server_request_duration';
  const samples = [
    ...(['0.5', '1', '+Inf'] as const).map((le, i) =>
      sample(series(`${name}_bucket`, [['le', le]], 'histogram'), [3, 5, 9][i]!),
    ),
    sample(series(`${name}_count`, [], 'histogram'), 9),
    sample(series(`${name}_sum`, [], 'histogram'), 4.5),
    { series: series('orders'), timeMs: 2_000, value: NaN, stale: true },
    sample(series('orders'), 7, 1_000),
  ];
  expect(await otlp(post).samples(samples)).toEqual({ taken: 7, refused: 0 });
  expect(sent[0]!.url).toBe('https://o.example.com/api/v1/otlp/v1/metrics');
  const request = decodeMetricsRequest(gunzipSync(sent[0]!.body));
  const metrics = request.resources[0]!.scopes[0]!.metrics;
  expect(metrics.find((m) => m.name === 'http.server.request.duration')!.data).toMatchObject({
    kind: 'histogram',
    temporality: 'cumulative',
    points: [
      {
        timeNs: 1e9,
        count: 9,
        sum: 4.5,
        bounds: [0.5, 1],
        bucketCounts: [3, 2, 4],
        attributes: [{ key: 'cluster', value: 'c' }],
      },
    ],
  });
  expect(
    metrics.filter((m) => m.name === 'orders').flatMap((m) => (m.data as unknown as { points: object[] }).points),
  ).toEqual([
    expect.objectContaining({ noValue: true, timeNs: 2e9 }),
    expect.objectContaining({ noValue: false, value: 7 }),
  ]);
});

test('an OTLP request that is too large is halved between points, never within a histogram', async () => {
  const name = 'http_server_request_duration';
  const histogram = (times: readonly number[], count: number): QueuedSample[] =>
    [series(`${name}_bucket`, [['le', '1']], 'histogram'), series(`${name}_bucket`, [['le', '+Inf']], 'histogram')]
      .concat(series(`${name}_sum`, [], 'histogram'), series(`${name}_count`, [], 'histogram'))
      .flatMap((one) => times.map((time) => sample(one, count, time)));
  const { post, sent } = aReceiver(() => answer(sent.length === 1 ? 413 : 200));
  // The middle of the samples is within the histogram, whose two points alternate.
  const all = [...four, ...histogram([1_000, 2_000], 9)];
  const sender = otlp(post);
  expect(await deliver(() => sender.samples(all))).toEqual({ taken: 12, refused: 0 });
  const points = sent.map(({ body }) =>
    decodeMetricsRequest(gunzipSync(body)).resources[0]!.scopes[0]!.metrics.flatMap(({ data }) =>
      (data!.points as readonly Partial<HistogramPoint>[]).map((p) => [p.timeNs! / 1e6, p.count, p.sum]),
    ),
  );
  const counters = four.map(() => [1_000, undefined, undefined]);
  expect(points.slice(1)).toEqual([[...counters, [1_000, 9, 9]], [[2_000, 9, 9]]]);
  const small = aReceiver(() => answer(413));
  const result = await otlp(small.post).samples(histogram([1_000], 9));
  expect([result, small.sent.length]).toEqual([{ taken: 0, refused: 4, reason: 'a single item is too large' }, 1]);
});

test.each([
  ['no', Buffer.from('no')],
  ['n\ufffd', Uint8Array.of(0x6e, 0xff)],
])(
  'the points that an OTLP answer of partial success rejects count as refused, for the reason %j',
  async (reason, text) => {
    const body = Buffer.from([10, 6, 8, 2, 18, 2, ...text]);
    const { post } = aReceiver(() => ({ ...answer(200), body }));
    expect(await otlp(post).samples(four)).toEqual({ taken: 2, refused: 2, reason });
  },
);

test('spans go to their own path; a receiver without that path gets no more spans, but still metrics', async () => {
  const span = encodeSpan(aSpan, 5n, 'n1');
  const known = aReceiver(() => answer(200));
  expect(await otlp(known.post, 'https://o.example.com/v1/metrics').spans([span])).toEqual({ taken: 1, refused: 0 });
  expect(known.sent[0]!.url).toBe('https://o.example.com/v1/traces');
  const { attributes, scopes } = decodeTracesRequest(gunzipSync(known.sent[0]!.body)).resources[0]!;
  expect(attributes).toContainEqual({ key: 'k8s.namespace.name', value: 'shop' });
  expect(scopes[0]!.spans[0]).toMatchObject({
    traceId: aSpan.traceId,
    kind: 'server',
    status: 'error',
    startNs: 5n,
    endNs: 1_005n,
  });
  const { post, sent } = aReceiver((s) => (s.url.endsWith('traces') ? answer(404) : answer(200)));
  const sender = otlp(post);
  expect((await sender.spans([span])).refused).toBe(1);
  expect((await sender.spans([span])).refused).toBe(1);
  expect((await sender.samples(four)).taken).toBe(4);
  expect(sent.map((s) => s.url.split('/').at(-1))).toEqual(['traces', 'metrics']);
});
