import { createLogger } from '../../base/logger.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { labelsKey, type Labels } from '../../tsdb/index.ts';
import { SeriesMapper } from '../mapping/mapper.ts';
import { defaultPolicy } from '../mapping/policy.ts';
import type { MetricsRequest } from '../otlp/model.ts';
import { createSelfMetrics, showConfig, type SelfMetrics } from '../self-metrics.ts';
import { Ingest, type IngestStore } from './ingest.ts';

interface World {
  ingest: Ingest;
  clock: FakeClock;
  samples: { labels: Labels; tMs: number; value: number }[];
  commits: number;
  metric: (name: string) => Promise<Record<string, number>>;
  log: string[];
  store: { -readonly [K in keyof IngestStore]: IngestStore[K] };
}

function setUp(budgetBytes?: number, refreshSelf?: (metrics: SelfMetrics) => void): World {
  const clock = new FakeClock();
  const metrics = createSelfMetrics({ node: 'n1', version: '1' });
  const log: string[] = [];
  const samples: World['samples'] = [];
  const world = { clock, samples, log, commits: 0 } as unknown as World;
  world.store = {
    append: ({ labels }, tMs, value) => (samples.push({ labels, tMs, value }), 'appended'),
    appendStale: () => 'appended',
    appendStart: () => false,
    newestValue: () => NaN,
    commit: () => Promise.resolve(void world.commits++),
  };
  world.ingest = new Ingest({
    mapper: new SeriesMapper(defaultPolicy('n1')),
    store: world.store,
    metrics,
    clock,
    logger: createLogger({ write: (line) => void log.push(line) }),
    spans: { take: () => 2, expire: () => {} },
    ...(budgetBytes === undefined ? {} : { budgetBytes }),
    ...(refreshSelf ? { refreshSelf: () => refreshSelf(metrics) } : {}),
  });
  world.metric = async (name) => {
    const { values } = await metrics.registry.getSingleMetric(name)!.get();
    return Object.fromEntries(values.map((v) => [Object.values(v.labels).join('/'), v.value]));
  };
  return world;
}

const gauge = (clock: FakeClock, value = 1, name = 'http.x'): MetricsRequest => {
  const times = { startNs: 0, timeNs: clock.now() * 1e6, noValue: false };
  const points = [{ ...times, attributes: [], value, exemplars: [] }];
  const metric = { name, description: '', unit: '', data: { kind: 'gauge', points } } as const;
  return { resources: [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics: [metric] }] }] };
};

const captured = (world: World): unknown[] =>
  world.samples.filter((s) => !labelsKey(s.labels).includes('svc_')).map((s) => [s.tMs, s.value]);

test('requests that come close together are stored in one commit', async () => {
  const world = setUp();
  world.ingest.start();
  expect(world.ingest.metrics(gauge(world.clock), 10)).toMatchObject({ rejected: 0 });
  await world.clock.advance(20);
  world.ingest.metrics(gauge(world.clock, 2), 10);
  expect(world.commits).toBe(0);
  const at = world.clock.now();
  await world.clock.advance(30);
  expect(captured(world)).toEqual([
    [at - 20, 1],
    [at, 2],
  ]);
  expect(world.commits).toBe(1);
});

/** Whether a promise has settled, after everything that is ready has run. */
const isSettled = async (promise: Promise<void> | undefined): Promise<boolean> => {
  let settled = false;
  void promise?.then(() => (settled = true));
  await settle();
  return settled;
};

test('a request settles when its samples are durable, not before', async () => {
  const world = setUp();
  const disk = Promise.withResolvers<void>();
  world.store.commit = () => disk.promise;
  world.ingest.start();
  const { settled } = world.ingest.metrics(gauge(world.clock), 10);
  await world.clock.advance(100);
  expect(captured(world)).toHaveLength(1);
  expect(await isSettled(settled)).toBe(false);
  disk.resolve();
  expect(await isSettled(settled)).toBe(true);
});

test('a disk that stalls holds a sender for a quarter of a second and no longer', async () => {
  const world = setUp();
  world.store.commit = () => new Promise(() => {});
  world.ingest.start();
  const { settled } = world.ingest.metrics(gauge(world.clock), 10);
  await world.clock.advance(249);
  expect(await isSettled(settled)).toBe(false);
  await world.clock.advance(1);
  expect(await isSettled(settled)).toBe(true);
});

test('after a disk that stalled during several commits, one timer goes on, and none once ingest is closed', async () => {
  const world = setUp();
  const disk = Promise.withResolvers<void>();
  world.store.commit = () => (world.commits++, disk.promise);
  world.ingest.start();
  for (let i = 0; i < 5; i++) {
    world.ingest.metrics(gauge(world.clock), 1);
    await world.clock.advance(60);
  }
  expect(world.commits).toBe(5);
  disk.resolve();
  await world.clock.advance(250);
  expect(world.clock.pending).toBe(1);
  await world.clock.advance(1_000);
  expect([world.commits, world.clock.pending]).toEqual([6, 1]);
  await world.ingest.close();
  expect(world.clock.pending).toBe(0);
});

test('points over the memory budget are refused with a partial success and counted; later ones are taken', async () => {
  const world = setUp(15);
  world.ingest.start();
  expect(world.ingest.metrics(gauge(world.clock), 10).rejected).toBe(0);
  expect(world.ingest.metrics(gauge(world.clock), 10)).toEqual({
    rejected: 1,
    reason: 'the agent is over its memory budget',
  });
  expect(await world.metric('svc_otlp_rejected_total')).toEqual({ over_budget: 1 });
  await world.clock.advance(1_000);
  expect(world.ingest.metrics(gauge(world.clock), 10).rejected).toBe(0);
});

test('attributes that decoders left out are counted', async () => {
  const world = setUp();
  world.ingest.metrics({ ...gauge(world.clock), skippedAttributes: 2 }, 10);
  world.ingest.traces({ resources: [], skippedAttributes: 3 });
  expect(await world.metric('svc_otlp_skipped_attributes_total')).toEqual({ '': 5 });
});

test('the agent’s health metrics are stored every ten seconds, so that queries can add up all nodes', async () => {
  const world = setUp();
  world.ingest.start();
  await world.clock.advance(25_000);
  const up = world.samples.filter((s) => labelsKey(s.labels).includes('svc_agent_up'));
  expect(up.map((s) => s.value)).toEqual([1, 1, 1]);
  expect(Object.fromEntries(up[0]!.labels)).toEqual({ __name__: 'svc_agent_up', k8s_node_name: 'n1', version: '1' });
  expect(new Set(up.map((s) => s.labels)).size).toBe(1);
  expect(world.samples.some((s) => labelsKey(s.labels).includes('svc_capture_events_total'))).toBe(true);
});

test('a series of the agent’s own metrics that another one replaces ends with a stale marker', async () => {
  const hashOf = (labels: Labels): string[] => labels.flatMap(([name, value]) => (name === 'hash' ? [value] : []));
  const ended: string[] = [];
  let hash = 'a';
  const world = setUp(undefined, (metrics) => showConfig(metrics, { node: 'n1', hash, phase: 'Running' }));
  world.store.appendStale = ({ labels }) => (ended.push(...hashOf(labels)), 'appended');
  world.ingest.start();
  await world.clock.advance(10_000);
  hash = 'b';
  await world.clock.advance(20_000);
  expect(world.samples.flatMap(({ labels }) => hashOf(labels))).toEqual(['a', 'b', 'b']);
  expect(ended).toEqual(['a']);
});

test('counts capture events by module', async () => {
  const world = setUp();
  world.ingest.metrics(gauge(world.clock), 1);
  world.ingest.metrics(gauge(world.clock, 1, 'obi.network.flow.bytes'), 1);
  world.ingest.traces({ resources: [] });
  await world.ingest.process();
  expect(await world.metric('svc_capture_events_total')).toEqual({
    'metric/l4_tcp': 1,
    'metric/http1': 1,
    'span/http1': 2,
  });
});

test('a store that cannot write is logged once, and once more when it can again', async () => {
  const world = setUp();
  world.store.commit = () => Promise.reject(new Error('no space left on device'));
  await world.ingest.process();
  await world.ingest.process();
  expect(world.log).toHaveLength(1);
  expect(world.log[0]).toContain('no space left on device');
  expect(await world.metric('svc_tsdb_write_error')).toEqual({ '': 1 });
  world.store.commit = () => Promise.resolve();
  await world.ingest.process();
  expect(world.log).toHaveLength(2);
});

test('a fault of the agent’s own metrics is logged, and neither ends the process nor keeps samples from the disk', async () => {
  const world = setUp(undefined, () => {
    throw new Error('no such metric');
  });
  world.ingest.start();
  const { settled } = world.ingest.metrics(gauge(world.clock), 1);
  await world.clock.advance(60_000);
  expect(await isSettled(settled)).toBe(true);
  expect([captured(world).length, world.commits > 10]).toEqual([1, true]);
  expect(world.log.filter((line) => line.includes('no such metric')).length).toBeGreaterThan(0);
});

test('samples that the store refuses are counted; duplicates are not', async () => {
  const world = setUp();
  const results = ['full', 'duplicate', 'late'] as const;
  let n = 0;
  world.store.append = () => results[n++] ?? 'appended';
  for (const name of ['a', 'b', 'c']) world.ingest.metrics(gauge(world.clock, 1, name), 1);
  await world.ingest.process();
  expect(await world.metric('svc_otlp_rejected_total')).toEqual({ store: 2 });
});

test('closing stores the waiting requests and accepts no more', async () => {
  const world = setUp();
  world.ingest.start();
  world.ingest.metrics(gauge(world.clock), 1);
  await world.ingest.close();
  expect(captured(world)).toHaveLength(1);
  expect(world.ingest.metrics(gauge(world.clock), 1).rejected).toBe(1);
  expect(world.clock.pending).toBe(0);
});

test('on a full disk, answers report refused points and series stay active; with room, points are stored', async () => {
  const world = setUp();
  const room = world.store.append;
  world.store.append = () => 'full';
  world.ingest.metrics(gauge(world.clock), 10);
  await world.ingest.process();
  expect(world.ingest.metrics(gauge(world.clock), 10)).toMatchObject({
    rejected: 1,
    reason: expect.stringMatching(/full/),
  });
  await world.ingest.process();
  expect(await world.metric('svc_series_active')).toEqual({ '': 1 });
  expect((await world.metric('svc_otlp_rejected_total'))['store']).toBeGreaterThan(0);
  world.store.append = room;
  await world.clock.advance(1_000);
  world.ingest.metrics(gauge(world.clock, 2), 10);
  await world.ingest.process();
  expect(world.ingest.metrics(gauge(world.clock, 3), 10)).toMatchObject({ rejected: 0 });
});

test('a clock that was set is logged once', async () => {
  const world = setUp();
  await world.ingest.process();
  world.clock.jumpWall(-3_600_000);
  await world.ingest.process();
  await world.ingest.process();
  expect(world.log.filter((line) => line.includes('the clock was set'))).toHaveLength(1);
});
