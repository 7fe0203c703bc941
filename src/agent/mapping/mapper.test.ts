import { jest } from '@jest/globals';
import type { CaptureMonitorRule } from '../../capture/index.ts';
import { heapAfterGc } from '../../testing/heap.ts';
import { Redactor, Redactors } from '../redaction/redactor.ts';
import { aPod, nodePods } from '../../testing/node-pods.ts';
import type { Labels } from '../../tsdb/index.ts';
import type { SampleSink } from './hand-out.ts';
import type { Attribute, HistogramPoint, Metric, MetricsRequest, NumberPoint } from '../otlp/model.ts';
import { type Moment, SeriesMapper } from './mapper.ts';
import { defaultPolicy, type MappingPolicy } from './policy.ts';

const known = nodePods(...['shop/p1', 'shop/p2', 'pay/db-0'].map((path) => aPod(path, { containers: [] })));
const t0 = 1_800_000_000_000;

/**
 * A mapper and the samples that it hands out, written as `name{label=value} value @seconds`. A stream is the points
 * that come with one set of attributes; a series holds one stream or the sum of several.
 */
function setUp(
  change: Partial<MappingPolicy> = {},
  identity = known,
): {
  mapper: SeriesMapper;
  send: (at: number, request: MetricsRequest) => string[];
  sink: SampleSink;
  out: string[];
  starts: string[];
  at: (seconds: number) => Moment;
} {
  const mapper = new SeriesMapper({ ...defaultPolicy('n1'), ...change }, identity);
  const out: string[] = [];
  const starts: string[] = [];
  const text = (labels: Labels, tMs: number, value: string): void => {
    const own = labels.filter(([name]) => name !== '__name__' && name !== 'k8s_node_name');
    const name = labels.find(([n]) => n === '__name__')![1];
    const shown = own.map(([n, v]) => `${n}=${v}`).join();
    out.push(`${name}{${shown}} ${value} @${(tMs - t0) / 1_000}`);
  };
  const sink: SampleSink = {
    append: ({ labels }, tMs, value) => text(labels, tMs, String(value)),
    stale: ({ labels }, tMs) => text(labels, tMs, 'stale'),
    start: ({ labels }, tMs) => void starts.push(`${Object.fromEntries(labels)['__name__']} @${(tMs - t0) / 1_000}`),
    stored: () => NaN,
  };
  const at = (seconds: number): Moment => ({ wall: t0 + seconds * 1_000, mono: seconds * 1_000 });
  const send = (seconds: number, request: MetricsRequest): string[] => {
    out.length = 0;
    mapper.add(request, at(seconds), sink);
    mapper.flush(sink);
    return [...out];
  };
  return { mapper, send, sink, out, starts, at };
}

const attributes = (labels: Record<string, string | number>): Attribute[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value }));

interface PointOf {
  at: number;
  start?: number;
  value: number;
  labels?: Record<string, string | number>;
}

function numberPoint({ at, start = 0, value, labels = {} }: PointOf): NumberPoint {
  const times = { startNs: (t0 + start * 1_000) * 1e6, timeNs: (t0 + at * 1_000) * 1e6 };
  return { ...times, attributes: attributes(labels), value, noValue: false, exemplars: [] };
}

function request(metrics: Metric[], resource: Record<string, string | number> = {}): MetricsRequest {
  return {
    resources: [{ attributes: attributes(resource), scopes: [{ scope: { name: 's', version: '' }, metrics }] }],
  };
}

function counter(
  points: PointOf[],
  resource: Record<string, string> = {},
  temporality: 'cumulative' | 'delta' = 'cumulative',
): MetricsRequest {
  const data = { kind: 'sum', temporality, monotonic: true, points: points.map(numberPoint) } as const;
  return request([{ name: 'c', description: '', unit: '', data }], resource);
}

function histogram(
  point: Partial<HistogramPoint> & { at: number; start?: number },
  resource: Record<string, string> = {},
): MetricsRequest {
  const base = numberPoint({ at: point.at, start: point.start ?? 0, value: 0 });
  const full: HistogramPoint = {
    ...base,
    count: 0,
    sum: 0,
    min: null,
    max: null,
    bucketCounts: [],
    bounds: [],
    ...point,
  };
  const data = { kind: 'histogram', temporality: 'cumulative', points: [full] } as const;
  return request([{ name: 'h', description: '', unit: 's', data }], resource);
}

test('a stream that has a series to itself passes its raw values on', () => {
  const { send } = setUp();
  expect(send(1, counter([{ at: 1, value: 5 }]))).toEqual(['c{} 5 @1']);
  expect(send(11, counter([{ at: 11, value: 9 }]))).toEqual(['c{} 9 @11']);
});

test('a restart with a smaller value is a counter reset without a zero in between', () => {
  const { send } = setUp();
  send(1, counter([{ at: 1, value: 5 }]));
  expect(send(11, counter([{ at: 11, start: 8, value: 2 }]))).toEqual(['c{} 2 @11']);
});

test('a restart with a value not below the old one gets a zero in between, at the new start', () => {
  const { send } = setUp();
  send(1, counter([{ at: 1, value: 5 }]));
  expect(send(11, counter([{ at: 11, start: 8, value: 5 }]))).toEqual(['c{} 0 @8', 'c{} 5 @11']);
});

test('the zero of a restart never comes before the last sample nor after the new one', () => {
  const { send } = setUp();
  send(1, counter([{ at: 1, start: -5, value: 5 }]));
  expect(send(11, counter([{ at: 11, start: -3, value: 7 }]))).toEqual(['c{} 0 @1.001', 'c{} 7 @11']);
  expect(send(12, counter([{ at: 12, start: 50, value: 8 }]))).toEqual(['c{} 0 @11.999', 'c{} 8 @12']);
});

test('the start time of a counter goes to the store once, before its first sample', () => {
  const { send, starts } = setUp();
  send(11, counter([{ at: 11, start: 8, value: 5 }]));
  send(21, counter([{ at: 21, start: 8, value: 6 }]));
  expect(starts).toEqual(['c @8']);
  send(31, histogram({ at: 31, start: 30, count: 1, sum: 0.5, bounds: [1], bucketCounts: [1, 0] }));
  expect(starts.slice(1).sort()).toEqual(['h_bucket @30', 'h_bucket @30', 'h_count @30', 'h_sum @30']);
});

test('no start time goes to the store for the sum of several streams, a gauge, or a counter without a start', () => {
  const { send, starts } = setUp();
  send(11, counter([{ at: 11, start: -t0 / 1_000, value: 5 }]));
  const points = [numberPoint({ at: 11, start: 8, value: 1 })];
  send(11, request([{ name: 'g', description: '', unit: '', data: { kind: 'gauge', points } }]));
  const merged = setUp({ monitors: [rule({ dropLabels: ['route'] })] });
  const ofRoute = (route: string): PointOf => ({ at: 11, start: 8, value: 5, labels: { route } });
  merged.send(11, counter([ofRoute('/a'), ofRoute('/b')], pod('p1')));
  expect([...starts, ...merged.starts]).toEqual([]);
});

test('a restarted histogram gets zeros in all its series as soon as one of them would hide the restart', () => {
  const { send } = setUp();
  send(1, histogram({ at: 1, count: 3, sum: 1.5, bounds: [1], bucketCounts: [1, 2] }));
  expect(send(11, histogram({ at: 11, start: 9, count: 2, sum: 0.5, bounds: [1], bucketCounts: [2, 0] }))).toEqual([
    'h_bucket{le=1} 0 @9',
    'h_bucket{le=1} 2 @11',
    'h_bucket{le=+Inf} 0 @9',
    'h_bucket{le=+Inf} 2 @11',
    'h_count{} 0 @9',
    'h_count{} 2 @11',
    'h_sum{} 0 @9',
    'h_sum{} 0.5 @11',
  ]);
});

test('a point that comes again, or after a newer one, changes nothing', () => {
  const { send, mapper } = setUp();
  send(1, counter([{ at: 5, value: 5 }]));
  expect(send(2, counter([{ at: 5, value: 5 }]))).toEqual([]);
  expect(send(3, counter([{ at: 4, value: 4 }]))).toEqual([]);
  expect(mapper.counts.late).toBe(2);
});

test('two points of one stream in one metric are both handed out', () => {
  const { send } = setUp();
  expect(
    send(
      1,
      counter([
        { at: 1, value: 5 },
        { at: 2, value: 6 },
      ]),
    ),
  ).toEqual(['c{} 5 @1', 'c{} 6 @2']);
});

test('streams that differ only in a dropped label are added up; neither a restart nor an end lowers the sum', () => {
  const { send, mapper, sink, out, at } = setUp();
  const a = { 'service.instance.id': 'a' };
  const b = { 'service.instance.id': 'b' };
  const both = (points: [PointOf, PointOf]): MetricsRequest => ({
    resources: [...counter([points[0]], a).resources, ...counter([points[1]], b).resources],
  });
  expect(
    send(
      1,
      both([
        { at: 1, value: 100 },
        { at: 1, value: 10 },
      ]),
    ),
  ).toEqual(['c{} 110 @1']);
  expect(
    send(
      11,
      both([
        { at: 11, value: 101 },
        { at: 11.5, value: 12 },
      ]),
    ),
  ).toEqual(['c{} 113 @11.5']);
  expect(send(21, counter([{ at: 21, start: 15, value: 3 }], a))).toEqual(['c{} 116 @21']);
  for (let s = 31; s <= 91; s += 10) send(s, counter([{ at: s, start: 15, value: 3 }], a));
  out.length = 0;
  mapper.expire(at(92), sink);
  expect(out).toEqual([]);
  expect(send(101, counter([{ at: 101, start: 15, value: 4 }], a))).toEqual(['c{} 117 @101']);
});

/** Points of a histogram of two instances that are added up, one of them or both. Each has a single bound. */
const ofInstances = (at: number, bound: number, counts: { a?: number; b?: number }, startOfA = 0): MetricsRequest => ({
  resources: Object.entries(counts).flatMap(([id, count]) => {
    const values = { count, sum: 2 * count, bounds: [bound], bucketCounts: [count - 1, 1] };
    return histogram({ at, start: id === 'a' ? startOfA : 0, ...values }, { 'service.instance.id': id }).resources;
  }),
});

test('new bounds do not count merged histograms a second time; one that restarts meanwhile is counted anew', () => {
  const { send } = setUp();
  expect(send(1, ofInstances(1, 1, { a: 100, b: 10 }))).toContain('h_count{} 110 @1');
  const changed = send(11, ofInstances(11, 2, { a: 101, b: 11 }));
  expect(changed).toContain('h_bucket{le=1} stale @10.999');
  expect(changed).toContain('h_bucket{le=2} 110 @11');
  expect(changed.slice(-3)).toEqual(['h_bucket{le=+Inf} 112 @11.001', 'h_count{} 112 @11.001', 'h_sum{} 224 @11.001']);
  expect(send(21, ofInstances(21, 2, { a: 103, b: 11 }))).toContain('h_count{} 114 @21');
  expect(send(31, ofInstances(31, 3, { a: 4, b: 12 }, 25))).toContain('h_count{} 119 @31.001');
});

test('merged histograms that paused until their series ended, and return with new bounds, count what they had counted', () => {
  const { send, mapper, sink, out, at } = setUp();
  send(1, ofInstances(1, 1, { a: 100, b: 10 }));
  send(11, ofInstances(11, 1, { a: 100, b: 10 }));
  mapper.expire(at(60), sink);
  expect(out).toContain('h_count{} stale @60');
  expect(send(61, ofInstances(61, 2, { a: 101, b: 11 }))).toContain('h_count{} 112 @61');
});

test('a bucket of new bounds counts a histogram that gets them later from then on, as `_count` does', () => {
  const { send } = setUp();
  send(1, ofInstances(1, 1, { a: 100, b: 10 }));
  expect(send(11, ofInstances(11, 2, { a: 101 }))).toEqual(
    expect.arrayContaining(['h_bucket{le=2} 100 @11', 'h_count{} 111 @11']),
  );
  expect(send(12, ofInstances(12, 2, { b: 11 }))).toEqual(
    expect.arrayContaining(['h_bucket{le=2} 100 @12', 'h_count{} 112 @12']),
  );
  expect(send(21, ofInstances(21, 2, { a: 104, b: 13 }))).toEqual(
    expect.arrayContaining(['h_bucket{le=2} 105 @21', 'h_count{} 117 @21']),
  );
});

test('a merged series never hands out two samples of one time', () => {
  const { send } = setUp();
  const a = { 'service.instance.id': 'a' };
  const b = { 'service.instance.id': 'b' };
  expect(send(1, counter([{ at: 1, value: 1 }], a))).toEqual(['c{} 1 @1']);
  expect(send(1, counter([{ at: 1, value: 1 }], b))).toEqual(['c{} 2 @1.001']);
});

test('gauges of merged streams are added up, and a stream that ends takes its value out of the sum', () => {
  const { send, mapper, sink, at } = setUp();
  const level = (at_: number, value: number, id: string): MetricsRequest => {
    const points = [numberPoint({ at: at_, value })];
    return request([{ name: 'g', description: '', unit: '', data: { kind: 'gauge', points } }], {
      'service.instance.id': id,
    });
  };
  send(1, level(1, 5, 'a'));
  expect(send(2, level(2, 7, 'b'))).toEqual(['g{} 12 @2']);
  expect(send(12, level(12, 1, 'a'))).toEqual(['g{} 8 @12']);
  send(60, level(60, 1, 'a'));
  mapper.expire(at(70), sink);
  expect(send(71, level(71, 2, 'a'))).toEqual(['g{} 2 @71']);
  expect(send(81, level(81, 7, 'b'))).toEqual(['g{} 9 @81']);
  // Both pause, so that the series ends, and both return with the values that they had.
  mapper.expire(at(300), sink);
  send(301, level(301, 2, 'a'));
  expect(send(302, level(302, 7, 'b'))).toEqual(['g{} 9 @302']);
});

test('a value of a gauge that is no number, or beyond all measure, counts for nothing in a sum, and a gauge of its own shows it', () => {
  const { send } = setUp();
  const level = (at_: number, values: Record<string, number>): MetricsRequest => ({
    resources: Object.entries(values).flatMap(([id, value]) => {
      const points = [numberPoint({ at: at_, value })];
      const metric: Metric = { name: 'g', description: '', unit: '', data: { kind: 'gauge', points } };
      return request([metric], { 'service.instance.id': id }).resources;
    }),
  });
  expect(send(1, level(1, { a: NaN }))).toEqual(['g{} NaN @1']);
  expect(send(2, level(2, { b: 2 }))).toEqual(['g{} 2 @2']);
  expect(send(3, level(3, { a: 1 }))).toEqual(['g{} 3 @3']);
  expect(send(4, level(4, { a: NaN }))).toEqual(['g{} 2 @4']);
  expect(send(5, level(5, { a: 4 }))).toEqual(['g{} 6 @5']);
  expect(send(6, level(6, { a: -Infinity, b: 3 }))).toEqual(['g{} 3 @6']);
  expect(send(7, level(7, { a: 1 }))).toEqual(['g{} 4 @7']);
  expect(send(8, level(8, { a: 1e300 }))).toEqual(['g{} 3 @8']);
  expect(send(9, level(9, { a: 1.7e308, b: 1.7e308 }))).toEqual(['g{} 0 @9']);
  expect(send(10, level(10, { a: 5, b: 3 }))).toEqual(['g{} 8 @10']);
});

test('a series of several streams is right again after a value beyond 1e15 of one of them', () => {
  const { send } = setUp();
  const level = (at_: number, id: string, value: number): MetricsRequest => {
    const data = { kind: 'gauge', points: [numberPoint({ at: at_, value })] } as const;
    return request([{ name: 'g', description: '', unit: '', data }], { 'service.instance.id': id });
  };
  send(1, level(1, 'a', 5));
  expect(send(2, level(2, 'b', 1e20))).toEqual(['g{} 5 @2']);
  expect(send(3, level(3, 'b', 0))).toEqual(['g{} 5 @3']);
  expect(send(4, level(4, 'b', 6e14))).toEqual(['g{} 600000000000005 @4']);
  send(5, level(5, 'c', 6e14));
  expect(send(6, level(6, 'd', 1))).toEqual(['g{} 1200000000000006 @6']);
});

test.each(['cumulative', 'delta'] as const)(
  'a sum of several %s counters counts on beside a counter that jumps by more than 1e15',
  (temporality) => {
    const { send } = setUp();
    const of = (at: number, id: string, value: number): MetricsRequest =>
      counter([{ at, start: 0, value }], { 'service.instance.id': id }, temporality);
    send(1, of(1, 'a', 5));
    expect(send(2, of(2, 'b', 1e20))).toEqual(['c{} 5 @2']);
    expect(send(3, of(3, 'a', 7))).toEqual([`c{} ${temporality === 'delta' ? 12 : 7} @3`]);
  },
);

test('a counter beyond 1e15 shows its own value, and a reset once others are added to it', () => {
  const { send } = setUp();
  const of = (at: number, id: string, value: number): MetricsRequest =>
    counter([{ at, start: 0, value }], { 'service.instance.id': id });
  expect(send(1, of(1, 'a', 1e20))).toEqual(['c{} 100000000000000000000 @1']);
  expect(send(2, of(2, 'b', 1))).toEqual(['c{} 1 @2']);
  expect(send(3, of(3, 'b', 3))).toEqual(['c{} 3 @3']);
});

test('streams that move into one series bring no value beyond 1e15 into it', () => {
  const { mapper, send, sink, at } = setUp();
  const dropped = { ...defaultPolicy('n1'), monitors: [rule({ dropLabels: ['route'] })] };
  const ofRoute = (seconds: number, route: string, value: number): PointOf => ({
    at: seconds,
    value,
    labels: { route },
  });
  send(1, counter([ofRoute(1, '/a', 1e20), ofRoute(1, '/b', 5)], pod('p1')));
  mapper.setPolicy(dropped, at(2), sink);
  const [sum] = send(3, counter([ofRoute(3, '/b', 6)], pod('p1')));
  expect(sum).toMatch(/ 6 @3$/);
});

test('a control character in an attribute joins no streams or series', () => {
  const { mapper, send } = setUp();
  const points = [
    { a: 'x', b: 'y' },
    { a: 'x\u0001b\u0000y' },
    { a: 'x\u0000b\u0000y' },
    { a: 'x\u0000' },
    { a: 'x\u00010' },
  ].map((labels) => ({ at: 1, value: 1, labels }));
  send(1, counter(points));
  expect([mapper.streams, mapper.table.size]).toEqual([5, 5]);
});

test('a control character in the name of a scope or metric joins no streams', () => {
  const { mapper, send } = setUp();
  const of = (scope: string, name: string): MetricsRequest => {
    const data = { kind: 'gauge', points: [numberPoint({ at: 1, value: 1 })] } as const;
    const metrics = [{ name, description: '', unit: '', data }];
    return { resources: [{ attributes: [], scopes: [{ scope: { name: scope, version: '' }, metrics }] }] };
  };
  for (const separator of ['\u0000', '\u0001', '\u0002']) {
    const before = mapper.streams;
    send(1, of(`s${separator}a`, 'b'));
    send(1, of('s', `a${separator}b`));
    expect(mapper.streams).toBe(before + 2);
  }
});

test('deltas are summed up', () => {
  const { send } = setUp();
  expect(send(1, counter([{ at: 1, value: 5 }], {}, 'delta'))).toEqual(['c{} 5 @1']);
  expect(send(11, counter([{ at: 11, start: 1, value: 2 }], {}, 'delta'))).toEqual(['c{} 7 @11']);
});

test('a silent stream ends with a stale marker, and its return with a larger value is a reset', () => {
  const { send, mapper, sink, out, at } = setUp();
  send(1, counter([{ at: 1, value: 5 }]));
  send(11, counter([{ at: 11, value: 6 }]));
  out.length = 0;
  mapper.expire(at(40), sink);
  expect(out).toEqual([]);
  mapper.expire(at(42), sink);
  expect(out).toEqual(['c{} stale @42']);
  expect(mapper.table.size).toBe(0);
  expect(send(50, counter([{ at: 50, start: 48, value: 9 }]))).toEqual(['c{} 0 @48', 'c{} 9 @50']);
});

test('a stream that its sender ends is marked stale at that time', () => {
  const { send } = setUp();
  send(1, counter([{ at: 1, value: 5 }]));
  const ended = counter([{ at: 11, value: 0 }]);
  (ended.resources[0]!.scopes[0]!.metrics[0]!.data!.points[0] as { noValue: boolean }).noValue = true;
  expect(send(11, ended)).toEqual(['c{} stale @11']);
});

test('an ended stream is forgotten after ten minutes', () => {
  const { send, mapper, sink, at } = setUp();
  send(1, counter([{ at: 1, value: 5 }]));
  mapper.expire(at(100), sink);
  expect(mapper.streams).toBe(1);
  mapper.expire(at(700), sink);
  expect(mapper.streams).toBe(0);
});

test('a stream that is forgotten takes no memory, also while the decoder keeps its list of attributes', async () => {
  const { send, mapper, sink, at, out } = setUp();
  const points = Array.from({ length: 5_000 }, (_, i): PointOf => ({ at: 1, value: 1, labels: { i } }));
  const kept = counter(points);
  const before = await heapAfterGc();
  for (const seconds of [1, 2]) send(seconds, kept);
  out.length = 0;
  expect(((await heapAfterGc()) - before) / points.length).toBeGreaterThan(1_000);
  for (const seconds of [100, 700]) mapper.expire(at(seconds), sink);
  out.length = 0;
  expect(mapper.streams).toBe(0);
  expect(((await heapAfterGc()) - before) / points.length).toBeLessThan(300);
  expect(kept.resources).toHaveLength(1);
});

test('a histogram whose bounds change ends its old series and starts new ones', () => {
  const { send } = setUp();
  send(1, histogram({ at: 1, count: 1, sum: 1, bounds: [1], bucketCounts: [1, 0] }));
  const after = send(11, histogram({ at: 11, count: 2, sum: 2, bounds: [2], bucketCounts: [2, 0] }));
  expect(after).toContain('h_bucket{le=1} stale @10.999');
  expect(after).toContain('h_bucket{le=2} 2 @11');
  expect(after).toContain('h_count{} 2 @11');
});

test('names and labels follow the rules: prefix, escaping, precedence of the point, drops, reserved names', () => {
  const { mapper, send } = setUp();
  const labels = {
    'a.b': 'point',
    'k8s.pod.uid': 'x',
    le: '1',
    '0x': 'd',
    'server.address': 'h',
    'service.namespace': '',
  };
  const points = [numberPoint({ at: 1, value: 1, labels })];
  const metric: Metric = {
    name: 'obi.network.flow.bytes',
    description: '',
    unit: '',
    data: { kind: 'sum', temporality: 'cumulative', monotonic: true, points },
  };
  const resource = {
    'a.b': 'resource',
    'host.id': 'h',
    'telemetry.sdk.name': 't',
    'k8s.pod.name': 'p',
    'obi.version': 'v',
  };
  expect(send(1, request([metric], resource))).toEqual([
    'ebpf_network_flow_bytes{a_b=point,exported_le=1,key_0x=d} 1 @1',
  ]);
  expect(mapper.counts).toMatchObject({ l4: 1, http: 0 });
});

test.each([
  'target.info',
  'target_info',
  'traces.target.info',
  'traces_target_info',
  'traces.host.info',
  'traces_host_info',
])('the info metric %s is dropped', (name) => {
  const { send } = setUp();
  const points = [numberPoint({ at: 1, value: 1 })];
  expect(send(1, request([{ name, description: '', unit: '', data: { kind: 'gauge', points } }]))).toEqual([]);
});

test('values are cut to the maximum length, and values of keys that escape to the same label are joined', () => {
  const limits = { ...defaultPolicy('n1').limits, maxLabelValueLength: 4 };
  const { send } = setUp({ limits });
  const labels = { 'x.y': 'b', x_y: 'a', long: 'abcdef', wide: 'abc😀' };
  expect(send(1, counter([{ at: 1, value: 1, labels }]))).toEqual(['c{long=abcd,wide=abc,x_y=b;a} 1 @1']);
});

const rule = (change: Partial<CaptureMonitorRule>): CaptureMonitorRule => ({
  namespace: 'shop',
  name: 'm',
  uid: 'u',
  pods: ['p1'],
  ...change,
});
const pod = (name: string): Record<string, string> => ({ 'service.instance.id': `shop.${name}.` });

test('series of a pod count for the monitor that covers it, with the time at which the last sample arrived', () => {
  const { send, mapper } = setUp({ monitors: [rule({}), rule({ name: 'other', pods: ['p2'] })] });
  send(
    1,
    counter(
      [
        { at: 1, value: 1, labels: { r: '1' } },
        { at: 2, value: 1, labels: { r: '2' } },
      ],
      pod('p1'),
    ),
  );
  expect(mapper.limits.monitors.map((m) => [m.activeSeries, m.lastSampleAt])).toEqual([
    [2, 1_000],
    [0, null],
  ]);
});

test('after the clock of the node was set back, points that come behind their series’ newest count as arrived', () => {
  const { send, mapper, sink, at } = setUp({ monitors: [rule({})] });
  send(1, counter([{ at: 1, value: 1 }], pod('p1')));
  const behind = { wall: at(-590).wall, mono: 11_000 };
  mapper.add(counter([{ at: -590, start: -700, value: 2 }], pod('p1')), behind, sink);
  expect(mapper.limits.monitors).toMatchObject([{ lastSampleAt: 11_000 }]);
});

const routes = (n: number, at = 1): PointOf[] =>
  Array.from({ length: n }, (_, i) => ({ at, value: 1, labels: { route: `/r${i}` } }));

test('beyond a monitor’s limit, series are added up in an overflow series: the namespace’s sum stays complete', () => {
  const { send, mapper } = setUp({ monitors: [rule({ maxSeries: 2 })] });
  const sent = send(1, counter(routes(5), pod('p1')));
  expect(sent).toEqual([
    'c{k8s_namespace_name=shop,k8s_pod_name=p1,route=/r0} 1 @1',
    'c{k8s_namespace_name=shop,k8s_pod_name=p1,route=/r1} 1 @1',
    'c{k8s_namespace_name=shop,k8s_pod_name=__overflow__,route=__overflow__} 3 @1',
  ]);
  expect(mapper.limits.monitors[0]).toMatchObject({ activeSeries: 2, droppedSeries: 3 });
  expect(mapper.limitHits).toEqual({ node: 0, namespace: 0, monitor: 3 });
  expect(send(2, counter(routes(5, 2), pod('p1')))).toHaveLength(3);
});

test('beyond a limit with `onLimit: Drop`, further series are dropped, also in later requests', () => {
  const limits = { ...defaultPolicy('n1').limits, maxSeriesPerNamespace: 1, onLimit: 'Drop' as const };
  const { send, mapper } = setUp({ limits });
  expect(send(1, counter(routes(3), pod('p1')))).toHaveLength(1);
  expect(mapper.limitHits.namespace).toBe(2);
  expect(send(2, counter(routes(3, 2), pod('p1')))).toEqual([
    'c{k8s_namespace_name=shop,k8s_pod_name=p1,route=/r0} 1 @2',
  ]);
});

test('beyond the limit of the node, one overflow series adds up the series of all namespaces', () => {
  const limits = { ...defaultPolicy('n1').limits, maxSeriesPerNode: 2 };
  const { send } = setUp({ limits });
  expect(send(1, counter(routes(4), pod('p1'))).at(-1)).toBe(
    'c{k8s_namespace_name=__overflow__,k8s_pod_name=__overflow__,route=__overflow__} 2 @1',
  );
});

test('a config that drops a label merges series without a reset, and the old series end', () => {
  const { send, mapper, sink, out, at } = setUp({ monitors: [rule({})] });
  send(1, counter(routes(2), pod('p1')));
  out.length = 0;
  const policy = { ...defaultPolicy('n1'), monitors: [rule({ dropLabels: ['route'] })] };
  mapper.setPolicy(policy, at(5), sink);
  expect(out).toEqual([
    'c{k8s_namespace_name=shop,k8s_pod_name=p1,route=/r0} stale @5',
    'c{k8s_namespace_name=shop,k8s_pod_name=p1,route=/r1} stale @5',
  ]);
  const next = routes(2, 11).map((p) => ({ ...p, value: 4 }));
  expect(send(11, counter(next, pod('p1')))).toEqual(['c{k8s_namespace_name=shop,k8s_pod_name=p1} 8 @11']);
  expect(mapper.limits.monitors[0]!.activeSeries).toBe(1);
  mapper.setPolicy(policy, at(12), sink);
  expect(mapper.limits.monitors[0]!.activeSeries).toBe(1);
  expect(mapper.limits.nodeSeries).toBe(1);
});

test.each<[string, Partial<MappingPolicy>]>([
  [
    'a series that is new, from beyond a limit',
    {
      limits: { ...defaultPolicy('n1').limits, maxSeriesPerNamespace: 1, onLimit: 'Drop' },
      monitors: [rule({})],
    },
  ],
  [
    'a series of others, from an ignored path',
    { monitors: [rule({ dropLabels: ['path', 'url_path'], ignorePaths: ['/b'] })] },
  ],
])('a gauge that a config change brings to %s is in its sum', (_, before) => {
  const ofBoth = (at_: number): MetricsRequest => {
    const of = (path: string, value: number): NumberPoint =>
      numberPoint({ at: at_, value, labels: { 'url.path': path, path } });
    const points = [of('/a', 5), of('/b', 7)];
    return request([{ name: 'g', description: '', unit: '', data: { kind: 'gauge', points } }], pod('p1'));
  };
  const { send, mapper, sink, at } = setUp(before);
  expect(send(1, ofBoth(1))).toEqual([expect.stringContaining(' 5 @1')]);
  const policy = { ...defaultPolicy('n1'), ...before, monitors: [rule({ dropLabels: ['path', 'url_path'] })] };
  mapper.setPolicy(policy, at(5), sink);
  expect(send(11, ofBoth(11)).at(-1)).toBe('g{k8s_namespace_name=shop,k8s_pod_name=p1} 12 @11');
});

test('a config without changes for a stream keeps its series, its sum and its counts', () => {
  const { send, mapper, sink, out, at } = setUp({ monitors: [rule({})] });
  const report = (seconds: number): string[] => send(seconds, counter(routes(3, seconds), pod('p1'), 'delta'));
  report(1);
  out.length = 0;
  mapper.setPolicy({ ...defaultPolicy('n1'), monitors: [rule({ name: 'renamed' })] }, at(2), sink);
  expect(out).toEqual([]);
  expect(mapper.limits.monitors[0]).toMatchObject({ activeSeries: 3, droppedSeries: 0 });
  expect(mapper.table.size).toBe(3);
  expect(report(11)).toEqual([0, 1, 2].map((i) => `c{k8s_namespace_name=shop,k8s_pod_name=p1,route=/r${i}} 2 @11`));
});

test('a point is kept if some monitor of its pod takes the metric’s family and does not ignore the path', () => {
  const http: Metric = {
    name: 'http.server.x',
    description: '',
    unit: '',
    data: { kind: 'gauge', points: [numberPoint({ at: 1, value: 1, labels: { 'http.route': '/healthz' } })] },
  };
  const sentWith = (...monitors: CaptureMonitorRule[]): number =>
    setUp({ monitors }).send(1, request([http], pod('p1'))).length;
  expect(sentWith(rule({}))).toBe(1);
  expect(sentWith(rule({ families: ['RPC'] }))).toBe(0);
  expect(sentWith(rule({ families: ['RPC'] }), rule({ name: 'b', families: ['HTTPServer'] }))).toBe(1);
  expect(sentWith(rule({ ignorePaths: ['/health*'] }))).toBe(0);
  expect(sentWith(rule({ ignorePaths: ['*/users/*'] }))).toBe(1);
  const ignoring = (...paths: string[]): CaptureMonitorRule => rule({ name: paths.join(), ignorePaths: paths });
  expect(sentWith(ignoring('/health*'), ignoring('*/users/*'))).toBe(1);
  expect(sentWith(ignoring('/health*'), ignoring('*/users/*', '/healthz'))).toBe(0);
});

test('series that end no longer count against the limits', () => {
  const { send, mapper, sink, at } = setUp({ monitors: [rule({ maxSeries: 2 })] });
  send(1, counter(routes(4), pod('p1')));
  mapper.expire(at(100), sink);
  expect(mapper.limits.monitors[0]).toMatchObject({ activeSeries: 0, droppedSeries: 0 });
  expect(mapper.limits.nodeSeries).toBe(0);
  expect(mapper.table.size).toBe(0);
});

test('a metric name without series is forgotten, and listed again when it comes back', () => {
  const { send, mapper, sink, at } = setUp();
  send(1, counter([{ at: 1, value: 5 }]));
  mapper.expire(at(100), sink);
  expect(mapper.table.families.size).toBe(0);
  expect(send(101, counter([{ at: 101, value: 6 }]))).toEqual(['c{} 6 @101']);
  expect([...mapper.table.families.keys()]).toEqual(['c']);
});

test('points with equal attributes belong to the same stream, whatever the order and the list object', () => {
  const { send, mapper } = setUp();
  send(1, counter([{ at: 1, value: 5, labels: { a: '1', b: '2' } }]));
  expect(send(2, counter([{ at: 2, value: 6, labels: { b: '2', a: '1' } }]))).toEqual(['c{a=1,b=2} 6 @2']);
  expect(mapper.streams).toBe(1);
});

const victim = { 'service.instance.id': 'pay.db-0.' };
const small = { ...defaultPolicy('n1').limits, maxSeriesPerNode: 100, maxSeriesPerNamespace: 20 };

test('identity labels stay, whatever a rule or a redaction drops, and the limits still apply', () => {
  const names = ['k8s_namespace_name', 'k8s_pod_name', 'k8s_node_name'];
  const redactors = new Redactors([{ labels: names.map((name) => ({ name, action: 'Drop' as const })) }]);
  const { send, mapper } = setUp({ limits: small, redactors, monitors: [rule({ dropLabels: names })] });
  const sent = send(1, counter(routes(60), pod('p1')));
  expect(sent.filter((line) => !line.includes('k8s_namespace_name=shop'))).toEqual([]);
  expect(sent.filter((line) => line.includes('k8s_pod_name=p1,'))).toHaveLength(20);
  expect([sent.length, mapper.table.size, mapper.limitHits.namespace]).toEqual([21, 21, 40]);
});

test('streams beyond the limits of one namespace take no room from streams of another', () => {
  const { send, mapper } = setUp({ limits: small });
  for (let i = 1; i <= 50; i++) send(i, counter(routes(20 * i, i).slice(-20), pod('p1')));
  expect(mapper.streams).toBe(40);
  const sent = send(60, counter(routes(10, 60), victim));
  expect(sent.filter((line) => line.includes('k8s_namespace_name=pay,k8s_pod_name=db-0'))).toHaveLength(10);
  expect(mapper.limitHits.namespace).toBe(1_000 - 20);
});

test('a namespace gets its own series and streams on a node that others have filled, now and under a new config', () => {
  const identity = nodePods(...['noisy/a', 'loud/b', 'pay/db-0'].map((path) => aPod(path, { containers: [] })));
  const limits = { ...small, maxSeriesPerNode: 160, maxSeriesPerNamespace: 100 };
  const { send, mapper, sink, at } = setUp({ limits }, identity);
  for (let i = 1; i <= 40; i++) {
    for (const sender of ['noisy.a.', 'loud.b.']) {
      send(i, counter(routes(20 * i, i).slice(-20), { 'service.instance.id': sender }));
    }
  }
  expect(mapper.limitHits.node).toBeGreaterThan(0);
  expect(mapper.limits.nodeSeries).toBe(160);
  const victims = (): number =>
    [...mapper.table.families.get('c')!.groups.values()].filter(({ base }) =>
      base.some(([name, value]) => name === 'k8s_pod_name' && value === 'db-0'),
    ).length;
  send(60, counter(routes(12, 60), victim));
  expect([victims(), mapper.limits.nodeSeries]).toEqual([10, 170]);
  mapper.setPolicy({ ...defaultPolicy('n1'), limits }, at(61), sink);
  expect(victims()).toBe(10);
});

test('flows that others open to a pod leave half of its namespace’s series to the metrics of the pod itself', () => {
  const identity = nodePods(aPod('pay/db-0', { ip: '10.0.0.9', containers: [] }));
  const { send, mapper } = setUp({ limits: small }, identity);
  const scan = Array.from({ length: 60 }, (_, i) =>
    numberPoint({
      at: 1,
      value: 1,
      labels: { 'dst.address': '10.0.0.9', 'dst.port': i + 1, 'src.address': '9.9.9.9', direction: 'request' },
    }),
  );
  const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points: scan } as const;
  send(1, request([{ name: 'obi.network.flow.bytes', description: '', unit: '', data }]));
  expect([mapper.limits.nodeSeries, mapper.limitHits.namespace]).toEqual([10, 50]);
  const sent = send(2, counter(routes(12, 2), victim));
  expect(sent.filter((line) => line.includes('k8s_namespace_name=pay,k8s_pod_name=db-0'))).toHaveLength(10);
});

test('overflow series are limited for each namespace, so that one namespace leaves room for another', () => {
  const limits = { ...small, maxSeriesPerNode: 20_000, maxSeriesPerNamespace: 2_000 };
  const { send } = setUp({ limits });
  const kinds = (n: number, at: number): PointOf[] =>
    Array.from({ length: n }, (_, i) => ({ at, value: 1, labels: { [`name${i}`]: 'x' } }));
  const folded = (sent: readonly string[]): number => sent.filter((line) => line.includes('__overflow__')).length;
  expect(folded(send(1, counter(kinds(4_000, 1), pod('p1'))))).toBe(500);
  expect(folded(send(2, counter(kinds(2_010, 2), victim)))).toBe(10);
});

test('client series keep the names of up to a hundred servers; a pod of this node is named by its workload', () => {
  const identity = nodePods(
    aPod('shop/p1', { containers: [] }),
    aPod('pay/api-0', { containers: [] }),
    aPod('pay/db-0', { ip: '10.0.0.9', owner: ['StatefulSet', 'db'] }),
  );
  const mapper = new SeriesMapper(defaultPolicy('n1'), identity);
  const seen: string[] = [];
  const sink: SampleSink = {
    append: ({ labels }) => void seen.push(Object.fromEntries(labels)['server_address'] ?? '-'),
    stale: () => {},
    start: () => {},
    stored: () => NaN,
  };
  const send = (at: number, name: string, servers: readonly string[], sender = pod('p1')): string[] => {
    seen.length = 0;
    const points = servers.map((server) => numberPoint({ at, value: 1, labels: { 'server.address': server } }));
    const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points } as const;
    const now = { wall: t0 + at * 1_000, mono: at * 1_000 };
    mapper.add(request([{ name, description: '', unit: '', data }], sender), now, sink);
    mapper.flush(sink);
    return [...seen];
  };
  expect(send(1, 'http.client.x', ['api.shop.svc', '10.0.0.9', '10.7.7.7'])).toEqual([
    'api.shop.svc',
    'db.pay',
    '10.7.7.7',
  ]);
  expect(send(1, 'http.client.x', ['10.0.0.9'], { 'service.instance.id': 'pay.api-0.a' })).toEqual(['db']);
  expect(send(1, 'http.server.x', ['shop.example'])).toEqual(['-']);
  const many = send(
    2,
    'rpc.client.x',
    Array.from({ length: 150 }, (_, i) => `s${i}`),
  );
  expect([new Set(many).size, many.filter((name) => name === '__overflow__').length]).toEqual([98, 1]);
  mapper.expire({ wall: t0 + 100_000, mono: 100_000 }, sink);
  mapper.expire({ wall: t0 + 900_000, mono: 900_000 }, sink);
  expect(send(901, 'rpc.client.x', ['late'])).toEqual(['late']);
});

test('a quantile that a summary has twice is one series', () => {
  const { send, mapper } = setUp();
  const quantiles = [0.5, 0.9, 0.5].map((quantile, i) => ({ quantile, value: i + 1 }));
  const point = { ...numberPoint({ at: 10, value: 0 }), quantiles, count: 7, sum: 9 };
  const data: Metric['data'] = { kind: 'summary', points: [point] };
  const metric: Metric = { name: 'app.seconds', description: '', unit: 's', data };
  const scopes = [{ scope: { name: 'app', version: '' }, metrics: [metric] }];
  const names = send(10, { resources: [{ attributes: [], scopes }] }).map((line) => line.split(' ')[0]!);
  expect(new Set(names).size).toBe(4);
  expect(names).toHaveLength(4);
  expect(mapper.table.size).toBe(4);
});

test('the attributes of a Resource are redacted once for all its streams, and again under another policy', () => {
  const redact = jest.spyOn(Redactor.prototype, 'attribute');
  const json = jest.spyOn(JSON, 'stringify');
  const calls = (): number[] => [redact, json].map(({ mock }) => mock.calls.filter(([a]) => isOfResource(a)).length);
  const isOfResource = (a: unknown): boolean => a === 'url.full' || (Array.isArray(a) && a[0] === 'of the resource');
  const list = { key: 'server.port', value: ['of the resource', 1] };
  const policy = (action: 'Hash' | 'Truncate'): MappingPolicy => ({
    ...defaultPolicy('n1'),
    redactors: new Redactors([{ labels: [{ name: 'url_full', action }] }]),
  });
  const { mapper, send, sink, at } = setUp(policy('Truncate'));
  try {
    const points = Array.from({ length: 50 }, (_, i) => ({ at: 1, value: i, labels: { i } }));
    const all = counter(points, { 'url.full': 'http://h/a?token=b' });
    const [resource] = all.resources;
    const given = { resources: [{ ...resource!, attributes: [...resource!.attributes, list] }] };
    expect(send(1, given)[49]).toContain('url_full=http://h/a?token');
    expect(calls()).toEqual([1, 1]);
    mapper.setPolicy(policy('Hash'), at(2), sink);
    expect(calls()).toEqual([2, 1]);
    expect(send(3, counter([{ at: 3, value: 9, labels: { i: 1 } }], { 'url.full': 'x' }))[0]).toMatch(
      /url_full=\w{16}/,
    );
  } finally {
    redact.mockRestore();
    json.mockRestore();
  }
});

test('long descriptions and units of metrics are cut', () => {
  const { mapper, send } = setUp();
  const data = { kind: 'gauge', points: [numberPoint({ at: 1, value: 1 })] } as const;
  send(1, request([{ name: 'g', description: 'd'.repeat(5_000), unit: 'u'.repeat(5_000), data }]));
  const { help, unit } = mapper.table.families.get('g')!;
  expect([help.length, unit.length]).toEqual([1_024, 64]);
});

test('streams with long attributes leave room for others, and take bounded memory', async () => {
  const { mapper, send } = setUp();
  const long = (end: number): string => Buffer.concat([Buffer.alloc(1e6, 'x'), Buffer.from(`${end}`)]).toString();
  const shop = { 'service.instance.id': 'shop.p1.', 'k8s.pod.uid': 'u' };
  const before = await heapAfterGc();
  for (let i = 0; i < 60; i++) send(1, counter([{ at: 1, value: 1, labels: { i } }], { ...shop, long: long(i) }));
  expect((await heapAfterGc()) - before).toBeLessThan(45e6);
  expect(mapper.streams + mapper.counts.refused).toBe(60);
  expect(send(1, counter([{ at: 1, value: 7 }], { 'service.instance.id': 'pay.db-0.' }))).toHaveLength(1);
});
