import type { Gate } from '../../base/turns/gate.ts';
import { agentIdentity } from '../../api/agents/agent-certificate.ts';
import { sleep, type Clock } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import {
  AgentClient,
  secretRefsOf,
  type AgentStatus,
  type AgentTransport,
  type CaptureConfig,
} from '../../capture/index.ts';
import type { Delivery, ExportSecretStore } from './exports/export-secrets.ts';
import type { AgentPod } from './facts.ts';
import type { CaptureMetrics } from './metrics.ts';
import type { KnownConfig, NodeState } from './node-state.ts';

/** The pause before the next poll of an agent that answered early although its status had not changed. Units: ms. */
const idleMs = 1_000;
const firstBackoffMs = 250;
const lastBackoffMs = 15_000;

/** The resources that the links to all agents share. */
export interface LinkDeps {
  clock: Clock;
  logger: Logger;
  /** Returns a random number in [0, 1). */
  random: () => number;
  /** The namespace of the agents: part of the names in their certificates. */
  namespace: string;
  /** Port of the agents' capture listener. */
  agentPort: number;
  metrics?: CaptureMetrics;
  secrets: ExportSecretStore | null;
  /** Limits the pushes in flight. */
  pushes: Gate;
  /** Limits how many agents this process connects to, or asks for their configs, at the same time. */
  greetings: Gate;
  /** Gives a task to the hub, which owns all links: the hub's run resolves only after the task has ended. */
  track: (task: Promise<unknown>) => void;
  /** Called when the node's state has changed. */
  onChange: (node: NodeState) => void;
  /** Called when a push did not reach the agent. */
  onUnreachable: (link: AgentLink) => void;
}

/**
 * The connection to the agent of one node: its statuses, pushes of configs, deliveries of Secrets. Every outcome goes
 * into the node's state; a config that the state asks to roll back to is pushed immediately.
 *
 * Guarantees: one push at a time; after `close` the hub is not called any more.
 */
export class AgentLink {
  readonly node: NodeState;
  readonly #peer: Pick<AgentPod, 'host' | 'isShared'>;
  readonly #client: AgentClient;
  readonly #deps: LinkDeps;
  readonly #abort = new AbortController();
  #pushing = false;
  #learning = false;
  #delivering = false;
  /** Revision of the secrets that this agent took; after a restart the agent reports none. */
  #delivered = '';

  constructor(node: NodeState, { host, isShared }: AgentPod, transport: AgentTransport, deps: LinkDeps) {
    const names = agentIdentity(node.name, deps.namespace, isShared);
    this.node = node;
    this.#peer = { host, isShared };
    this.#client = new AgentClient(transport, { host, port: deps.agentPort, ...names }, deps.clock);
    this.#deps = deps;
  }

  /** Whether this link uses the current address of the node's agent, and expects the agent's current certificate. */
  isTo(agent: AgentPod | undefined): boolean {
    return agent?.host === this.#peer.host && agent.isShared === this.#peer.isShared;
  }

  close(reason?: unknown): void {
    if (this.#abort.signal.aborted) return;
    if (this.#pushing) this.node.pushLost();
    this.#abort.abort(reason);
  }

  /**
   * Follows the status of the agent until the link is closed: an immediate first one, then each that differs from the
   * last. Each failed attempt is reported once and retried with back-off and jitter (250 ms doubling to 15 s).
   * Connections are opened in turns: of a thousand simultaneous handshakes the last would miss its deadline, and so
   * would every retry. Never throws.
   */
  async follow(): Promise<void> {
    const { clock, greetings, random } = this.#deps;
    const { signal } = this.#abort;
    let revision = 0;
    let fresh = true;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const asked = clock.monotonic();
        const status = fresh
          ? await greetings.run(() => this.#client.connect(signal))
          : await this.#client.nextStatus(revision, signal);
        if (status.node !== this.node.name) {
          throw new OperatorError(
            'ERR_CAPTURE_PUSH',
            `the agent of ${this.node.name} says that it is on ${status.node}`,
          );
        }
        const hasChanged = fresh || status.revision !== revision;
        failures = 0;
        fresh = false;
        revision = status.revision;
        if (hasChanged) this.#heard(status);
        else if (clock.monotonic() - asked < idleMs) await sleep(clock, idleMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#lost(error);
        fresh = true;
        const backoff = Math.min(lastBackoffMs, firstBackoffMs * 2 ** failures++) * (0.5 + random() / 2);
        await sleep(clock, backoff, signal).catch(() => {});
      }
    }
  }

  #heard(status: AgentStatus): void {
    if (this.#abort.signal.aborted) return;
    const { clock, track } = this.#deps;
    const back = this.node.heard(status, { monotonic: clock.monotonic(), wall: clock.now() });
    if (status.secrets !== this.#delivered) this.#delivered = '';
    this.#changed(back);
    const { needs } = this.node;
    if (!this.#learning && (needs.current || needs.running)) track(this.#learn());
  }

  #lost(error: unknown): void {
    if (this.node.reachable) {
      this.#deps.logger.warn('agent does not answer', { node: this.node.name, error: errorText(error) });
    }
    this.node.lost(error);
    this.#changed(null);
  }

  #changed(back: KnownConfig | null): void {
    if (back) this.push(back);
    if (this.node.reachable) this.deliverSecrets();
    this.#deps.onChange(this.node);
  }

  /**
   * Asks the agent for the configs that it has from before this process led, so that a change can be classified as one
   * that restarts the instrument or not. A config that the agent does not return stays unknown: the wanted one is sent
   * as a change of the instrument's file, at the pace of such changes.
   */
  async #learn(): Promise<void> {
    const { node } = this;
    this.#learning = true;
    let back: KnownConfig | null = null;
    if (node.needs.current) {
      const config = await this.#ask('current');
      if (this.#abort.signal.aborted) return;
      if (config === undefined) node.notLearned();
      else if (node.needs.current) back = node.learned(config);
    }
    if (node.needs.running) {
      const config = await this.#ask('running');
      if (this.#abort.signal.aborted) return;
      if (node.needs.running) back = node.learnedRunning(config ?? null) ?? back;
    }
    this.#learning = false;
    this.#changed(back);
  }

  /** The agent's config, null when it has none, undefined when it does not answer with one. */
  async #ask(what: 'current' | 'running'): Promise<CaptureConfig | null | undefined> {
    const { greetings, logger } = this.#deps;
    const { signal } = this.#abort;
    try {
      return await greetings.run(() => this.#client[what](signal));
    } catch (error) {
      if (!signal.aborted) {
        logger.warn('agent did not return its config', { node: this.node.name, what, error: errorText(error) });
      }
      return undefined;
    }
  }

  /** Sends a config, unless another is on its way: the outcome of that push leads to a new plan. */
  push(config: KnownConfig, restart: 'now' | 'hold' = 'now'): void {
    if (this.#pushing) return;
    this.#pushing = true;
    const { clock, pushes, track } = this.#deps;
    this.node.sending(config, restart, clock.monotonic());
    track(pushes.run(() => this.#put(config, restart)));
  }

  async #put(config: KnownConfig, restart: 'now' | 'hold'): Promise<void> {
    const { node } = this;
    const { logger, metrics, onUnreachable } = this.#deps;
    const { signal } = this.#abort;
    const { hash } = config;
    let back: KnownConfig | null = null;
    try {
      const ack = await this.#client.put(hash, config.pieces(), restart, signal);
      back = node.sent(config, ack);
      metrics?.pushed('acknowledged', config.config.instrument.yaml.length);
      logger.info('capture config pushed', { node: node.name, hash, restart, phase: ack.phase });
    } catch (error) {
      if (signal.aborted) return;
      node.pushFailed(config, error);
      metrics?.pushed(node.reachable ? 'refused' : 'unreachable', 0);
      logger.warn('the agent did not accept its capture config', { node: node.name, hash, error: errorText(error) });
    } finally {
      this.#pushing = false;
    }
    if (signal.aborted) return;
    if (!node.reachable) onUnreachable(this);
    this.#changed(back);
  }

  /**
   * Delivers the Secrets of the agent's config when the agent reports another revision of them. Those that a new leader
   * has read so far would replace all that an earlier one delivered, so they go only to an agent that has none, or only
   * what this link delivered. Once an agent has a config without Secrets, it is delivered an empty set, so that it forgets
   * those of an earlier config. A config goes first: a destination that it removes may have its token for its last data.
   */
  deliverSecrets(): void {
    const { secrets, pushes, track } = this.#deps;
    const { desired, status } = this.node;
    if (!secrets || !desired || this.#delivering || this.#pushing) return;
    const refs = secretRefsOf(desired.config);
    const has = status?.secrets;
    if (refs.length === 0 && (has === undefined || !this.node.isSettled)) return;
    const { body, isWhole } = secrets.deliveryFor(refs);
    if (has === body.revision || this.#delivered === body.revision) return;
    if (!isWhole && has !== undefined && has !== this.#delivered) return;
    this.#delivering = true;
    track(pushes.run(() => this.#putSecrets(body, refs.length)));
  }

  async #putSecrets(body: Delivery['body'], wanted: number): Promise<void> {
    const { logger } = this.#deps;
    const { signal } = this.#abort;
    try {
      await this.#client.putSecrets(body, signal);
      this.#delivered = body.revision;
      const delivered = Object.keys(body.secrets).length;
      logger.info('export secrets delivered', { node: this.node.name, secrets: delivered, wanted });
    } catch (error) {
      if (signal.aborted) return;
      logger.warn('the agent did not accept its export secrets', { node: this.node.name, error: errorText(error) });
    } finally {
      this.#delivering = false;
    }
  }
}
