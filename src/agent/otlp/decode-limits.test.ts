import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { decodeMetricsJson } from './json/metrics.ts';
import { decodeTracesJson } from './json/traces.ts';
import type { Attribute, HistogramPoint } from './model.ts';
import { AttributeCache } from './protobuf/attribute-cache.ts';
import { decodeMetricsRequest, decodeTracesRequest } from './protobuf/decode.ts';

const pairs = (count: number, key = (i: number) => `k${i}`): Attribute[] =>
  Array.from({ length: count }, (_, i) => ({ key: key(i), value: '1' }));

const writePairs = (w: WireWriter, field: number, list: readonly Attribute[]): void => {
  for (const { key, value } of list) {
    w.message(field, (kv) => kv.string(1, key).message(2, (v) => v.string(1, String(value))));
  }
};
const jsonPairs = (list: readonly Attribute[]): object[] =>
  list.map(({ key, value }) => ({ key, value: { stringValue: value } }));

const ids = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };

interface Batch {
  readonly resource: readonly Attribute[];
  readonly span?: readonly Attribute[];
  readonly name?: string;
}

/** A traces request in protobuf and in JSON, with one Resource and one span of each batch. */
function tracesOf(...batches: readonly Batch[]): { body: Uint8Array; json: Uint8Array } {
  const request = new WireWriter();
  for (const { resource, span = [], name = 'GET /' } of batches) {
    request.message(1, (spans) =>
      spans
        .message(1, (r) => writePairs(r, 1, resource))
        .message(2, (scope) =>
          scope.message(2, (s) => {
            s.bytes(1, Buffer.from(ids.trace, 'hex')).bytes(2, Buffer.from(ids.span, 'hex')).string(5, name);
            writePairs(s, 9, span);
          }),
        ),
    );
  }
  const resourceSpans = batches.map(({ resource, span = [], name = 'GET /' }) => ({
    resource: { attributes: jsonPairs(resource) },
    scopeSpans: [{ spans: [{ traceId: ids.trace, spanId: ids.span, name, attributes: jsonPairs(span) }] }],
  }));
  return { body: request.finish(), json: Buffer.from(JSON.stringify({ resourceSpans })) };
}

const good: Batch = { resource: [{ key: 'service.name', value: 'shop' }] };
const longKey: Attribute = { key: 'x'.repeat(1_025), value: '1' };

test.each<[string, Batch, Batch, number]>([
  ['a key that is too long in a Resource', { resource: [longKey, ...pairs(2)] }, { resource: pairs(2) }, 1],
  ['too many attributes in a Resource', { resource: pairs(1_030) }, { resource: pairs(1_024) }, 6],
  [
    'a key that is too long in a span',
    { resource: [], span: [...pairs(2), longKey] },
    { resource: [], span: pairs(2) },
    1,
  ],
  ['too many attributes in a span', { resource: [], span: pairs(1_025) }, { resource: [], span: pairs(1_024) }, 1],
])('the request of all pods is taken without %s', (_what, sent, kept, skipped) => {
  const { body, json } = tracesOf(good, sent, good);
  const expected = decodeTracesRequest(tracesOf(good, kept, good).body);
  for (const decoded of [decodeTracesRequest(body), decodeTracesJson(json)]) {
    expect(decoded.resources).toEqual(expected.resources);
    expect(decoded.skippedAttributes ?? 0).toBe(skipped);
  }
});

test('the name of a span is decoded whole, because redaction must see whether a path in it was cut', () => {
  const name = `/${'y'.repeat(9_000)}`;
  const { body, json } = tracesOf({ resource: [], name });
  for (const { resources } of [decodeTracesRequest(body), decodeTracesJson(json)]) {
    expect(resources[0]!.scopes[0]!.spans[0]!.name).toBe(name);
  }
});

test('attributes of a Resource of metrics that are left out are counted each time, also with a cache', () => {
  const resource = [...pairs(3), longKey];
  const request = new WireWriter();
  request.message(1, (r) => r.message(1, (list) => writePairs(list, 1, resource)));
  const cache = new AttributeCache();
  const json = { resourceMetrics: [{ resource: { attributes: jsonPairs(resource) } }] };
  const decoded = [
    decodeMetricsRequest(request.finish(), cache),
    decodeMetricsRequest(request.finish(), cache),
    decodeMetricsJson(Buffer.from(JSON.stringify(json))),
  ];
  for (const one of decoded) {
    expect(one).toEqual({ resources: [{ attributes: pairs(3), scopes: [] }], skippedAttributes: 1 });
  }
});

const emptyFields = (field: number, count: number): Buffer => Buffer.alloc(2 * count, Uint8Array.of(field * 8 + 2, 0));

/** A metrics request in which each point of the metric's data, which is field `data` of it, has the content `point`. */
function pointsOf(data: number, point: Uint8Array, count = 1): Uint8Array {
  const request = new WireWriter();
  request.message(1, (resource) =>
    resource.message(2, (scope) =>
      scope.message(2, (metric) =>
        metric.message(data, (list) => {
          for (let i = 0; i < count; i++) list.bytes(1, point);
        }),
      ),
    ),
  );
  return request.finish();
}

const fieldOf = { gauge: 5, histogram: 9, exponential: 10, summary: 11 } as const;
const nested = (times: number, inner: Uint8Array): Uint8Array =>
  new WireWriter()
    .message(7, (kv) =>
      kv.message(2, (v) =>
        v.message(5, (array) => {
          for (let i = 0; i < times; i++) array.bytes(1, inner);
        }),
      ),
    )
    .finish();

test.each<[string, Uint8Array, string]>([
  [
    'empty exemplars',
    pointsOf(fieldOf.gauge, emptyFields(5, 257)),
    'data_points[0].exemplars: more than 256 exemplars',
  ],
  [
    'empty quantiles',
    pointsOf(fieldOf.summary, emptyFields(6, 257)),
    'data_points[0].quantile_values: more than 256 quantile_values',
  ],
  ['exemplars of many points', pointsOf(fieldOf.gauge, emptyFields(5, 250), 4_001), 'more than 1000000 values'],
  ['quantiles of many points', pointsOf(fieldOf.summary, emptyFields(6, 250), 4_001), 'more than 1000000 values'],
  ['attributes of many points', pointsOf(fieldOf.gauge, emptyFields(7, 1_000), 1_001), 'more than 1000000 values'],
  ['values in lists', pointsOf(fieldOf.gauge, nested(1_000, Buffer.alloc(0)), 1_001), 'more than 1000000 values'],
  [
    'empty bytes in lists',
    pointsOf(fieldOf.gauge, nested(1_000, Uint8Array.of(0x3a, 0)), 252),
    'more than 1000000 values',
  ],
  [
    'attributes between other fields',
    pointsOf(fieldOf.gauge, Buffer.alloc(4 * 1_025, Uint8Array.of(0x3a, 0, 0x40, 0))),
    'data_points[0].attributes: more than 1024 attributes',
  ],
  [
    'bucket counts of a byte',
    pointsOf(
      fieldOf.exponential,
      new WireWriter().message(8, (b) => b.bytes(2, new Uint8Array(4_096))).finish(),
      2_000,
    ),
    'more than 1000000 values',
  ],
])('a small body that would become many objects is refused: %s', (_what, body, message) => {
  expect(() => decodeMetricsRequest(body)).toThrow(message);
});

/** The doubles `from` and up as a repeated field, packed or each in a field of its own. */
const doubles = (field: number, from: number, count: number, packed: boolean): Uint8Array => {
  const writer = new WireWriter();
  const values = Array.from({ length: count }, (_, i) => from + i);
  if (packed) writer.bytes(field, new Uint8Array(Float64Array.from(values).buffer));
  else for (const value of values) writer.double(field, value);
  return writer.finish();
};
const histogramsIn = (body: Uint8Array): readonly HistogramPoint[] =>
  decodeMetricsRequest(body).resources[0]!.scopes[0]!.metrics[0]!.data!.points as readonly HistogramPoint[];

test('histograms that are not packed are read as if they were', () => {
  const point = (packed: boolean): Uint8Array =>
    Buffer.concat([doubles(6, 0, 160, packed), doubles(7, 1, 159, packed)]);
  const points = histogramsIn(pointsOf(fieldOf.histogram, point(false), 400));
  expect(points).toHaveLength(400);
  expect(points).toEqual(histogramsIn(pointsOf(fieldOf.histogram, point(true), 400)));
  expect([points[0]!.bucketCounts.length, points[0]!.bounds.length]).toEqual([160, 159]);
});

test('bounds and bucket counts in pieces are joined, and other points keep their own', () => {
  const whole = Buffer.concat([doubles(6, 0, 3, true), doubles(7, 1, 3, true)]);
  const rest = [emptyFields(6, 2_000), emptyFields(7, 2_000), doubles(6, 3, 2, false), doubles(7, 4, 2, true)];
  const joined = Buffer.concat([whole, ...rest, doubles(7, 6, 1, false)]);
  for (const order of [
    [whole, joined, whole],
    [joined, whole, joined],
  ]) {
    const body = Buffer.concat(order.map((point) => pointsOf(fieldOf.histogram, point)));
    const { resources } = decodeMetricsRequest(body);
    const bounds = resources.map(({ scopes }) => (scopes[0]!.metrics[0]!.data!.points[0] as HistogramPoint).bounds);
    expect(bounds).toEqual(order.map((point) => (point === whole ? [1, 2, 3] : [1, 2, 3, 4, 5, 6])));
  }
  expect(histogramsIn(pointsOf(fieldOf.histogram, joined))[0]!.bucketCounts).toHaveLength(5);
});

test.each([
  ['bucket_counts', 6],
  ['explicit_bounds', 7],
])('a histogram has at most 4096 values of %s, in whatever pieces', (name, field) => {
  const most = Buffer.concat([doubles(field, 0, 2_096, true), doubles(field, 2_096, 2_000, false)]);
  expect(histogramsIn(pointsOf(fieldOf.histogram, most, 2))).toHaveLength(2);
  for (const packed of [false, true]) {
    const body = pointsOf(fieldOf.histogram, Buffer.concat([most, doubles(field, 5_000, 1, packed)]));
    expect(() => decodeMetricsRequest(body)).toThrow(`data_points[0].${name}: more than 4096 values`);
  }
});

const jsonOf = (data: object): Uint8Array =>
  Buffer.from(JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: [data] }] }] }));

test.each<[string, Uint8Array, string]>([
  [
    'exemplars',
    jsonOf({ gauge: { dataPoints: [{ exemplars: Array(257).fill({}) }] } }),
    'dataPoints[0].exemplars: more than 256',
  ],
  [
    'quantiles',
    jsonOf({ summary: { dataPoints: [{ quantileValues: Array(257).fill({}) }] } }),
    'dataPoints[0].quantileValues: more than 256',
  ],
  ['values of any kind', Buffer.from(`{"x":[${'{},'.repeat(500_001)}{}]}`), 'request: more than 1000000 values'],
])('a small JSON body that would become many objects is refused: %s', (_what, body, message) => {
  expect(() => decodeMetricsJson(body)).toThrow(message);
});

test('equal lists of attributes that a cache holds count once', () => {
  const body = pointsOf(fieldOf.gauge, emptyFields(7, 1_000), 1_001);
  const { resources } = decodeMetricsRequest(body, new AttributeCache());
  expect(resources[0]!.scopes[0]!.metrics[0]!.data!.points).toHaveLength(1_001);
});
