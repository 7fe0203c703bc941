import { canonicalJson, sha256Hex } from '../../base/canonical-json.ts';
import { OperatorError } from '../../base/errors.ts';
import { silentLogger } from '../../base/logger.ts';
import { hashOfPutPath, runningPath, capturePath, type CaptureConfig, type PutMessage } from '../../capture/index.ts';
import type { MessageHandlers, MessageSocket, SocketRequest } from '../../net/message-socket.ts';
import type { TlsRequest, TlsResponse } from '../../net/tls-client.ts';
import { aMonitor, aPod, aPolicy, aWorld } from '../../testing/capture/world.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Random } from '../../testing/promql/random.ts';
import { CaptureHub } from './hub.ts';
import type { World } from './hub-options.ts';

const nodes = ['node-1', 'node-2', 'node-3', 'node-4'];
/** An instrument never runs with a file that has this port. */
const badPort = 6_666;
const agentDeadlineMs = 90_000;

/**
 * A model of an agent and its instrument, on a network that loses requests and answers of the capture protocol. With
 * sessions, the loss of a message ends the session.
 */
class ModelAgent {
  /** The fraction of requests that do not arrive, and the fraction of answers that are lost. */
  lostRequests = 0;
  lostAnswers = 0;
  readonly #clock: FakeClock;
  readonly #random: Random;
  readonly #node: string;
  readonly #hasSessions: boolean;
  #held: { hash: string; config: CaptureConfig; granted: boolean; failed: boolean } | null = null;
  #runs: { hash: string; config: CaptureConfig } | null = null;
  /** Whether the instrument is down, and whether the agent has waited for it until its deadline. */
  #outage: 'none' | 'begun' | 'reported' = 'none';
  #revision = 1;
  #cancel = (): void => {};
  readonly #waiting = new Set<() => void>();

  constructor(node: string, clock: FakeClock, random: Random, hasSessions: boolean) {
    this.#node = node;
    this.#hasSessions = hasSessions;
    this.#clock = clock;
    this.#random = random;
  }

  get restarting(): boolean {
    return this.#held?.granted === true && !this.#held.failed && !this.#runsHeldFile;
  }

  /** The file that its instrument runs. */
  get runs(): string | undefined {
    return this.#runs?.config.instrument.yaml;
  }

  get #runsHeldFile(): boolean {
    return this.#runs !== null && this.#runs.config.instrument.yaml === this.#held?.config.instrument.yaml;
  }

  /** Its instrument is down for this long, or until it restarts for another file. Then it runs the same file again. */
  breakDown(ms: number): void {
    if (this.#outage !== 'none' || !this.#runsHeldFile) return;
    const runs = this.#runs;
    const set = (outage: 'begun' | 'reported' | 'none'): void => {
      if (this.#runs?.config.instrument.yaml !== runs?.config.instrument.yaml) return;
      this.#outage = outage;
      this.#changed();
    };
    set('begun');
    if (ms > agentDeadlineMs) this.#clock.setTimeout(() => set('reported'), agentDeadlineMs);
    this.#clock.setTimeout(() => set('none'), ms);
  }

  async request(req: TlsRequest): Promise<TlsResponse> {
    await this.#sleep(1 + this.#random.below(40), req.signal);
    if (this.#random.chance(this.lostRequests)) throw unreachable();
    const answer = await this.#answer(req);
    await this.#sleep(1 + this.#random.below(40), req.signal);
    if (this.#random.chance(this.lostAnswers)) throw unreachable();
    return answer;
  }

  /** Opens a session: what one side sends arrives in order, or ends the session for both. */
  async open(request: SocketRequest, handlers: MessageHandlers): Promise<MessageSocket | null> {
    if (!this.#hasSessions) return null;
    await this.#sleep(1 + this.#random.below(40), request.signal);
    if (this.#random.chance(this.lostRequests)) throw unreachable();
    let isOpen = true;
    const end = (reason: string): void => {
      if (isOpen) handlers.closed(reason);
      isOpen = false;
    };
    request.signal.addEventListener('abort', () => end('aborted'), { once: true });
    let last = Promise.resolve();
    const travel = (lost: number, arrive: () => void): void => {
      const isLost = this.#random.chance(lost);
      const delay = this.#sleep(1 + this.#random.below(40), undefined);
      last = Promise.all([last, delay]).then(() => {
        if (isLost) end('cut');
        else if (isOpen) arrive();
      });
    };
    const tell = (message: object): void =>
      travel(this.lostAnswers, () => handlers.message(Buffer.from(JSON.stringify(message))));
    let told = 0;
    const status = (): object => {
      told = this.#revision;
      return { status: this.#status };
    };
    const report = async (): Promise<void> => {
      let isDue = true;
      while (isOpen) {
        if (isDue || told !== this.#revision) tell(status());
        const changed = new Promise<boolean>((resolve) => this.#waiting.add(() => resolve(false)));
        isDue = await Promise.race([changed, this.#sleep(25_000, undefined).then(() => true)]);
      }
    };
    void report();
    return {
      send: (pieces) => {
        travel(this.lostRequests, () => {
          const { put } = JSON.parse(Buffer.concat(pieces).toString()) as { put: PutMessage };
          this.#put(put.hash, Buffer.from(canonicalJson(put.config)), put.restart === 'now');
          tell({ put: { hash: put.hash, ack: this.#ack }, ...status() });
        });
        return Promise.resolve();
      },
      pause: () => {},
      resume: () => {},
      close: end,
      destroy: () => end('destroyed'),
    };
  }

  async #answer(req: TlsRequest): Promise<TlsResponse> {
    const url = new URL(req.path, 'https://agent');
    const send = (body: unknown, status = 200): TlsResponse => ({
      status,
      headers: {},
      body: Buffer.from(JSON.stringify(body)),
    });
    const hash = hashOfPutPath(url.pathname);
    if (req.method === 'PUT' && hash !== null) {
      this.#put(hash, Buffer.concat(req.body as Uint8Array[]), url.searchParams.get('restart') !== 'hold');
      return send(this.#ack);
    }
    if (url.pathname === capturePath) return this.#held ? send(this.#held.config) : send({}, 404);
    if (url.pathname === runningPath) return this.#runs ? send(this.#runs.config) : send({}, 404);
    if (url.searchParams.get('after') === String(this.#revision)) {
      const changed = new Promise<void>((resolve) => this.#waiting.add(resolve));
      await Promise.race([changed, this.#sleep(Number(url.searchParams.get('wait')) * 1_000, req.signal)]);
    }
    return send(this.#status);
  }

  get #status(): object {
    const { restarting } = this;
    return {
      ...{ node: this.#node, revision: this.#revision, ack: this.#held && this.#ack, monitors: [] },
      instrument: {
        ...{ up: this.#outage === 'none', restarts: 0 },
        ...(this.#runs ? { runs: this.#runs.hash } : {}),
        ...(restarting ? { restarting } : {}),
      },
      totals: { series: 0, samplesAppended: 0, rejected: 0 },
    };
  }

  #put(hash: string, body: Buffer, granted: boolean): void {
    expect(`sha256:${sha256Hex(body)}`).toBe(hash);
    if (this.#held?.hash === hash && !this.#held.failed) {
      if (this.#held.granted || !granted) return;
      this.#held.granted = true;
    } else {
      this.#held = { hash, config: JSON.parse(body.toString()) as CaptureConfig, granted, failed: false };
    }
    this.#changed();
    this.#cancel();
    if (this.#runsHeldFile) this.#runs = this.#held;
    if (!this.restarting) return;
    const { held, isBad } = { held: this.#held, isBad: this.#held.config.instrument.yaml.includes(String(badPort)) };
    this.#cancel = this.#clock.setTimeout(
      () => {
        if (isBad) held.failed = true;
        else {
          this.#runs = held;
          this.#outage = 'none';
        }
        this.#changed();
      },
      isBad ? agentDeadlineMs : 1_000 + this.#random.below(20_000),
    );
  }

  get #ack(): object {
    const { hash } = this.#held!;
    const isSilent = this.#runsHeldFile && this.#outage === 'reported';
    if (this.#held!.failed || isSilent) {
      return { node: this.#node, hash, phase: 'Failed', reason: 'InstrumentNotRunning' };
    }
    const phase = this.#runsHeldFile && this.#outage === 'none' ? 'Running' : 'Written';
    return { node: this.#node, hash, phase };
  }

  #changed(): void {
    this.#revision++;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.setTimeout(resolve, ms);
      const abort = (): void => {
        cancel();
        reject(new OperatorError('ERR_ABORTED', 'aborted'));
      };
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }
}

function unreachable(): OperatorError {
  return new OperatorError('ERR_AGENT_UNREACHABLE', 'the connection was cut');
}

/** Runs a random history of edits, faults and leader changes, and then ends all faults. */
async function history(
  seed: number,
): Promise<{ agents: ModelAgent[]; hub: CaptureHub; wanted: string[]; end: () => Promise<void> }> {
  const [random, clock] = [new Random(seed), new FakeClock()];
  // In every second history some agents are of version 0.1.0, which has no sessions.
  const agents = nodes.map((node, i) => new ModelAgent(node, clock, random, seed % 2 === 0 || i % 2 === 0));
  const ports = new Map([
    ['shop/m', 7_000],
    ['pay/m', 7_000],
  ]);
  let [generation, interval, hosts, late] = [1, 5, 1, 0];
  const read = (): World => ({
    ...aWorld({
      nodes: nodes.map((name) => ({ name, labels: {} })),
      pods: nodes.flatMap((node, i) => [
        aPod(`shop/web-${i}`, node),
        ...(i < 2 ? [aPod(`pay/ledger-${i}`, node)] : []),
        aPod(`shop/late-${late}`, node),
      ]),
      policies: [
        aPolicy(
          'p',
          { rollout: { minInterval: '30s', maxUnavailable: 2 }, instrument: { exportInterval: `${interval}s` } },
          { generation: interval },
        ),
      ],
      monitors: Array.from(ports, ([path, port]) =>
        aMonitor(path, { selector: {}, ports: [{ port }] }, { generation }),
      ),
    }),
    ready: new Set(nodes),
    agents: new Map(
      nodes.map((node, i) => [
        node,
        { node, host: `10.0.${i}.${hosts}`, uid: `pod-${i}`, isShared: false, fault: null },
      ]),
    ),
  });
  const transport = {
    request: (req: TlsRequest) => agents[Number(req.host.split('.')[2])]!.request(req),
    open: (req: SocketRequest, handlers: MessageHandlers) =>
      agents[Number(req.host.split('.')[2])]!.open(req, handlers),
    generation: 1,
  };
  const lead = (): { hub: CaptureHub; stop: () => Promise<void> } => {
    const hub = new CaptureHub({
      ...{ clock, logger: silentLogger, random: () => random.next(), read, namespace: 'svc-system', agentPort: 1 },
      ...{ environment: aWorld().environment, transport: () => transport },
    });
    const stopped = new AbortController();
    const done = hub.run(stopped.signal);
    return {
      hub,
      stop: async () => {
        stopped.abort();
        await done;
      },
    };
  };
  let leader = lead();
  await clock.advance(60_000);
  for (let step = 0; step < 12; step++) {
    for (const agent of random.some(agents, 0.3)) {
      agent.lostRequests = random.pick([0, 0.3, 0.9]);
      agent.lostAnswers = random.pick([0, 0.3, 0.9]);
    }
    if (random.chance(0.2)) random.pick(agents).breakDown(random.pick([30_000, 120_000, 300_000]));
    const what = random.below(10);
    if (what < 6) {
      generation++;
      const last = step === 11;
      ports.set(random.pick([...ports.keys()]), !last && random.chance(0.15) ? badPort : 7_000 + step);
    } else if (what === 6) interval = 5 + random.below(5);
    else if (what === 7) hosts++;
    else if (what === 8) {
      await leader.stop();
      leader = lead();
    } else late++;
    leader.hub.changed();
    await clock.advance(random.pick([500, 5_000, 45_000]));
  }
  // In some histories an instrument is down while only the rules of its node change, and runs again afterwards.
  if (random.chance(0.5)) {
    random.pick(agents).breakDown(300_000);
    await clock.advance(100_000);
  }
  for (const [path, port] of ports) if (port === badPort) ports.set(path, 7_100);
  generation++;
  leader.hub.changed();
  // No edit follows the last lost request: an edit would send every config again, and so repair what was lost.
  await clock.advance(random.pick([5_000, 45_000, 120_000]));
  for (const agent of agents) agent.lostRequests = agent.lostAnswers = 0;
  await clock.advance(10 * 60_000);
  const shop = `- k8s_namespace: shop\n      open_ports: "${ports.get('shop/m')}"`;
  const wanted = [shop, `interval: "${interval}s"`];
  return { agents, hub: leader.hub, wanted, end: leader.stop };
}

test.each(Array.from({ length: 30 }, (_, i) => i + 1))(
  'whatever requests and answers were lost, in the end each node runs the newest file that concerns it (seed %i)',
  async (seed) => {
    const { agents, hub, wanted, end } = await history(seed);
    const states = nodes.map((name) => hub.nodes.get(name)!);
    expect(states.map(({ state, failure }) => ({ state, failure }))).toEqual(
      nodes.map(() => ({ state: 'running', failure: null })),
    );
    const behind = states.filter(({ desired }, i) => agents[i]!.runs !== desired!.config.instrument.yaml);
    expect(behind.filter(({ hold }) => hold !== 'Unconcerned')).toEqual([]);
    // All nodes have pods of `shop`, and the export interval concerns all nodes: only an edit of the monitor in `pay`,
    // which has pods on two nodes, may be missing from a file.
    expect(agents.flatMap(({ runs }) => wanted.filter((text) => !runs?.includes(text)))).toEqual([]);
    expect(behind.every(({ name }) => name === 'node-3' || name === 'node-4')).toBe(true);
    await end();
  },
);
