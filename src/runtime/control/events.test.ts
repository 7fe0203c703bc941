import type { KubeObject } from '../../api/meta.ts';
import { silentLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { FakeApiServer, StatusError } from '../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { QueuedEventRecorder } from './events.ts';
import { RuntimeMetrics } from '../metrics.ts';

const regarding: KubeObject = {
  apiVersion: 'svc.dev/v1alpha1',
  kind: 'TrafficMonitor',
  metadata: { name: 'checkout', namespace: 'shop', uid: 'u-1', resourceVersion: '7' },
};

let server: FakeApiServer;
let clock: FakeClock;
let recorder: QueuedEventRecorder;
let metrics: RuntimeMetrics;
let running: Promise<void>;
const stop = { controller: new AbortController() };

beforeEach(async () => {
  server = await FakeApiServer.start();
  clock = new FakeClock();
  metrics = new RuntimeMetrics();
  stop.controller = new AbortController();
  const client = server.client(clock);
  recorder = new QueuedEventRecorder({
    client,
    clock,
    logger: silentLogger,
    component: 'svc-controller',
    instance: 'pod-0',
    metrics,
    capacity: 20,
  });
});
afterEach(async () => {
  stop.controller.abort();
  await running;
  await server.stop();
});
const start = (): void => void (running = recorder.run(stop.controller.signal));
const written = (): KubeObject[] => server.storage.list(coreResources.events);

test('writes what kubectl describe shows, with six-digit times', async () => {
  start();
  recorder.record(regarding, { type: 'Warning', reason: 'SecretNotFound', message: 'no Secret' });
  await until('the event', () => written().length === 1);
  expect(written()[0]).toMatchObject({
    metadata: { namespace: 'shop' },
    reason: 'SecretNotFound',
    note: 'no Secret',
    type: 'Warning',
    action: 'Reconcile',
    reportingController: 'svc-controller',
    reportingInstance: 'pod-0',
    regarding: { kind: 'TrafficMonitor', name: 'checkout', namespace: 'shop', uid: 'u-1' },
    eventTime: expect.stringMatching(/\.\d{6}Z$/) as unknown,
  });
});

test('repetitions become one event with a count, until that event is old', async () => {
  start();
  const same = { type: 'Normal', reason: 'Applied', message: 'ok' } as const;
  for (let i = 0; i < 5; i++) recorder.record(regarding, same);
  recorder.record(regarding, { ...same, message: 'other' });
  await until('the events', () => written().length === 2 && server.seen({ verb: 'patch' }).length === 4);
  expect(written().find((e) => e['note'] === 'ok')).toMatchObject({ series: { count: 5 } });
  await clock.advance(7 * 60_000);
  recorder.record(regarding, same);
  await until('a new event', () => written().length === 3);
});

test('a cluster-scoped object’s events are in the default namespace', async () => {
  start();
  recorder.record(
    { ...regarding, metadata: { name: 'default', uid: 'u-2' } },
    { type: 'Normal', reason: 'X', message: '' },
  );
  await until('the event', () => written().length === 1);
  expect(written()[0]?.metadata.namespace).toBe('default');
});

test('never blocks, but drops and counts events that do not fit into the queue', async () => {
  for (let i = 0; i < 25; i++) recorder.record(regarding, { type: 'Normal', reason: 'X', message: `m${i}` });
  expect(await metrics.registry.getSingleMetricAsString('operator_events_dropped_total')).toMatch(/ 5$/m);
  start();
  await until('the rest', () => written().length === 20);
});

test('an event that the API server refuses is counted as dropped, and the next one is written', async () => {
  server.script({ verb: 'create', plural: 'events' }, { do: 'fail', error: new StatusError(403, 'Forbidden', 'no') });
  start();
  recorder.record(regarding, { type: 'Normal', reason: 'A', message: '' });
  recorder.record(regarding, { type: 'Normal', reason: 'B', message: '' });
  await until('the refusal', () => server.seen({ verb: 'create' }).length === 1 && clock.pending > 0);
  await clock.advance(200);
  await until('the next', () => written().length === 1);
  expect(written()[0]).toMatchObject({ reason: 'B' });
  expect(await metrics.registry.getSingleMetricAsString('operator_events_dropped_total')).toMatch(/ 1$/m);
});

test.each([
  ['Cyrillic', 'x' + 'я'.repeat(600), 'x' + 'я'.repeat(511)],
  ['emoji', '😀'.repeat(300), '😀'.repeat(256)],
  ['half an emoji', 'a'.repeat(1_022) + '\ud83d!', 'a'.repeat(1_022)],
  ['ASCII', 'a'.repeat(1_025), 'a'.repeat(1_024)],
])(
  'a message of %s is cut to 1,024 bytes of whole characters, the limit of the API server',
  async (_, message, note) => {
    start();
    recorder.record(regarding, { type: 'Normal', reason: 'X', message });
    await until('the event', () => written().length === 1);
    expect(written()[0]).toMatchObject({ note });
  },
);

test.each([
  ['a colon', 'system:shop'],
  ['a dash at the cut', `${'a'.repeat(199)}-b`],
  ['a dot at the cut', `${'a'.repeat(199)}.b`],
  ['capitals and a dot at the end', 'Shop.'],
  ['253 characters', 'a'.repeat(253)],
])('the Event of an object whose name has %s gets a name that the API server accepts', async (_, name) => {
  start();
  recorder.record({ ...regarding, metadata: { name } }, { type: 'Normal', reason: 'X', message: '' });
  await until('the event', () => written().length === 1);
  const [event] = written();
  expect(event).toMatchObject({ regarding: { name } });
  expect(event!.metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/);
  expect(event!.metadata.name!.length).toBeLessThanOrEqual(253);
});
