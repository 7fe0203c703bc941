import { Gate } from '../../base/turns/gate.ts';
import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/errors.ts';
import { builtinRetention, Compiler, planRollout, secretRefsOf, type CompileResult } from '../../capture/index.ts';
import { AgentLink, type LinkDeps } from './agent-link.ts';
import { Files, namespacesByNode } from './concern.ts';
import { Debounce } from './debounce.ts';
import { ExportSecretStore, type SecretAbsence } from './exports/export-secrets.ts';
import type { RememberedFailure } from './failures/failure-memory.ts';
import type { HubChange, HubOptions, World } from './hub-options.ts';
import { knownOf, NodeState } from './node-state.ts';
import { UnsentExports } from './exports/unsent-exports.ts';

function noChanges(): { compiled: boolean; monitors: Set<string>; nodes: Set<string> } {
  return { compiled: false, monitors: new Set(), nodes: new Set() };
}

/** Changes of objects are collected this long before a compile. Units: ms. */
const compileQuiet = { quietMs: 100, maxMs: 500 };
/** Changes of agents are collected this long before listeners are notified. Units: ms. */
const notifyQuiet = { quietMs: 50, maxMs: 250 };
/**
 * Acknowledgements are collected this long, so that a thousand at a time cause one new plan, not a thousand. Units: ms.
 */
const planQuiet = { quietMs: 10, maxMs: 250 };
/** How long after a failed push the agent is polled again. Units: ms. */
const reconnectMs = 1_000;
/** The largest number of pushes in flight at a time. */
const maxPushes = 64;
/** The largest number of agents to which connections are opened at a time. */
const maxGreetings = 32;
const none: ReadonlySet<string> = new Set();

/**
 * The leader's capture loop: objects → compile → rollout plan → pushes → acknowledgements → the writers of statuses.
 *
 * Flow: `changed()` after any event → compile (collected for 100 ms) → set the target of each node → plan → push. An
 * `AgentLink` waits for changes of each agent's status; each change leads to a new plan.
 * Guarantees: one push per node at a time, always of the config that the plan wants at that moment; an agent that
 * connects late or again gets the current config; a config that fails is replaced by the last one that ran there; a
 * compile that throws leaves the last one in force.
 * Caveats: configs from the time of earlier leaders are read from the agents, failures from that time from `failures`.
 */
export class CaptureHub {
  readonly #options: HubOptions;
  readonly #nodes = new Map<string, NodeState>();
  readonly #links = new Map<string, AgentLink>();
  readonly #linkDeps: LinkDeps;
  readonly #listeners = new Set<(change: HubChange) => void>();
  readonly #tasks = new Set<Promise<unknown>>();
  readonly #compiling: Debounce;
  readonly #notifying: Debounce;
  readonly #planning: Debounce;
  readonly #secrets: ExportSecretStore | null;
  #result: CompileResult | null = null;
  #compileError: string | null = null;
  #signal: AbortSignal | null = null;
  #changes = noChanges();
  /** Failures under earlier leaders, of nodes that are not known yet. */
  #before = new Map<string, RememberedFailure>();
  readonly #compiler = new Compiler();
  #cancelWake: () => void = () => {};
  #cancelExpiry: () => void = () => {};
  /** When the next plan is due without a change. Units: ms of the monotonic clock. */
  #wakesAt = Infinity;
  /** In the last plan no node waited for another, for its turn or for its agent, and none had a failure. */
  #isCalm = false;
  readonly #files = new Files();
  readonly #unsent = new UnsentExports();
  /** An agent has reported unsent data that the newest compile did not know. */
  #isOutdated = false;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#compiling = new Debounce(options.clock, compileQuiet, () => this.#compile());
    this.#planning = new Debounce(options.clock, planQuiet, () => this.#plan());
    this.#secrets = options.readSecret
      ? new ExportSecretStore({
          read: options.readSecret,
          clock: options.clock,
          logger: options.logger,
          onChange: () => this.#secretsChanged(),
        })
      : null;
    this.#notifying = new Debounce(options.clock, notifyQuiet, () => this.#notify());
    this.#linkDeps = {
      ...options,
      secrets: this.#secrets,
      pushes: new Gate(maxPushes),
      greetings: new Gate(maxGreetings),
      track: (task) => this.#track(task),
      onChange: (node) => this.#nodeChanged(node),
      onUnreachable: (link) => this.#reconnectLater(link),
    };
  }

  /** The newest compile; null until the first one. */
  get result(): CompileResult | null {
    return this.#result;
  }

  /** Why the newest compile failed, if it did; the previous one stays in force. */
  get compileError(): string | null {
    return this.#compileError;
  }

  get nodes(): ReadonlyMap<string, NodeState> {
    return this.#nodes;
  }

  /**
   * Retention of metrics on a node by the newest compile; undefined for a node that is not in the compile. Units: ms.
   */
  metricsKeptMs(node: string): number | undefined {
    const compiled = this.#result?.nodes.get(node);
    return compiled && (compiled.config.retention.metrics.timeMs ?? builtinRetention.metrics.timeMs);
  }

  /** Calls back after changes, at most a few times a second. The returned function unsubscribes. */
  onChange(listener: (change: HubChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells the hub that the result of `read` has changed. */
  changed(): void {
    if (this.#signal && !this.#signal.aborted) this.#compiling.call();
  }

  /** Tells the hub that a node's agent has a new certificate: an unreachable agent is retried immediately. */
  certified(name: string): void {
    const link = this.#links.get(name);
    if (!link || this.#nodes.get(name)?.reachable !== false) return;
    link.close();
    this.#reconnect(link);
  }

  /** Leads until the signal aborts; resolves when all its work has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { failures } = this.#options;
    this.#before = new Map((await failures?.load(signal))?.map((f) => [f.node, f]));
    this.#signal = signal;
    if (!signal.aborted) this.#compile();
    await aborted(signal);
    this.#compiling.cancel();
    this.#notifying.cancel();
    this.#planning.cancel();
    this.#secrets?.stop();
    await failures?.stop();
    this.#cancelWake();
    this.#cancelExpiry();
    for (const link of this.#links.values()) link.close(signal.reason);
    await Promise.allSettled(this.#tasks);
    this.#links.clear();
    this.#nodes.clear();
    this.#result = null;
  }

  #compile(): void {
    const { read, environment, logger, clock, metrics } = this.#options;
    const started = clock.monotonic();
    this.#isOutdated = false;
    try {
      const world = read();
      this.#compileAgainAt(world.validUntilMs ?? Infinity);
      const before = this.#result;
      this.#result = this.#compiler.compile({ ...world, environment, unsent: this.#unsent.of(this.#nodes.values()) });
      this.#compileError = null;
      for (const [key, outcome] of this.#result.monitors) {
        if (before?.monitors.get(key) !== outcome) this.#changes.monitors.add(key);
      }
      this.#changes.compiled = true;
      this.#secrets?.want([...this.#result.nodes.values()].flatMap((n) => secretRefsOf(n.config)));
      this.#syncNodes(world);
      this.#unsent.compiled(this.#nodes.values());
    } catch (error) {
      this.#compileError = errorText(error);
      logger.error('capture compile failed, the last one stays in force', { error: this.#compileError });
    }
    metrics?.compiled((clock.monotonic() - started) / 1000, this.#compileError === null);
    this.#plan();
    this.#notifying.call();
  }

  #compileAgainAt(expiry: number): void {
    const { clock } = this.#options;
    this.#cancelExpiry();
    if (expiry === Infinity) return;
    this.#cancelExpiry = clock.setTimeout(() => this.changed(), Math.max(0, expiry - clock.monotonic()));
  }

  #syncNodes(world: World): void {
    const namespaces = namespacesByNode(world);
    const wanted = new Set(world.nodes.map((n) => n.name));
    for (const name of [...this.#nodes.keys()]) if (!wanted.has(name)) this.#nodes.delete(name);
    for (const name of wanted) {
      const node = this.#nodes.get(name) ?? this.#newNode(name);
      node.ready = world.ready.has(name);
      node.namespaces = namespaces.get(name) ?? none;
      const desired = this.#result?.nodes.get(name);
      if (desired) node.aim(desired);
    }
    this.#syncLinks(world);
  }

  #newNode(name: string): NodeState {
    const node = new NodeState(name, this.#before.get(name), this.#files, this.#options.restartBudget);
    this.#before.delete(name);
    this.#nodes.set(name, node);
    return node;
  }

  #syncLinks(world: World): void {
    if (this.#signal?.aborted !== false) return;
    const transport = this.#options.transport();
    for (const [name, link] of this.#links) {
      if (this.#nodes.has(name) && link.isTo(world.agents.get(name))) continue;
      link.close();
      this.#links.delete(name);
    }
    for (const node of this.#nodes.values()) {
      const agent = world.agents.get(node.name);
      node.hasAgent = agent !== undefined;
      if (!agent) node.lost(new Error('no agent pod runs on the node'));
      else {
        if (transport && !this.#links.has(node.name)) {
          const link = new AgentLink(node, agent, transport, this.#linkDeps);
          this.#links.set(node.name, link);
          this.#track(link.follow());
        }
        const back = node.inPod(agent, this.#options.clock.monotonic());
        if (back) this.#links.get(node.name)?.push(back);
      }
    }
  }

  /** Why a Secret that an export refers to has no value, once that is known. */
  secretAbsence(ref: string): SecretAbsence | undefined {
    return this.#secrets?.absence(ref);
  }

  #secretsChanged(): void {
    for (const link of this.#links.values()) if (link.node.reachable) link.deliverSecrets();
    for (const [key, { exports }] of this.#result?.monitors ?? []) {
      if (exports.length > 0) this.#changes.monitors.add(key);
    }
    this.#notifying.call();
  }

  /**
   * The acknowledgements of a whole fleet arrive together, and a plan looks at every node. So a plan is made only where it
   * may change something: while no node waits, it could change nothing but the node that reported.
   */
  #nodeChanged(node: NodeState): void {
    this.#changes.nodes.add(node.name);
    this.#isOutdated ||= this.#unsent.isNews(node);
    if (this.#isOutdated || !this.#isCalm || !node.isSettled || (node.deadline ?? Infinity) < this.#wakesAt)
      this.#planning.call();
    this.#notifying.call();
  }

  #plan(): void {
    // Without a compile no node is known, and a plan of no nodes would forget the failures under earlier leaders.
    if (!this.#result || !this.#signal || this.#signal.aborted) return;
    // A config without the destination of unsent data must not reach an agent that has some.
    if (this.#isOutdated) return this.#compile();
    const now = this.#options.clock.monotonic();
    for (const node of this.#nodes.values()) {
      const back = node.tick(now);
      if (back) this.#links.get(node.name)?.push(back);
    }
    const plan = planRollout(
      [...this.#nodes.values()].flatMap((n) => n.rolloutNode(now) ?? []),
      now,
    );
    for (const node of this.#nodes.values()) {
      node.hold = plan.hold.get(node.name) ?? null;
      node.waitsUntil = this.#wallTime(plan.until.get(node.name), node.waitsUntil);
      const back = node.putBack;
      if (back && node.reachable) this.#links.get(node.name)?.push(back, 'hold');
    }
    for (const [names, restart] of [
      [plan.push, 'now'],
      [plan.deliver, 'hold'],
    ] as const) {
      for (const name of names) {
        const { desired } = this.#nodes.get(name)!;
        if (desired) this.#links.get(name)?.push(knownOf(desired), restart);
      }
    }
    this.#wakeAt(plan.wakeAt);
    const failures = [...this.#nodes.values()].flatMap((n) => n.remembered ?? []);
    this.#isCalm = plan.hold.size === 0 && failures.length === 0;
    this.#options.failures?.remember(failures);
  }

  /**
   * A monotonic time as wall time; keeps the previous value when both are within the same second, so that a status does
   * not flicker.
   */
  #wallTime(monotonic: number | undefined, before: number | null): number | null {
    if (monotonic === undefined) return null;
    const { clock } = this.#options;
    const wall = clock.now() + monotonic - clock.monotonic();
    return before !== null && Math.abs(wall - before) < 1_000 ? before : wall;
  }

  /** Plans again when a wait is over, or an instrument has taken too long. */
  #wakeAt(planned: number | null): void {
    this.#cancelWake();
    this.#wakesAt = planned ?? Infinity;
    for (const { deadline } of this.#nodes.values()) this.#wakesAt = Math.min(this.#wakesAt, deadline ?? Infinity);
    if (this.#wakesAt === Infinity) return;
    const wait = Math.max(0, this.#wakesAt - this.#options.clock.monotonic());
    this.#cancelWake = this.#options.clock.setTimeout(() => this.#plan(), wait);
  }

  /** A long poll in flight may hang for its whole wait on a dead connection, so it is restarted. */
  #reconnectLater(link: AgentLink): void {
    link.close();
    this.#options.clock.setTimeout(() => {
      if (this.#links.get(link.node.name) === link) this.#reconnect(link);
    }, reconnectMs);
  }

  /**
   * Replaces a closed link by a link to the agent's current address. While the cluster cannot be read, it tries again.
   */
  #reconnect(link: AgentLink): void {
    const { logger, read } = this.#options;
    const { name } = link.node;
    let world: World;
    try {
      world = read();
    } catch (error) {
      logger.error('an agent cannot be reconnected to yet', { node: name, error: errorText(error) });
      this.#reconnectLater(link);
      return;
    }
    this.#links.delete(name);
    this.#syncLinks(world);
  }

  #notify(): void {
    const change: HubChange = this.#changes;
    this.#changes = noChanges();
    for (const listener of this.#listeners) listener(change);
  }

  #track(task: Promise<unknown>): void {
    const tracked = task
      .catch((error: unknown) => this.#options.logger.error('capture task failed', { error: errorText(error) }))
      .finally(() => this.#tasks.delete(tracked));
    this.#tasks.add(tracked);
  }
}
