import { createLogger, silentLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { FakeApiServer, StatusError } from '../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { LeaderElector } from './leader-election.ts';
import { decideLease, observe, type LeaseRecord } from './lease-record.ts';

const { leases } = coreResources;
const record = (over: Partial<LeaseRecord> = {}): LeaseRecord => ({
  holder: 'other',
  durationSeconds: 15,
  renewTime: 't0',
  acquireTime: 't0',
  transitions: 4,
  ...over,
});

describe('the decision about a lease', () => {
  test('takes a lease that does not exist, and one that was released', () => {
    expect(decideLease(undefined, 'me', 0)).toEqual({ do: 'acquire', transitions: 0 });
    expect(decideLease({ record: record({ holder: '' }), at: 0 }, 'me', 0)).toEqual({ do: 'acquire', transitions: 5 });
  });

  test('renews its own lease', () => {
    expect(decideLease({ record: record({ holder: 'me' }), at: 0 }, 'me', 9e9)).toMatchObject({
      do: 'renew',
      transitions: 4,
    });
  });

  test('waits for the lease duration, by the local clock since the record last changed', () => {
    const first = observe(undefined, record(), 1_000);
    expect(decideLease(first, 'me', 15_999)).toEqual({ do: 'wait', forMs: 1 });
    expect(decideLease(first, 'me', 16_000)).toMatchObject({ do: 'acquire' });
    const same = observe(first, record(), 9_000);
    expect(same.at).toBe(1_000);
    const renewed = observe(first, record({ renewTime: 't1' }), 9_000);
    expect(decideLease(renewed, 'me', 16_000)).toEqual({ do: 'wait', forMs: 8_000 });
  });
});

describe('on an API server', () => {
  let server: FakeApiServer;
  beforeEach(async () => {
    server = await FakeApiServer.start();
  });
  afterEach(() => server.stop());

  const elector = (identity: string, clock: FakeClock, logger = silentLogger): LeaderElector =>
    new LeaderElector({
      client: server.client(clock),
      clock,
      logger,
      namespace: 'svc-system',
      name: 'svc-controller',
      identity,
      random: () => 0,
    });
  const spec = (): Record<string, unknown> =>
    server.storage.get(leases, 'svc-system', 'svc-controller')['spec'] as Record<string, unknown>;
  async function pass(clock: FakeClock, condition: () => unknown): Promise<void> {
    const end = performance.now() + 40_000;
    while (!condition()) {
      if (performance.now() > end) throw new Error('did not come');
      await clock.advance(20);
    }
  }

  test('the first elector takes and renews the lease, with times in microseconds, and the second waits', async () => {
    const clock = new FakeClock();
    const [a, b] = [elector('a', clock), elector('b', clock)];
    const stop = new AbortController();
    await a.acquire(stop.signal);
    expect(spec()).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(spec()['renewTime']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    const held = a.hold(stop.signal);
    const waiting = b.acquire(stop.signal).catch((e: unknown) => e);
    const before = spec()['renewTime'];
    for (let i = 0; i < 60; i++) await clock.advance(1_000);
    expect(spec()['holderIdentity']).toBe('a');
    expect(spec()['renewTime']).not.toBe(before);
    expect(b.leading).toBe(false);
    stop.abort();
    await held;
    expect(await waiting).toMatchObject({ code: 'ERR_ABORTED' });
  });

  test('a released lease is taken within one retry', async () => {
    const clock = new FakeClock();
    const [a, b] = [elector('a', clock), elector('b', clock)];
    const stop = new AbortController();
    await a.acquire(stop.signal);
    let got = false;
    const waiting = b.acquire(stop.signal).then(() => (got = true));
    await a.release();
    expect(spec()).toMatchObject({ holderIdentity: '' });
    await pass(clock, () => got);
    await waiting;
    expect(clock.monotonic()).toBeLessThan(3_000);
    expect(spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  test.each([
    ['before the server executes it', false],
    ['before its answer arrives', true],
  ])('a lease is released even if the stop interrupts a renewal %s', async (_, afterWork) => {
    const clock = new FakeClock();
    const a = elector('a', clock);
    const stop = new AbortController();
    await a.acquire(stop.signal);
    const held = a.hold(stop.signal);
    const gate = Promise.withResolvers<void>();
    server.script({ verb: 'update' }, { do: 'hold', until: gate.promise, afterWork });
    await pass(clock, () => server.seen({ verb: 'update' }).length > 0);
    stop.abort();
    await held;
    await a.release();
    expect(spec()).toMatchObject({ holderIdentity: '' });
    gate.resolve();
  });

  async function freeLease(clock: FakeClock): Promise<void> {
    const former = elector('former', clock);
    await former.acquire(new AbortController().signal);
    await former.release();
  }

  test.each([
    ['before the server executes its write', false],
    ['before the answer to its write arrives', true],
  ])('an elector that is stopped %s gives back the lease', async (_, afterWork) => {
    const clock = new FakeClock();
    await freeLease(clock);
    const asked = server.seen({ verb: 'update' }).length;
    const gate = Promise.withResolvers<void>();
    server.script({ verb: 'update' }, { do: 'hold', until: gate.promise, afterWork });
    const stop = new AbortController();
    const a = elector('a', clock);
    const acquired = expect(a.acquire(stop.signal)).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    await until('the write', () => server.seen({ verb: 'update' }).length > asked);
    stop.abort();
    for (let i = 0; i < 20; i++) await clock.advance(20);
    gate.resolve();
    await acquired;
    await pass(clock, () => spec()['leaseTransitions'] === 1);
    expect(spec()).toMatchObject({ holderIdentity: '' });
    expect(a.leading).toBe(false);
  });

  test('an elector whose write has no answer in time gives back the lease when it is stopped', async () => {
    const clock = new FakeClock();
    await freeLease(clock);
    const gate = Promise.withResolvers<void>();
    server.script({ verb: 'update' }, { do: 'hold', until: gate.promise, afterWork: true });
    const stop = new AbortController();
    const acquired = expect(elector('a', clock).acquire(stop.signal)).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    await pass(clock, () => spec()['holderIdentity'] === 'a');
    await clock.advance(5_000);
    stop.abort();
    await acquired;
    expect(spec()).toMatchObject({ holderIdentity: '' });
    gate.resolve();
  });

  test('an elector that is stopped after a write that was not executed warns of no lease', async () => {
    const clock = new FakeClock();
    await freeLease(clock);
    const lines: string[] = [];
    const logger = createLogger({ write: (line) => void lines.push(line) });
    server.script({ verb: 'update' }, { do: 'fail', error: new StatusError(500, 'InternalError', 'etcd') });
    const stop = new AbortController();
    const a = elector('a', clock, logger);
    const acquired = expect(a.acquire(stop.signal)).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    await until('the failure', () => lines.some((line) => line.includes('lease could not be read or written')));
    stop.abort();
    await acquired;
    expect(lines.filter((line) => line.includes('released'))).toEqual([]);
  });

  test('an elector that is stopped while it waits for another leaves the lease alone', async () => {
    const clock = new FakeClock();
    await elector('holder', clock).acquire(new AbortController().signal);
    const stop = new AbortController();
    const asked = server.requests.length;
    const acquired = expect(elector('a', clock).acquire(stop.signal)).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    await pass(clock, () => server.requests.length > asked);
    await clock.advance(100);
    stop.abort();
    await acquired;
    expect(server.requests.length).toBe(asked + 1);
    expect(spec()).toMatchObject({ holderIdentity: 'holder' });
  });

  test('a silent holder is replaced after the lease duration, whatever the wall clocks say', async () => {
    const clock = new FakeClock();
    const ahead = new FakeClock(Date.UTC(2030, 0, 1));
    const a = elector('a', ahead);
    const b = elector('b', clock);
    const stop = new AbortController();
    await a.acquire(stop.signal);
    let got = false;
    const waiting = b.acquire(stop.signal).then(() => (got = true));
    for (let i = 0; i < 14; i++) await clock.advance(1_000);
    expect(got).toBe(false);
    await pass(clock, () => got);
    await waiting;
    expect(spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  test('a stolen lease ends the leadership immediately', async () => {
    const clock = new FakeClock();
    const a = elector('a', clock);
    const stop = new AbortController();
    await a.acquire(stop.signal);
    let lost: unknown;
    void a.hold(stop.signal).catch((e: unknown) => (lost = e));
    const stolen = server.storage.get(leases, 'svc-system', 'svc-controller');
    server.put(leases, { ...stolen, spec: { ...spec(), holderIdentity: 'thief' } });
    await pass(clock, () => lost);
    expect(lost).toMatchObject({ code: 'ERR_LEASE_LOST' });
    expect(a.leading).toBe(false);
    expect(clock.monotonic()).toBeLessThan(3_000);
    await a.release();
    expect(spec()['holderIdentity']).toBe('thief');
  });

  test('an outage past the renew deadline ends the leadership before the lease can expire', async () => {
    const clock = new FakeClock();
    const a = elector('a', clock);
    const stop = new AbortController();
    await a.acquire(stop.signal);
    const start = clock.monotonic();
    let lost: unknown;
    void a.hold(stop.signal).catch((e: unknown) => (lost = e));
    await server.stop();
    await pass(clock, () => lost);
    expect(lost).toMatchObject({ code: 'ERR_LEASE_LOST' });
    expect(clock.monotonic() - start).toBeLessThanOrEqual(10_100);
  });

  test('slow answers do not put off the renew deadline', async () => {
    const clock = new FakeClock();
    const a = elector('a', clock);
    const stop = new AbortController();
    await a.acquire(stop.signal);
    const answer = Promise.withResolvers<void>();
    server.script({ verb: 'update' }, { do: 'fail', error: new StatusError(500, 'InternalError', 'etcd') });
    server.script({ verb: 'get' }, { do: 'hold', until: answer.promise });
    server.script({ verb: 'update' }, { do: 'hold', until: new Promise(() => {}) }, 10);
    clock.setTimeout(answer.resolve, 8_900);
    let lost: unknown;
    void a.hold(stop.signal).catch((e: unknown) => (lost = e));
    await pass(clock, () => lost);
    expect(server.seen({ verb: 'update' })).toHaveLength(2);
    expect(clock.monotonic()).toBeLessThanOrEqual(10_100);
    expect(lost).toMatchObject({ code: 'ERR_LEASE_LOST', message: expect.stringContaining('etcd') as string });
  });

  test('the renew deadline counts from the write that took the lease, not from its answer', async () => {
    const clock = new FakeClock();
    const a = elector('a', clock);
    const stop = new AbortController();
    const answer = Promise.withResolvers<void>();
    server.script({ verb: 'create' }, { do: 'hold', until: answer.promise, afterWork: true });
    server.script({ verb: 'update' }, { do: 'hold', until: new Promise(() => {}) }, 10);
    clock.setTimeout(answer.resolve, 4_900);
    let lost: unknown;
    void a
      .acquire(stop.signal)
      .then(() => a.hold(stop.signal))
      .catch((e: unknown) => (lost = e));
    await until('the write', () => server.seen({ verb: 'create' }).length === 1);
    await pass(clock, () => lost);
    expect(lost).toMatchObject({ code: 'ERR_LEASE_LOST' });
    expect(clock.monotonic()).toBeGreaterThan(9_900);
    expect(clock.monotonic()).toBeLessThanOrEqual(10_100);
  });

  test('a short outage is survived', async () => {
    const clock = new FakeClock();
    const a = elector('a', clock);
    const stop = new AbortController();
    await a.acquire(stop.signal);
    let lost: unknown;
    const held = a.hold(stop.signal).catch((e: unknown) => (lost = e));
    server.script({ verb: 'update' }, { do: 'fail', error: new StatusError(500, 'InternalError', 'etcd') }, 2);
    for (let i = 0; i < 20; i++) await clock.advance(1_000);
    expect(server.seen({ verb: 'update' }).length).toBeGreaterThan(2);
    expect([lost, a.leading, spec()['holderIdentity']]).toEqual([undefined, true, 'a']);
    stop.abort();
    await held;
  });

  test('exactly one of three electors that race for a free lease wins', async () => {
    const clock = new FakeClock();
    const electors = ['a', 'b', 'c'].map((id) => elector(id, clock));
    const stop = new AbortController();
    const all = electors.map((e) => e.acquire(stop.signal).catch(() => {}));
    await pass(clock, () => electors.some((e) => e.leading));
    await clock.advance(5_000);
    expect(electors.filter((e) => e.leading)).toHaveLength(1);
    stop.abort();
    await Promise.all(all);
  });
});
