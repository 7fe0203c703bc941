import type { ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import { sleep } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { silentLogger } from '../../base/logger.ts';
import { hashOfPutPath, type AgentStatus } from '../../capture/index.ts';
import type { TlsRequest, TlsResponse } from '../../net/tls-client.ts';
import { aPolicy, aWorld } from '../../testing/capture/world.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { CaptureHub } from './hub.ts';
import type { World } from './hub-options.ts';

const node = 'node-1';
const waiting: AgentStatus = {
  ...{ node, revision: 1, ack: null, monitors: [] },
  instrument: { up: true, restarts: 0 },
  totals: { series: 0, samplesAppended: 0, rejected: 0 },
};

/** One node, whose agent answers status requests while it is up, in a cluster that can become unreadable. */
class OneAgent {
  readonly clock = new FakeClock();
  readonly hub: CaptureHub;
  isUp = true;
  takesPushes = true;
  /** Whether it answers a push, 50 ms later, by `Running`; else it never answers. */
  acknowledges = false;
  isReadable = true;
  /** The agent's answer to requests for its status and for its config. */
  status = waiting;
  policies: ClusterTrafficPolicy[] = [];
  validUntilMs = Infinity;
  /** Paths of the pushes. */
  readonly pushes: string[] = [];
  /** Number of plans that the hub has made. Each plan ends with a call of `remember`. */
  plans = 0;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor() {
    this.hub = new CaptureHub({
      ...{ clock: this.clock, logger: silentLogger, random: () => 0.5, namespace: 'svc-system', agentPort: 1 },
      environment: aWorld().environment,
      // An agent of version 0.1.0, without sessions.
      transport: () => ({ request: (req) => this.#answer(req), open: () => Promise.resolve(null), generation: 1 }),
      read: () => this.#world(),
      failures: { load: () => Promise.resolve([]), remember: () => this.plans++, stop: () => Promise.resolve() },
    });
    this.#done = this.hub.run(this.#stop.signal);
  }

  get isReachable(): boolean {
    return this.hub.nodes.get(node)!.reachable;
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  #world(): World {
    if (!this.isReadable) throw new Error('an object that cannot be read');
    const agent = { node, host: '10.0.0.1', uid: 'pod-1', isShared: false, fault: null };
    return {
      ...aWorld({ nodes: [{ name: node, labels: {} }], policies: this.policies }),
      validUntilMs: this.validUntilMs,
      ready: new Set([node]),
      agents: new Map([[node, agent]]),
    };
  }

  #answer(req: TlsRequest): Promise<TlsResponse> {
    const isPush = req.method === 'PUT';
    if (isPush) this.pushes.push(req.path);
    if (!this.isUp || (isPush && !this.takesPushes)) {
      return Promise.reject(new OperatorError('ERR_AGENT_UNREACHABLE', 'the connection was cut'));
    }
    const hash = hashOfPutPath(req.path);
    if (hash !== null && this.acknowledges) {
      const body = Buffer.from(JSON.stringify({ node, hash, phase: 'Running' }));
      return sleep(this.clock, 50).then(() => ({ status: 200, headers: {}, body }));
    }
    const isLongPoll = req.path.includes('after=1');
    if (!isPush && !isLongPoll) {
      return Promise.resolve({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(this.status)) });
    }
    return new Promise((_, reject) =>
      req.signal?.addEventListener('abort', () => reject(new OperatorError('ERR_ABORTED', 'aborted')), { once: true }),
    );
  }
}

test('after a lost push the hub reconnects to the agent, even if the cluster could not be read at first', async () => {
  const one = new OneAgent();
  one.takesPushes = false;
  await one.clock.advance(100);
  expect(one.isReachable).toBe(false);
  one.isReadable = false;
  await one.clock.advance(5_000);
  expect(one.isReachable).toBe(false);
  one.isReadable = one.takesPushes = true;
  await one.clock.advance(1_500);
  expect(one.isReachable).toBe(true);
  await one.end();
});

test('a new certificate of an agent is noted without an error while the cluster cannot be read', async () => {
  const one = new OneAgent();
  one.isUp = false;
  await one.clock.advance(60_000);
  expect(one.isReachable).toBe(false);
  one.isReadable = false;
  expect(() => one.hub.certified(node)).not.toThrow();
  one.isReadable = one.isUp = true;
  await one.clock.advance(1_500);
  expect(one.isReachable).toBe(true);
  await one.end();
});

test('if the agent does not return its running config, the push is assumed to need a restart, which waits', async () => {
  const one = new OneAgent();
  one.policies = [aPolicy('p', { rollout: { minInterval: '60s' } })];
  one.status = {
    ...waiting,
    ack: { node, hash: `sha256:${'0'.repeat(64)}`, phase: 'Running' },
    instrument: { up: true, restarts: 1, start: new Date(one.clock.now() - 10_000).toISOString() },
  };
  await one.clock.advance(5_000);
  expect(one.pushes).toEqual([expect.stringContaining('restart=hold')]);
  await one.end();
});

test('a leader whose first compile fails leaves the record of failures alone', async () => {
  const one = new OneAgent();
  one.isReadable = false;
  await one.clock.advance(1_000);
  expect([one.hub.compileError, one.plans]).toEqual(['an object that cannot be read', 0]);
  one.isReadable = true;
  one.hub.changed();
  await one.clock.advance(1_000);
  expect(one.plans).toBeGreaterThan(0);
  await one.end();
});

test('an acknowledgement leads to no new plan if its node then runs what it should, and no other node waits', async () => {
  const one = new OneAgent();
  one.acknowledges = true;
  await one.clock.advance(30);
  expect([one.pushes.length, one.hub.nodes.get(node)!.state]).toEqual([1, 'behind']);
  const { plans } = one;
  await one.clock.advance(1_000);
  expect([one.plans, one.hub.nodes.get(node)!.state]).toEqual([plans, 'running']);
  one.policies = [aPolicy('p', { defaults: { protocols: ['HTTP'] } })];
  one.hub.changed();
  await one.clock.advance(1_000);
  expect([one.plans, one.pushes.length]).toEqual([plans + 1, 2]);
  await one.end();
});

test('the hub compiles again when its facts expire, although nothing has changed, and not once it has ended', async () => {
  const one = new OneAgent();
  one.acknowledges = true;
  one.validUntilMs = one.clock.monotonic() + 600_000;
  one.hub.changed();
  await one.clock.advance(1_000);
  one.policies = [aPolicy('p', { defaults: { protocols: ['HTTP'] } })];
  await one.clock.advance(598_000);
  expect(one.pushes).toHaveLength(1);
  one.validUntilMs += 600_000;
  await one.clock.advance(2_000);
  expect(one.pushes).toHaveLength(2);
  expect(one.clock.pending).toBeGreaterThan(0);
  await one.end();
  expect(one.clock.pending).toBe(0);
});
