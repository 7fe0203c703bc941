import type { KubeObject } from '../../api/meta.ts';
import { sleep } from '../../base/clock.ts';
import { createLogger } from '../../base/logger.ts';
import { ApiError, coreResources, type TypedObject } from '../../kube/index.ts';
import { noFaults, runController, type ControllerHarness } from '../../testing/run-controller.ts';
import {
  handleFinalizer,
  RequeueError,
  runCleanups,
  TerminalError,
  toKey,
  type ControllerSpec,
  type ReconcileContext,
  type ReconcileResult,
} from '../index.ts';

const { configMaps, secrets } = coreResources;
const source = { resource: configMaps };
const configMap = (name: string, data: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop' },
  data,
});

let harness: ControllerHarness | undefined;
const lines: Record<string, unknown>[] = [];
const logger = createLogger({ level: 'debug', write: (line) => void lines.push(JSON.parse(line) as never) });

beforeEach(() => {
  lines.length = 0;
});
afterEach(async () => {
  await harness?.stop();
  harness = undefined;
});

async function run(
  reconcile: (context: ReconcileContext) => Promise<ReconcileResult>,
  over: Partial<ControllerSpec> = {},
  names: string[] = ['a'],
): Promise<ControllerHarness> {
  harness = await runController(
    (env) => env.addController({ name: 'test', for: { source }, reconcile, ...over }),
    names.map((name) => configMap(name)),
    noFaults,
    { logger },
  );
  return harness;
}
async function metric(name: string): Promise<number> {
  const text = await harness!.manager.metricsText();
  const line = text.split('\n').find((l) => l.startsWith(name));
  return Number(line?.split(' ').at(-1));
}

/** The end of a reconcile of a deleted object whose clean-ups fail. */
async function cleanUp(...errors: Error[]): Promise<undefined> {
  const finalizer = 'svc.dev/clean-up';
  const { metadata, ...object } = configMap('a');
  const deleted = { ...object, metadata: { ...metadata, finalizers: [finalizer], deletionTimestamp: 'now' } };
  const options = { client: harness!.manager.client, resource: configMaps, finalizer, fieldManager: 'test' };
  await handleFinalizer(deleted, options, () =>
    runCleanups(Object.fromEntries(errors.map((error, i) => [`part ${i}`, () => Promise.reject(error)]))),
  );
}

test('reconciles the objects that exist at the start and those that appear later', async () => {
  const seen: string[] = [];
  const { server, passUntil } = await run(({ key }) => Promise.resolve(void seen.push(key.name)));
  await passUntil(() => seen.length === 1, 'the first');
  server.put(configMaps, configMap('b'));
  await passUntil(() => seen.length === 2, 'the second');
  expect(seen).toEqual(['a', 'b']);
});

test('a thousand updates to a key during its run lead to exactly one more run', async () => {
  let runs = 0;
  let release: () => void = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const { server, passUntil, idle, manager } = await run(async () => {
    if (++runs === 1) await gate;
  });
  await passUntil(() => runs === 1, 'the first run');
  for (let i = 0; i < 1000; i++) server.put(configMaps, configMap('a', { i: String(i) }));
  const last = server.storage.get(configMaps, 'shop', 'a').metadata.resourceVersion;
  const informer = manager.cache.informer(source);
  await passUntil(
    () => informer.get({ namespace: 'shop', name: 'a' })?.metadata.resourceVersion === last,
    'the last update',
  );
  release();
  await idle();
  expect(runs).toBe(2);
});

test('logs, counts and retries a handler that throws, with backoff', async () => {
  const times: number[] = [];
  const { passUntil } = await run(({ clock }) => {
    times.push(clock.monotonic());
    return times.length < 4 ? Promise.reject(new Error('not yet')) : Promise.resolve();
  });
  await passUntil(() => times.length === 4, 'the fourth run');
  await harness!.idle();
  const waits = times.slice(1).map((at, i) => at - times[i]!);
  expect([5, 10, 20].map((least, i) => waits[i]! >= least)).toEqual([true, true, true]);
  expect(await metric('controller_runtime_reconcile_errors_total{controller="test"}')).toBe(3);
  expect(await metric('controller_runtime_reconcile_panics_total{controller="test"}')).toBe(3);
  expect(await metric('controller_runtime_reconcile_total{controller="test",result="success"}')).toBe(1);
  expect(lines.filter((l) => String(l['msg']).startsWith('reconcile failed'))).toHaveLength(3);
});

test('a mapper that throws is counted and logged, and its event is delivered again', async () => {
  let faults = 2;
  const seen: string[] = [];
  const map = () => {
    if (faults-- > 0) throw new Error('mapper broke');
    return [{ name: 'singleton' }];
  };
  const { passUntil } = await run(({ key }) => Promise.resolve(void seen.push(key.name)), {
    watches: [{ source: { resource: secrets }, map }],
  });
  harness!.server.put(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'shop' } });
  await passUntil(() => seen.includes('singleton'), 'the mapped key');
  expect(lines.filter((l) => String(l['msg']).startsWith('a predicate or mapper threw'))).toHaveLength(2);
  expect(await metric('controller_runtime_reconcile_panics_total{controller="test"}')).toBe(2);
});

test('a mapper or predicate that throws on the old state of an object does not lose the new one', async () => {
  const seen: string[] = [];
  const secret = (owner?: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'shop', ...(owner ? { labels: { owner } } : {}) },
  });
  const owner = (object: TypedObject | undefined): string => object!.metadata.labels!['owner']!;
  const { server, passUntil, manager } = await run(({ key }) => Promise.resolve(void seen.push(key.name)), {
    watches: [
      {
        source: { resource: secrets },
        map: (object) => [{ name: owner(object) }],
        predicates: [({ type, object, old }) => type !== 'updated' || owner(old) !== owner(object)],
      },
    ],
  });
  await passUntil(() => seen.length === 1, 'the start');
  server.put(secrets, secret());
  await passUntil(() => manager.cache.informer({ resource: secrets }).list().length === 1, 'the odd state');
  server.put(secrets, secret('b'));
  await passUntil(() => seen.includes('b'), 'the owner of the new state');
  expect(lines.some((l) => String(l['msg']).startsWith('a predicate or mapper threw'))).toBe(true);
});

test.each<[string, () => Promise<never> | Promise<undefined>]>([
  ['a terminal error', () => Promise.reject(new TerminalError('cannot work'))],
  ['a terminal error of a clean-up', () => cleanUp(new TerminalError('cannot clean up'))],
  ['a terminal error of each clean-up', () => cleanUp(new TerminalError('cannot'), new TerminalError('nor can I'))],
])('%s is not retried until the next event', async (_what, end) => {
  let runs = 0;
  const { server, passUntil, clock } = await run(() => {
    runs++;
    return end();
  });
  await passUntil(() => runs === 1, 'the run');
  await clock.advance(60_000);
  expect(runs).toBe(1);
  server.put(configMaps, configMap('a', { x: '1' }));
  await passUntil(() => runs === 2, 'the run after the event');
  expect(await metric('controller_runtime_terminal_reconcile_errors_total{controller="test"}')).toBe(2);
});

test.each<[string, () => Promise<ReconcileResult>]>([
  ['a result with requeueAfterMs', () => Promise.resolve({ requeueAfterMs: 30_000 })],
  ['a RequeueError', () => Promise.reject(new RequeueError(30_000, 'waiting for the pod'))],
  ['a RequeueError of a clean-up', () => cleanUp(new RequeueError(30_000, 'waiting for the bucket'))],
  [
    'a RequeueError of one of several clean-ups',
    () => cleanUp(new RequeueError(30_000, 'waiting for the bucket'), new RequeueError(40_000, 'waiting for the key')),
  ],
])('%s leads to another run after its delay and is not a failure', async (_what, end) => {
  let runs = 0;
  const { passUntil, clock } = await run(() => (runs++ === 0 ? end() : Promise.resolve()));
  await passUntil(() => runs === 1, 'the first run');
  await clock.advance(29_000);
  expect(runs).toBe(1);
  await passUntil(() => runs === 2, 'the second run');
  expect(clock.monotonic()).toBeGreaterThanOrEqual(30_000);
  expect(await metric('controller_runtime_reconcile_errors_total{controller="test"}')).toBe(0);
  expect(await metric('controller_runtime_reconcile_total{controller="test",result="requeue_after"}')).toBe(1);
});

test.each<[string, () => ReconcileResult]>([
  ['requeueAfterMs', () => ({ requeueAfterMs: NaN })],
  [
    'the delay of a RequeueError',
    () => {
      throw new RequeueError(NaN, 'waiting for the pod');
    },
  ],
])('%s that is not a number is a failure, and is tried again with back-off', async (_what, end) => {
  const attempts: number[] = [];
  const { passUntil, idle } = await run(({ attempt }) => {
    attempts.push(attempt);
    return Promise.resolve(attempt < 2 ? end() : undefined);
  });
  await passUntil(() => attempts.length === 3, 'the third run');
  await idle();
  expect(attempts).toEqual([0, 1, 2]);
  expect(await metric('controller_runtime_reconcile_errors_total{controller="test"}')).toBe(2);
  const failures = lines.filter((l) => String(l['msg']).startsWith('reconcile failed'));
  expect(failures.map((l) => l['error'])).toEqual(Array(2).fill(expect.stringContaining('not a number')));
});

test('a failed clean-up is tried again when the API server says, and counts as a bug only if it is one', async () => {
  const busy = (seconds: number): ApiError =>
    new ApiError('ERR_API_REQUEST', 'busy', { status: 429, reason: 'TooManyRequests', retryAfterMs: seconds * 1_000 });
  const ends: Error[][] = [[busy(30)], [busy(20), new RequeueError(5_000, 'waiting')], [new TypeError('a bug')]];
  const times: number[] = [];
  const { passUntil, idle } = await run(({ clock, attempt }) => {
    times.push(clock.monotonic());
    return ends[attempt] ? cleanUp(...ends[attempt]) : Promise.resolve();
  });
  await passUntil(() => times.length === 4, 'the fourth run');
  await idle();
  const waits = times.slice(1).map((at, i) => at - times[i]!);
  expect([30_000, 20_000].map((least, i) => waits[i]! >= least)).toEqual([true, true]);
  expect(waits[2]).toBeLessThan(1_000);
  expect(await metric('controller_runtime_reconcile_errors_total{controller="test"}')).toBe(3);
  expect(await metric('controller_runtime_reconcile_panics_total{controller="test"}')).toBe(1);
  const failures = lines.filter((l) => String(l['msg']).startsWith('reconcile failed'));
  expect(failures.map((l) => l['code'])).toEqual(['ERR_FINALIZER', 'ERR_FINALIZER', undefined]);
  expect(failures[2]!['stack']).toContain('TypeError: a bug');
});

test('a reconcile past its time limit is aborted, counted and retried', async () => {
  let runs = 0;
  const { passUntil, clock } = await run(
    ({ signal }) => (runs++ === 0 ? sleep(clock, 3_600_000, signal) : Promise.resolve()),
    { timeoutMs: 5_000 },
  );
  await passUntil(() => runs === 1, 'the first run');
  await clock.advance(5_000);
  await passUntil(() => runs === 2, 'the second run');
  expect(await metric('controller_runtime_reconcile_timeouts_total{controller="test"}')).toBe(1);
});

test('a slow controller does not delay another', async () => {
  const done: string[] = [];
  let slow = 0;
  harness = await runController(
    (env) => {
      env.addController({
        name: 'slow',
        for: { source },
        reconcile: ({ signal }) => (slow++, sleep(env.clock, 1e9, signal)),
      });
      env.addController({
        name: 'quick',
        for: { source },
        reconcile: ({ key }) => Promise.resolve(void done.push(key.name)),
      });
    },
    [configMap('a')],
    noFaults,
    { manager: { drainMs: 10 } },
  );
  await harness.passUntil(() => slow === 1 && done.length === 1, 'both');
  harness.server.put(configMaps, configMap('b'));
  await harness.passUntil(() => done.length === 2, 'the quick one, while the slow one runs');
  expect(slow).toBe(1);
});

test('a change or deletion of a child enqueues its owner, and a change of owner also the former owner', async () => {
  const seen: string[] = [];
  const child = (owner: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'child',
      namespace: 'shop',
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid: owner, controller: true }],
    },
  });
  const { server, passUntil, idle } = await run(({ key }) => Promise.resolve(void seen.push(key.name)), {
    owns: [{ source: { resource: secrets } }],
  });
  await passUntil(() => seen.length === 1, 'the start');
  server.put(secrets, child('a'));
  await passUntil(() => seen.length === 2, 'the child');
  server.put(secrets, child('b'));
  await passUntil(() => seen.length === 4, 'both owners');
  expect(seen.slice(2).toSorted()).toEqual(['a', 'b']);
  server.storage.remove(secrets, 'shop', 'child');
  await passUntil(() => seen.length === 5, 'the delete');
  await idle();
  expect(seen.at(-1)).toBe('b');
});

test('initial keys run at the start, and an external trigger runs a key', async () => {
  const seen: string[] = [];
  harness = await runController((env) => {
    const handle = env.addController({
      name: 'single',
      initialKeys: [{ name: 'one' }],
      watches: [{ source, map: toKey({ name: 'one' }) }],
      reconcile: ({ key }) => Promise.resolve(void seen.push(key.name)),
    });
    env.clock.setTimeout(() => handle.trigger({ name: 'two' }), 1_000);
  });
  await harness.passUntil(() => seen.includes('two'), 'the trigger');
  expect(seen).toEqual(['one', 'two']);
});

test('a stop during a reconcile lets it finish, and starts no other', async () => {
  const done: string[] = [];
  const started: string[] = [];
  const { passUntil, stop } = await run(
    async ({ key, clock }) => {
      started.push(key.name);
      await sleep(clock, 200);
      done.push(key.name);
    },
    {},
    ['a', 'b', 'c'],
  );
  await passUntil(() => started.length === 1, 'the first');
  harness = undefined;
  await stop();
  expect(started).toEqual(['a']);
  expect(done).toEqual(['a']);
});

test('a reconcile that outlasts the drain time is aborted', async () => {
  let reason: unknown;
  let endedAt = 0;
  const { passUntil, stop, clock } = await run(async ({ signal, clock }) => {
    reason = 'running';
    await sleep(clock, 1e9, signal).catch((e: unknown) => (reason = e));
    endedAt = clock.monotonic();
  });
  await passUntil(() => reason === 'running', 'the run');
  harness = undefined;
  const stoppedAt = clock.monotonic();
  await stop();
  expect(reason).toMatchObject({ code: 'ERR_ABORTED' });
  expect(endedAt - stoppedAt).toBeGreaterThanOrEqual(30_000);
});

test('logs one line per reconcile at debug, with fields that identify it', async () => {
  const { passUntil } = await run(() => Promise.resolve());
  await passUntil(() => lines.some((l) => l['msg'] === 'reconciled'), 'the line');
  await harness!.idle();
  const [line, ...more] = lines.filter((l) => l['msg'] === 'reconciled');
  expect(more).toEqual([]);
  expect(line).toMatchObject({
    level: 'debug',
    controller: 'test',
    object: 'ConfigMap/shop/a',
    namespace: 'shop',
    name: 'a',
    reconcileID: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
    result: 'success',
  });
});
