import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { sleep } from '../../base/clock.ts';
import { coreResources } from '../../kube/index.ts';
import { noFaults, runController, type ControllerHarness } from '../../testing/run-controller.ts';
import { StatusError } from '../../testing/fake-api-server/index.ts';
import { TerminalError, type ControllerSpec } from '../index.ts';

const { configMaps, leases, secrets } = coreResources;
const source = { resource: configMaps };
const configMap: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' } };
const secret: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'shop' } };
const election = { namespace: 'svc-system', name: 'svc-controller', identity: 'me' };

let harness: ControllerHarness;

test('fills the caches, then leads, then reconciles; stops in reverse order and releases the lease', async () => {
  const log: string[] = [];
  let fill = (): void => {};
  const until = new Promise<void>((resolve) => (fill = resolve));
  harness = await runController(
    (env) => {
      env.addController({ name: 'c', for: { source }, reconcile: () => Promise.resolve(void log.push('reconcile')) });
      const runnable = (name: string, needsLeader: boolean): void =>
        env.addRunnable({
          name,
          needsLeader,
          run: async (signal) => {
            log.push(`${name} starts`);
            await sleep(env.clock, 1e9, signal).catch(() => {});
            log.push(`${name} ends`);
          },
        });
      runnable('everywhere', false);
      runnable('leader', true);
    },
    [configMap],
    (server) => server.script({ plural: 'configmaps' }, { do: 'hold', until }),
    { manager: { leaderElection: election } },
  );
  await harness.passUntil(() => harness.server.seen({ plural: 'configmaps' }).length > 0, 'the first list');
  await harness.clock.advance(5_000);
  expect(harness.server.seen({ plural: 'leases' })).toEqual([]);
  fill();
  await harness.passUntil(() => log.includes('reconcile'), 'the reconcile');
  expect(log).toEqual(['everywhere starts', 'leader starts', 'reconcile']);
  expect(harness.manager.leading).toBe(true);
  const { server } = harness;
  await harness.stop();
  expect(log.slice(3)).toEqual(['leader ends', 'everywhere ends']);
  expect(server.storage.get(leases, 'svc-system', 'svc-controller')['spec']).toMatchObject({ holderIdentity: '' });
});

test('a runnable with beforeCaches starts before the caches fill, and ends with the process', async () => {
  const log: string[] = [];
  harness = await runController(
    (env) => {
      env.addController({ name: 'c', for: { source }, reconcile: () => Promise.resolve(void log.push('reconcile')) });
      env.addRunnable({
        name: 'conversion',
        needsLeader: false,
        beforeCaches: true,
        run: async (signal) => {
          log.push('conversion starts');
          await sleep(env.clock, 1e9, signal).catch(() => {});
          log.push('conversion ends');
        },
      });
    },
    [configMap],
    (server) =>
      server.script({ plural: 'configmaps' }, { do: 'hold', until: Promise.withResolvers<void>().promise }, 1),
  );
  await harness.passUntil(() => log.length > 0, 'the start');
  expect([log, harness.manager.cache.informer({ resource: configMaps }).synced]).toEqual([
    ['conversion starts'],
    false,
  ]);
  await harness.stop();
  expect(log).toEqual(['conversion starts', 'conversion ends']);
});

test('a standby (not the leader) keeps its caches filled, is ready, and reconciles nothing', async () => {
  let runs = 0;
  const held = { holderIdentity: 'other', leaseDurationSeconds: 1_000_000, renewTime: 'x', acquireTime: 'x' };
  harness = await runController(
    (env) => env.addController({ name: 'c', for: { source }, reconcile: () => Promise.resolve(void runs++) }),
    [
      configMap,
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'svc-controller', namespace: 'svc-system' },
        spec: held,
      },
    ],
    noFaults,
    { manager: { leaderElection: election } },
  );
  const informer = harness.manager.cache.informer(source);
  await harness.passUntil(() => informer.list().length === 1, 'the cache');
  expect(await harness.manager.readiness.run()).toMatchObject({ ok: true });
  expect(harness.manager.leading).toBe(false);
  harness.server.put(configMaps, { ...configMap, metadata: { name: 'b', namespace: 'shop' } });
  await harness.passUntil(() => informer.list().length === 2, 'what came since');
  await harness.clock.advance(60_000);
  expect(harness.manager.leading).toBe(false);
  expect(runs).toBe(0);
  await harness.stop();
});

test('a lost lease aborts the running reconcile immediately, and the manager ends with ERR_LEASE_LOST', async () => {
  let reason: unknown;
  harness = await runController(
    (env) =>
      env.addController({
        name: 'c',
        for: { source },
        reconcile: ({ signal, clock }) => sleep(clock, 1e9, signal).catch((e: unknown) => void (reason = e)),
      }),
    [configMap],
    noFaults,
    { manager: { leaderElection: election } },
  );
  await harness.passUntil(() => harness.manager.leading && !harness.manager.idle, 'the run');
  const lease = harness.server.storage.get(leases, 'svc-system', 'svc-controller');
  harness.server.put(leases, { ...lease, spec: { ...(lease['spec'] as object), holderIdentity: 'thief' } });
  await harness.passUntil(() => reason, 'the abort');
  expect(reason).toMatchObject({ code: 'ERR_ABORTED', message: 'the lease is lost' });
  await expect(harness.stop()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
});

test('a lost lease aborts the runnables of the leader immediately, also while a reconcile ignores its signal', async () => {
  let runs = false;
  let ended = false;
  const { promise: reconciled, resolve: end } = Promise.withResolvers<void>();
  harness = await runController(
    (env) => {
      env.addController({ name: 'c', for: { source }, reconcile: () => ((runs = true), reconciled) });
      env.addRunnable({
        name: 'leader',
        needsLeader: true,
        run: (signal) => sleep(env.clock, 1e9, signal).catch(() => void (ended = true)),
      });
    },
    [configMap],
    noFaults,
    { manager: { leaderElection: election } },
  );
  await harness.passUntil(() => runs, 'the run');
  const lease = harness.server.storage.get(leases, 'svc-system', 'svc-controller');
  harness.server.put(leases, { ...lease, spec: { ...(lease['spec'] as object), holderIdentity: 'thief' } });
  await harness.passUntil(() => !harness.manager.leading, 'the loss');
  await harness.clock.advance(0);
  expect(ended).toBe(true);
  end();
  await expect(harness.stop()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
});

test('caches that do not fill in two minutes end the manager with an error that names source and reason', async () => {
  harness = await runController(
    (env) => env.addController({ name: 'c', for: { source }, reconcile: () => Promise.resolve() }),
    [],
    (server) =>
      server.script(
        { plural: 'configmaps' },
        { do: 'fail', error: new StatusError(403, 'Forbidden', 'no right') },
        1000,
      ),
  );
  const asked = (): number => harness.server.requests.length;
  for (let i = 0; i < 80; i++) await harness.clock.advance(1_000);
  const before = asked();
  for (let i = 0; i < 35; i++) await harness.clock.advance(1_000);
  // The list is still retried shortly before the two minutes are over.
  expect(asked()).toBeGreaterThan(before);
  for (let i = 0; i < 15; i++) await harness.clock.advance(1_000);
  await expect(harness.stop()).rejects.toMatchObject({
    code: 'ERR_CACHE_SYNC',
    message: expect.stringMatching(/configmaps.*403 no right/) as unknown,
  });
});

test('a controller that is added later starts when its source can be read, however long that takes', async () => {
  const log: string[] = [];
  const spec = (name: string, resource: ResourceRef): ControllerSpec => ({
    name,
    for: { source: { resource } },
    reconcile: () => Promise.resolve(void log.push(name)),
  });
  harness = await runController(spec('first', configMaps), [configMap, secret]);
  await harness.passUntil(() => log.includes('first'), 'the first');
  let forbidden = true;
  harness.server.script(
    ({ plural }) => forbidden && plural === 'secrets',
    { do: 'fail', error: new StatusError(403, 'Forbidden', 'no right') },
    Infinity,
  );
  harness.manager.addController(spec('of secrets', secrets));
  harness.manager.addController(spec('added after it', configMaps));
  for (let i = 0; i < 180; i++) await harness.clock.advance(1_000);
  expect(log).toEqual(['first']);
  forbidden = false;
  for (let i = 0; i < 50; i++) await harness.clock.advance(1_000);
  await harness.passUntil(() => log.length === 3, 'the late ones');
  expect(log.toSorted()).toEqual(['added after it', 'first', 'of secrets']);
  await harness.stop();
});

test.each([
  ['while the first caches fill', false],
  ['while another process leads', true],
])('a controller that is added %s does not start before its caches are filled', async (_when, standby) => {
  const log: string[] = [];
  const spec = { holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: 'x', acquireTime: 'x' };
  const metadata = { name: 'svc-controller', namespace: 'svc-system' };
  const lease: KubeObject = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  const [configMapsFill, secretsFill] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  harness = await runController(
    { name: 'early', for: { source }, reconcile: () => Promise.resolve(void log.push('early')) },
    [configMap, secret, ...(standby ? [lease] : [])],
    (server) => {
      server.script({ plural: 'configmaps' }, { do: 'hold', until: configMapsFill.promise });
      server.script({ plural: 'secrets' }, { do: 'hold', until: secretsFill.promise });
    },
    standby ? { manager: { leaderElection: election } } : {},
  );
  const filled = harness.manager.cache.informer(source);
  if (standby) {
    configMapsFill.resolve();
    await harness.passUntil(() => filled.synced && harness.server.seen({ plural: 'leases' }).length > 0, 'the caches');
  }
  harness.manager.addController({
    name: 'late',
    for: { source },
    watches: [{ source: { resource: secrets }, map: () => [] }],
    reconcile: ({ cache }) =>
      Promise.resolve(void log.push(`late, ${cache.informer({ resource: secrets }).list().length}`)),
  });
  await harness.passUntil(() => harness.server.seen({ plural: 'secrets' }).length > 0, 'the list of secrets');
  expect(log).toEqual([]);
  configMapsFill.resolve();
  await harness.passUntil(() => log.length > 0, 'the early one');
  await harness.idle();
  expect(log).toEqual(['early']);
  secretsFill.resolve();
  await harness.passUntil(() => log.length > 1, 'the late one');
  expect(log).toEqual(['early', 'late, 1']);
  await harness.stop();
});

test('a manager that is stopped while its caches fill ends without an error', async () => {
  harness = await runController(
    (env) => env.addController({ name: 'c', for: { source }, reconcile: () => Promise.resolve() }),
    [],
    (server) => server.script({ plural: 'configmaps' }, { do: 'hold', until: new Promise(() => {}) }),
  );
  await harness.clock.advance(1_000);
  await expect(harness.stop()).resolves.toBeUndefined();
});

test('a runnable that fails stops the whole process with its error', async () => {
  harness = await runController((env) => {
    env.addController({ name: 'c', for: { source }, reconcile: () => Promise.resolve() });
    env.addRunnable({ name: 'r', needsLeader: true, run: () => Promise.reject(new Error('runnable broke')) });
  });
  await harness.passUntil(
    () => harness.server.openWatches().length === 0 && harness.server.requests.length > 0,
    'the end',
  );
  await expect(harness.stop()).rejects.toThrow('runnable broke');
});

test('when two runnables fail at the same time, neither error is lost', async () => {
  harness = await runController((env) => {
    env.addController({ name: 'c', for: { source }, reconcile: () => Promise.resolve() });
    for (const name of ['one', 'two'])
      env.addRunnable({ name, needsLeader: true, run: () => Promise.reject(new Error(`${name} broke`)) });
  });
  await harness.passUntil(
    () => harness.server.openWatches().length === 0 && harness.server.requests.length > 0,
    'the end',
  );
  await expect(harness.stop()).rejects.toMatchObject({ errors: [{ message: 'one broke' }, { message: 'two broke' }] });
});

test('two controllers of one name are refused, and so is an owner relation without a primary resource', async () => {
  harness = await runController((env) => {
    const spec = { name: 'c', for: { source }, reconcile: () => Promise.resolve() };
    env.addController(spec);
    expect(() => env.addController(spec)).toThrow('two controllers named c');
    expect(() => env.addController({ name: 'd', owns: [{ source }], reconcile: () => Promise.resolve() })).toThrow(
      /primary/,
    );
  });
  await harness.stop();
});

test('every metric series of a controller exists from the start', async () => {
  let runs = 0;
  const ends = [
    () => Promise.resolve(),
    () => Promise.reject(new Error('once')),
    () => Promise.resolve({ requeueAfterMs: 10 }),
    () => Promise.reject(new TerminalError('for good')),
  ];
  harness = await runController((env) =>
    env.addController({ name: 'c', for: { source }, reconcile: () => (ends[runs++] ?? ends[0]!)() }),
  );
  const series = async (): Promise<string[]> =>
    (await harness.manager.metricsText())
      .split('\n')
      .filter((line) => line.includes('controller="c"'))
      .map((line) => line.slice(0, line.lastIndexOf(' ')));
  const atStart = await series();
  for (let i = 0; i < 5; i++) {
    const before = runs;
    harness.server.put(configMaps, { ...configMap, data: { i: `${i}` } });
    await harness.passUntil(() => runs > before, 'another run');
    await harness.idle();
  }
  expect(runs).toBeGreaterThan(ends.length);
  expect((await series()).filter((name) => !atStart.includes(name))).toEqual([]);
  await harness.stop();
  harness = await runController((env) =>
    env.addController({ name: 'c', for: { source }, reconcile: () => Promise.resolve() }),
  );
  const text = await harness.manager.metricsText();
  for (const name of [
    'controller_runtime_reconcile_total{controller="c",result="requeue_after"} 0',
    'controller_runtime_max_concurrent_reconciles{controller="c"} 1',
    'workqueue_depth{name="c",controller="c"} 0',
    'workqueue_retries_total{name="c",controller="c"} 0',
    'workqueue_longest_running_processor_seconds{name="c",controller="c"} 0',
    'operator_watch_events_missed_total{kind="ConfigMap"} 0',
  ]) {
    expect(text).toContain(name);
  }
  await harness.stop();
});
