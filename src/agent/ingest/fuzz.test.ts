import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { builtinLimits } from '../../capture/index.ts';
import { isOperatorError } from '../../base/errors.ts';
import { silentLogger } from '../../base/logger.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { encodeMetricsRequest } from '../../testing/otlp-encode.ts';
import { openStore, type Store } from '../../tsdb/index.ts';
import { Identity } from '../identity/identity.ts';
import { SeriesMapper } from '../mapping/mapper.ts';
import { defaultPolicy } from '../mapping/policy.ts';
import { decodeMetricsJson } from '../otlp/json/metrics.ts';
import type { Attribute, Metric, MetricsRequest } from '../otlp/model.ts';
import { AttributeCache } from '../otlp/protobuf/attribute-cache.ts';
import { decodeMetricsRequest, decodeTracesRequest } from '../otlp/protobuf/decode.ts';
import { createSelfMetrics } from '../self-metrics.ts';
import { SpanPipeline } from '../spans/span-pipeline.ts';
import { StreamRing } from '../spans/stream-ring.ts';
import { Ingest } from './ingest.ts';

/** The time of the test: just after the recorded payloads were sent. Units: ms. */
const recorded = 1_795_258_170_000;
const payloads = join(import.meta.dirname, '../testdata/otlp');
const bodies = readdirSync(payloads)
  .filter((name) => name.endsWith('.bin'))
  .map((name) => ({ name, isTraces: name.includes('traces'), body: plain(readFileSync(join(payloads, name))) }));

/** The body, decompressed where it is gzip. */
function plain(body: Buffer): Buffer {
  return body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body) : body;
}

let dir: string;
let store: Store;
let clock: FakeClock;
let ingest: Ingest;
const cache = new AttributeCache();

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'fuzz-'));
  clock = new FakeClock(recorded);
  store = await openStore({ dir, clock, logger: silentLogger });
  const ring = new StreamRing({ maxBytes: 1e7, maxAgeMs: 60_000 });
  const limits = { ...builtinLimits, maxSeriesPerNamespace: 500 };
  const mapper = new SeriesMapper({ ...defaultPolicy('n'), limits });
  ingest = new Ingest({
    mapper,
    store,
    metrics: createSelfMetrics({ node: 'n', version: '1' }),
    clock,
    logger: silentLogger,
    spans: new SpanPipeline({ ring, clock, identity: new Identity() }),
  });
});

afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** Hands a body to the agent as the OTLP receivers do. Returns `refused` where a receiver answers 400. */
function take(body: Uint8Array, isTraces = false): 'refused' | { rejected: number } {
  try {
    if (isTraces) return ingest.traces(decodeTracesRequest(body));
    return ingest.metrics(decodeMetricsRequest(body, cache), body.length);
  } catch (error) {
    if (isOperatorError(error, 'ERR_INPUT_INVALID')) return 'refused';
    throw error;
  }
}

/** A small generator with a seed, so that a failure can be reproduced. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Every series of the store with its samples, as text. */
function contents(of: Store): string[] {
  const out: string[] = [];
  for (const series of of.select([], 0, Number.MAX_SAFE_INTEGER)) {
    const { labels } = series;
    const held = series.chunks();
    for (let i = 1; i < labels.length; i++) expect(labels[i - 1]![0] < labels[i]![0]).toBe(true);
    out.push(`${JSON.stringify(labels)} ${held.map((c) => Buffer.from(c.bytes).toString('hex')).join()}`);
  }
  return out;
}

test.each(bodies)(
  'bit flips and truncations of $name are taken or refused, and what is stored reads back',
  async ({ body, isTraces }) => {
    const next = random(body.length);
    for (let i = 0; i < 25; i++) {
      const broken = Buffer.from(body);
      for (let flips = 1 + next(4); flips > 0; flips--) broken[next(broken.length)]! ^= 1 << next(8);
      take(broken, isTraces);
      take(body.subarray(0, next(body.length)), isTraces);
    }
    expect(take(body, isTraces)).toMatchObject({ rejected: 0 });
    await ingest.process();
    const before = contents(store);
    if (!isTraces) expect(before.length).toBeGreaterThan(0);
    await store.close();
    store = await openStore({ dir, clock, logger: silentLogger });
    expect(contents(store)).toEqual(before);
  },
);

const attributes = (labels: Record<string, string>): Attribute[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value }));

function aRequest(change: {
  attributes?: readonly Attribute[];
  name?: string;
  value?: number;
  timeNs?: number;
}): MetricsRequest {
  const { attributes: own = [], name = 'http.x', value = 1, timeNs = recorded * 1e6 } = change;
  const points = [{ attributes: own, startNs: 0, timeNs, noValue: false, value, exemplars: [] }];
  const metric: Metric = {
    name,
    description: '',
    unit: '',
    data: { kind: 'sum', temporality: 'cumulative', monotonic: true, points },
  };
  return { resources: [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics: [metric] }] }] };
}

test('a hundred thousand labels on one point, and a name of a megabyte, are refused', () => {
  const many = Array.from({ length: 100_000 }, (_, i) => ({ key: `k${i}`, value: 'v' }));
  expect(take(encodeMetricsRequest(aRequest({ attributes: many })))).toBe('refused');
  expect(take(encodeMetricsRequest(aRequest({ name: 'n'.repeat(1_000_000) })))).toBe('refused');
  expect(take(encodeMetricsRequest(aRequest({ attributes: [{ key: 'k'.repeat(1_000_000), value: 'v' }] })))).toBe(
    'refused',
  );
});

test('a value of a megabyte is cut to the maximum length of a label value', async () => {
  expect(
    take(encodeMetricsRequest(aRequest({ attributes: attributes({ big: 'x'.repeat(1_000_000) }) }))),
  ).toMatchObject({ rejected: 0 });
  await ingest.process();
  const labels = [...store.select([], 0, Number.MAX_SAFE_INTEGER)].map((s) => Object.fromEntries(s.labels));
  expect(labels.find((l) => l['__name__'] === 'http_x')!['big']).toHaveLength(256);
});

test.each<[string, Parameters<typeof aRequest>[0]]>([
  ['not a number', { value: NaN }],
  ['infinite', { value: Infinity }],
  ['negative', { value: -5 }],
  ['dated 1970', { timeNs: 1e9 }],
  ['dated 2200', { timeNs: 7.258e18 }],
])('a counter that is %s is left out with a partial success, and the next one is taken', async (_what, change) => {
  expect(take(encodeMetricsRequest(aRequest(change)))).toMatchObject({ rejected: 1 });
  expect(take(encodeMetricsRequest(aRequest({})))).toMatchObject({ rejected: 0 });
  await ingest.process();
  expect(store.stats()).toMatchObject({ newestMs: recorded });
});

test.each([
  ['a negative count', { count: '-5', bucketCounts: ['1', '2'], explicitBounds: [1] }],
  ['a negative bucket', { count: '5', bucketCounts: ['-1', '2'], explicitBounds: [1] }],
  ['a count that is a word', { count: 'many', bucketCounts: ['1', '2'], explicitBounds: [1] }],
  ['bounds that do not fit the buckets', { count: '5', bucketCounts: ['1'], explicitBounds: [1, 2] }],
])('a JSON histogram with %s is refused or left out', (_what, point) => {
  const dataPoints = [{ ...point, timeUnixNano: String(recorded * 1e6) }];
  const metrics = [{ name: 'h', histogram: { aggregationTemporality: 2, dataPoints } }];
  const body = Buffer.from(JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }));
  let outcome: unknown;
  try {
    outcome = ingest.metrics(decodeMetricsJson(body), body.length).rejected;
  } catch (error) {
    outcome = isOperatorError(error, 'ERR_INPUT_INVALID') ? 1 : error;
  }
  expect(outcome).toBe(1);
});

test('requests with far more series than the limits end in overflow series', async () => {
  for (let request = 0; request < 5; request++) {
    const points = Array.from({ length: 1_000 }, (_, i) => ({
      attributes: attributes({ id: `${request}-${i}`, 'k8s.namespace.name': 'shop' }),
      startNs: 0,
      timeNs: recorded * 1e6,
      noValue: false,
      value: 1,
      exemplars: [],
    }));
    const metric: Metric = {
      name: 'a.b',
      description: '',
      unit: '',
      data: { kind: 'sum', temporality: 'cumulative', monotonic: true, points },
    };
    take(
      encodeMetricsRequest({
        resources: [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics: [metric] }] }],
      }),
    );
  }
  await ingest.process();
  // The limit of 500 series, and on top the series of the agent about itself.
  expect(store.stats().series).toBeLessThan(525);
  const values = await store.labelValues('id', [], 0, Number.MAX_SAFE_INTEGER);
  expect(values).toContain('__overflow__');
});
