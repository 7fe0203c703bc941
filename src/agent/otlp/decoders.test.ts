import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { isOperatorError } from '../../base/errors.ts';
import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { decodeMetricsJson } from './json/metrics.ts';
import { decodeTracesJson } from './json/traces.ts';
import { AttributeCache } from './protobuf/attribute-cache.ts';
import { decodeMetricsRequest, decodeTracesRequest } from './protobuf/decode.ts';

const dir = join(import.meta.dirname, '../testdata/otlp');
const payloads = readdirSync(dir)
  .filter((name) => name.endsWith('.bin'))
  .map((name) => {
    const raw = readFileSync(join(dir, name));
    return {
      name: name.slice(0, -4),
      traces: name.includes('traces'),
      body: raw[0] === 0x1f ? gunzipSync(raw) : raw,
      json: readFileSync(join(dir, name.replace('.bin', '.json'))),
    };
  });

test.each(payloads)('$name gives the same from protobuf and from JSON', ({ traces, body, json }) => {
  if (traces) expect(decodeTracesRequest(body)).toEqual(decodeTracesJson(json));
  else expect(decodeMetricsRequest(body)).toEqual(decodeMetricsJson(json));
});

const decoders = [
  ['protobuf metrics', decodeMetricsRequest],
  ['protobuf traces', decodeTracesRequest],
  ['JSON metrics', decodeMetricsJson],
  ['JSON traces', decodeTracesJson],
] as const;

function decodesOrRefuses(decode: (bytes: Uint8Array) => unknown, bytes: Uint8Array): 'decoded' | 'refused' {
  try {
    decode(bytes);
    return 'decoded';
  } catch (error) {
    if (!isOperatorError(error, 'ERR_INPUT_INVALID')) throw error;
    return 'refused';
  }
}
const both = new Set(['decoded', 'refused']);

test.each(decoders)('%s: arbitrary bytes are decoded or refused, and no other error is thrown', (_name, decode) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => void decodesOrRefuses(decode, bytes)),
    { numRuns: 500 },
  );
});

test('a recorded payload with flipped bits or a cut end is decoded or refused, and no other error is thrown', () => {
  const outcomes = new Set<string>();
  const small = payloads.filter((p) => p.body.length < 30_000);
  fc.assert(
    fc.property(
      fc.constantFrom(...small),
      fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), { maxLength: 8 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      ({ body, traces }, flips, keep) => {
        const bytes = Uint8Array.from(body.subarray(0, Math.ceil(body.length * Math.max(keep, 0.2))));
        for (const [at, xor] of flips) bytes[Math.floor(at * (bytes.length - 1))]! ^= xor;
        outcomes.add(decodesOrRefuses(traces ? decodeTracesRequest : decodeMetricsRequest, bytes));
      },
    ),
    { numRuns: 400 },
  );
  expect(outcomes).toEqual(both);
});

const anyJson = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, fc.string(), fc.double(), fc.boolean(), fc.constant(null), tie('list'), tie('map')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  map: fc.dictionary(
    fc.constantFrom('resourceMetrics', 'resource', 'scopeMetrics', 'metrics', 'sum', 'histogram', 'dataPoints', 'x'),
    tie('value'),
    { maxKeys: 4 },
  ),
})).value;

test('any JSON value is decoded or refused, and no other error is thrown', () => {
  const outcomes = new Set<string>();
  fc.assert(
    fc.property(anyJson, (value) => {
      const bytes = Buffer.from(JSON.stringify({ resourceMetrics: value, resourceSpans: value }));
      outcomes.add(decodesOrRefuses(decodeMetricsJson, bytes));
      outcomes.add(decodesOrRefuses(decodeTracesJson, bytes));
    }),
    { numRuns: 500 },
  );
  expect(outcomes).toEqual(both);
});

/** A request with one gauge point, its NumberDataPoint message written by `point`. */
function gaugeRequest(point: (w: WireWriter) => void): Uint8Array {
  const request = new WireWriter();
  request.message(1, (resource) =>
    resource.message(2, (scope) =>
      scope.message(2, (metric) => metric.string(1, 'm').message(5, (gauge) => gauge.message(1, point))),
    ),
  );
  return request.finish();
}

const pointPath = 'resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points[0]';

test.each([
  ['a time of the wrong wire type', (w: WireWriter) => w.uint(3, 5), `${pointPath}.time_unix_nano: wire type 0`],
  [
    'a value cut short',
    (w: WireWriter) => w.key(4, 1).raw(Uint8Array.of(1, 2)),
    `${pointPath}.as_double: field reaches past`,
  ],
  [
    'too many attributes',
    (w: WireWriter) => {
      for (let i = 0; i < 1_100; i++) w.message(7, (kv) => kv.string(1, `k${i}`));
    },
    `${pointPath}.attributes: more than 1024 attributes`,
  ],
  [
    'values nested too deep',
    (w: WireWriter) => {
      let value = new WireWriter().string(1, 'x').finish();
      for (let i = 0; i < 40; i++) {
        const inner = value;
        value = new WireWriter().message(5, (array) => array.bytes(1, inner)).finish();
      }
      w.message(7, (kv) => kv.string(1, 'k').bytes(2, value));
    },
    'nested deeper than 16',
  ],
] as const)('refuses %s and names the field', (_what, point, message) => {
  expect(() => decodeMetricsRequest(gaugeRequest((w) => void point(w)))).toThrow(message);
});

/** Bytes that are not UTF-8: `/` and 0xff. */
const badPath = Uint8Array.of(0x2f, 0xff);
const badText = (key: string) => (kv: WireWriter) => kv.string(1, key).message(2, (value) => value.bytes(1, badPath));

test('bytes that are not UTF-8 in a span or its Resource become U+FFFD, and the other spans come', () => {
  const span = (w: WireWriter, name: Uint8Array, attribute?: (kv: WireWriter) => WireWriter): WireWriter => {
    w.bytes(1, new Uint8Array(16).fill(1)).bytes(2, new Uint8Array(8).fill(2)).bytes(5, name);
    if (attribute) w.message(9, (kv) => void attribute(kv));
    return w.message(15, (status) => status.bytes(2, name));
  };
  const good = Buffer.from('GET /');
  const request = new WireWriter()
    .message(1, (resource) =>
      resource
        .message(1, (r) => r.message(1, (kv) => void badText('service.name')(kv)))
        .message(2, (scope) => scope.message(2, (s) => void span(s, badPath, badText('url.path')))),
    )
    .message(1, (resource) => resource.message(2, (scope) => scope.message(2, (s) => void span(s, good))));
  const { resources } = decodeTracesRequest(request.finish());
  const [bad, other] = resources.map(({ scopes }) => scopes[0]!.spans[0]!);
  expect(resources[0]!.attributes).toEqual([{ key: 'service.name', value: '/\ufffd' }]);
  expect(bad).toMatchObject({
    name: '/\ufffd',
    statusMessage: '/\ufffd',
    attributes: [{ key: 'url.path', value: '/\ufffd' }],
  });
  expect(other).toMatchObject({ name: 'GET /', statusMessage: 'GET /' });
});

test('bytes that are not UTF-8 in keys and values of a point and in a description become U+FFFD', () => {
  const request = new WireWriter().message(1, (resource) =>
    resource.message(2, (scope) =>
      scope.message(2, (metric) =>
        metric
          .string(1, 'm')
          .bytes(2, badPath)
          .message(5, (gauge) =>
            gauge.message(1, (point) =>
              point.message(7, (kv) => void badText('a')(kv)).message(7, (kv) => kv.bytes(1, badPath)),
            ),
          ),
      ),
    ),
  );
  const metric = decodeMetricsRequest(request.finish()).resources[0]!.scopes[0]!.metrics[0]!;
  expect(metric.description).toBe('/\ufffd');
  expect(metric.data!.points[0]!.attributes).toEqual([
    { key: 'a', value: '/\ufffd' },
    { key: '/\ufffd', value: null },
  ]);
});

test('refuses the name of a metric that is not UTF-8, and names the field', () => {
  const request = new WireWriter().message(1, (resource) =>
    resource.message(2, (scope) => scope.message(2, (metric) => metric.bytes(1, badPath))),
  );
  expect(() => decodeMetricsRequest(request.finish())).toThrow('metrics[0].name: string is not UTF-8');
});

test.each([
  ['a body that is not JSON', '{', 'request: body is not JSON'],
  ['a list for the request', '[]', 'request: must be an object'],
  ['a count with a fraction', histogramJson({ count: 1.5 }), 'histogram.dataPoints[0].count: must be an integer'],
  ['a negative count', histogramJson({ count: '-1' }), 'count: is out of the range of 64 bits'],
  ['a bound that is not a number', histogramJson({ explicitBounds: ['x'] }), 'explicitBounds: must be a number'],
  ['a bad temporality', histogramJson({}, 'CUMULATIVE'), 'aggregationTemporality: must be a number or'],
  [
    'an exemplar id that is not hex',
    histogramJson({ exemplars: [{ traceId: 'zz' }] }),
    'exemplars[0].traceId: must be 32 hex digits',
  ],
])('refuses %s in JSON and names the field', (_what, body, message) => {
  expect(() => decodeMetricsJson(Buffer.from(body))).toThrow(message);
});

function histogramJson(point: object, temporality: unknown = 2): string {
  const histogram = { aggregationTemporality: temporality, dataPoints: [point] };
  return JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'm', histogram }] }] }] });
}

test('reads integers of all sizes and signs, JSON enum numbers and names, and special doubles', () => {
  const attribute = (value: object): object => ({ key: 'a', value });
  const attributes = [
    attribute({ intValue: 5 }),
    attribute({ intValue: '-7' }),
    attribute({ intValue: '9223372036854775807' }),
    ...['NaN', 'Infinity', '-Infinity'].map((doubleValue) => attribute({ doubleValue })),
    attribute({ arrayValue: { values: [{ boolValue: true }] } }),
    attribute({ kvlistValue: { values: [{ key: 'b', value: { bytesValue: 'AQI=' } }] } }),
    attribute({}),
  ];
  const points = [{ attributes, asInt: '-3' }];
  const sums = [1, 'AGGREGATION_TEMPORALITY_DELTA'].map((aggregationTemporality) => ({
    name: 's',
    sum: { aggregationTemporality, isMonotonic: true, dataPoints: points },
  }));
  const body = { resourceMetrics: [{ scopeMetrics: [{ metrics: sums }] }] };
  const decoded = decodeMetricsJson(Buffer.from(JSON.stringify(body)));
  const [first, second] = decoded.resources[0]!.scopes[0]!.metrics.map((m) => m.data);
  expect(first).toEqual(second);
  expect(first).toMatchObject({ kind: 'sum', temporality: 'delta', monotonic: true, points: [{ value: -3 }] });
  const values = first!.points[0]!.attributes.map((a) => a.value);
  const entries = [{ key: 'b', value: Uint8Array.of(1, 2) }];
  expect(values).toEqual([5, -7, 9223372036854775807n, NaN, Infinity, -Infinity, [true], { entries }, null]);
});

test('a negative int attribute in protobuf keeps its sign', () => {
  const bytes = gaugeRequest((w) => w.message(7, (kv) => kv.string(1, 'k').message(2, (v) => v.int(3, -5))));
  const point = decodeMetricsRequest(bytes).resources[0]!.scopes[0]!.metrics[0]!.data!.points[0]!;
  expect(point.attributes).toEqual([{ key: 'k', value: -5 }]);
});

test('a cache keeps the attributes of a request, but not those with a large value', () => {
  const cache = new AttributeCache();
  const attributesOf = (length: number) => {
    const point = (w: WireWriter): unknown =>
      w.message(7, (kv) => kv.string(1, 'k').message(2, (value) => value.string(1, 'x'.repeat(length))));
    const { data } = decodeMetricsRequest(
      gaugeRequest((w) => void point(w)),
      cache,
    ).resources[0]!.scopes[0]!.metrics[0]!;
    return data!.points[0]!.attributes;
  };
  expect(attributesOf(1_000)).toBe(attributesOf(1_000));
  expect(attributesOf(100_000)).toEqual(attributesOf(100_000));
  expect(attributesOf(100_000)).not.toBe(attributesOf(100_000));
});
