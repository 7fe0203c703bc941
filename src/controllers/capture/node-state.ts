import { isOperatorError, errorText } from '../../base/errors.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import {
  captureHash,
  type Ack,
  type AgentStatus,
  type CaptureConfig,
  type FileChanges,
  type HoldReason,
  type NodeConfig,
  type RolloutNode,
} from '../../capture/index.ts';
import { Files } from './concern.ts';
import type { AgentPod } from './facts.ts';
import type { RememberedFailure } from './failure-memory.ts';
import { isLasting, type InstrumentFault } from './instrument-fault.ts';
import { RestartBudget, restartBudgetRules, restartCauses } from './restart-budget.ts';

/** A config whose content is known. */
export interface KnownConfig {
  hash: string;
  yaml: string;
  config: CaptureConfig;
  /** Its canonical JSON as UTF-8. */
  pieces: () => readonly Uint8Array[];
}

export interface NodeFailure {
  reason: string;
  message: string;
  /** The file that did not run, or null when the agent refused the config as such. */
  yaml: string | null;
  hash: string;
}

/** How long the instrument may take to run a new file before it counts as failed. Units: ms. */
export const runningDeadlineMs = 120_000;

/**
 * What the leader knows of one node: what it should run, what its agent says it runs, what came in between.
 * No I/O: the hub feeds it and acts on what it returns. Times are of the monotonic clock, in ms.
 */
export class NodeState {
  readonly name: string;
  /** The Node object says Ready. */
  ready = false;
  hasAgent = false;
  reachable = false;
  error: string | null = null;
  desired: NodeConfig | null = null;
  status: AgentStatus | null = null;
  hold: HoldReason | null = null;
  /** When a wait for the next restart ends, wall time in ms; null where none is known to. */
  waitsUntil: number | null = null;
  /** Namespaces with a pod on the node. */
  namespaces: ReadonlySet<string> = new Set();
  failure: NodeFailure | null = null;
  lastGood: KnownConfig | null = null;
  #held: { hash: string; known: KnownConfig | null } | null = null;
  #ack: Ack | null = null;
  /** What the instrument was last seen to run; null where that is not known. */
  #runs: KnownConfig | null = null;
  /** The agent says that the instrument runs this one, whose content is not known yet; else null. */
  #runsUnknown: string | null = null;
  readonly #files: Files;
  /** The instrument may restart for the file that the agent holds. */
  #granted = true;
  /** Hash of our newest push: its acknowledgement may come by the long poll before the answer does. */
  #putHash: string | null = null;
  #sentAt: number | null = null;
  #restartedAt: number | null = null;
  readonly #budget: RestartBudget;
  #pod: string | null = null;
  /** The kubelet waits before it starts the instrument again, in its words, though nothing has failed. */
  #backOff: string | null = null;
  /** It has waited since the newest push. */
  #wasBackedOff = false;
  #fault: InstrumentFault | null = null;
  readonly #spansDroppedAt = new Map<string, number>();

  /** `before`: what failed here under another leader. */
  constructor(name: string, before?: RememberedFailure, files = new Files(), budget = restartBudgetRules) {
    this.name = name;
    this.#budget = new RestartBudget(budget);
    this.#files = files;
    if (!before) return;
    const { pod, reason, message, yaml, hash } = before;
    this.failure = { reason, message, yaml, hash };
    this.#pod = pod;
  }

  /** The failure as the next leader has to know it; null without one. */
  get remembered(): RememberedFailure | null {
    return this.failure && { node: this.name, pod: this.#pod ?? '', ...this.failure };
  }

  /** The newest acknowledgement. */
  get ack(): Ack | null {
    return this.#ack;
  }

  /** How the instrument's newest run ended, while it does not run what it should; null when all is well. */
  get fault(): InstrumentFault | null {
    return this.running ? null : this.#fault;
  }

  /** What the kubelet says while it waits before it starts an instrument again that ended without a failure; else null. */
  get backOff(): string | null {
    return this.running ? null : this.#backOff;
  }

  /** The instrument runs what the agent holds, or what is the same for the pods of this node. */
  get running(): boolean {
    return this.#ack?.phase === 'Running' || (this.#ack?.phase === 'Written' && this.hold === 'Unconcerned');
  }

  /** Generations of the config that runs here, the one before while a newer waits; null when none is known to. */
  get runningGenerations(): Readonly<Record<string, number>> | null {
    if (this.running) return this.#held?.known?.config.generations ?? null;
    return this.status?.instrument.up === true ? (this.#runs?.config.generations ?? null) : null;
  }

  /** In one word. */
  get state(): 'running' | 'behind' | 'failed' | 'unreachable' {
    if (this.failure) return 'failed';
    if (!this.reachable) return 'unreachable';
    return this.running && this.#ack?.hash === this.desired?.hash ? 'running' : 'behind';
  }

  /** Which configs of the agent have to be asked for: the one that it holds, and the one that its instrument runs. */
  get needs(): { current: boolean; running: boolean } {
    return { current: this.#held !== null && this.#held.known === null, running: this.#runsUnknown !== null };
  }

  /** A new target. A failure is forgiven when the file (or the refused config) is another one. */
  aim(desired: NodeConfig): void {
    this.desired = desired;
    const f = this.failure;
    if (f && (f.yaml === null ? f.hash !== desired.hash : f.yaml !== desired.yamlHash)) this.failure = null;
    if (this.#held && !this.#held.known) this.#held.known = this.#recall(this.#held.hash);
  }

  /**
   * What the agent said. Returns a config to go back to when the newest one failed.
   * The first word of a node tells when its instrument last started again, so that a new leader keeps the distance.
   */
  heard(status: AgentStatus, now: { monotonic: number; wall: number }): KnownConfig | null {
    const { start, restarts, runs, restarting } = status.instrument;
    if (!this.status && this.#restartedAt === null && start !== undefined && restarts > 0) {
      const age = now.wall - Date.parse(start);
      if (age >= 0) this.#restartedAt = now.monotonic - age;
    }
    this.#noteDroppedSpans(status, now.wall);
    this.status = status;
    this.reachable = true;
    this.error = null;
    if (runs !== undefined && runs !== this.#runs?.hash) {
      this.#runs = this.#recall(runs);
      this.#runsUnknown = this.#runs ? null : runs;
    }
    const back = this.acknowledged(status.ack);
    // A leader before us let it restart, and it has not yet: it takes the place of another as if we had.
    if (restarting === true && status.ack?.phase === 'Written' && this.#putHash === null) {
      this.#granted = true;
      this.#sentAt ??= now.monotonic;
    }
    return back;
  }

  /** When a monitor's ceiling (`namespace/name`) last refused spans here, as far as was heard; wall time in ms. */
  spansDroppedAt(monitor: string): number | null {
    return this.#spansDroppedAt.get(monitor) ?? null;
  }

  /** Agents count from the start of a config on; what is of interest is whether it goes on. */
  #noteDroppedSpans(status: AgentStatus, wall: number): void {
    const before = new Map(this.status?.monitors.map((m) => [`${m.namespace}/${m.name}`, m.droppedSpans ?? 0]));
    for (const { namespace, name, droppedSpans = 0 } of status.monitors) {
      const key = `${namespace}/${name}`;
      const known = before.get(key) ?? 0;
      if (droppedSpans > 0 && droppedSpans !== known) this.#spansDroppedAt.set(key, wall);
    }
  }

  /**
   * What the agent's pod says of the instrument. A fault that will come again with every start fails a config that is
   * on its way at once. In a new pod everything may be better: what failed in the old one is tried again.
   */
  inPod({ uid, fault, backOff = null }: Pick<AgentPod, 'uid' | 'fault' | 'backOff'>, now: number): KnownConfig | null {
    if (this.#pod !== null && this.#pod !== uid) this.failure = null;
    this.#pod = uid;
    // What only waits has its whole time again once the wait is over.
    if (this.#sentAt !== null && this.#backOff !== null && backOff === null) this.#sentAt = now;
    this.#backOff = backOff;
    this.#wasBackedOff ||= backOff !== null;
    const isNew = fault !== null && fault.at !== this.#fault?.at;
    this.#fault = fault;
    if (this.failure && fault && failedToRun.has(this.failure.reason))
      this.failure = { ...this.failure, ...named(fault) };
    return isNew && this.#sentAt !== null && isLasting(fault) ? this.#fail(fault.reason, fault.message) : null;
  }

  /** An acknowledgement, from a status or in answer to a push. Returns a config to go back to. */
  acknowledged(ack: Ack | null): KnownConfig | null {
    this.#ack = ack;
    if (!ack) {
      this.#held = null;
      this.#sentAt = null;
      return null;
    }
    if (this.#held?.hash !== ack.hash) {
      this.#held = { hash: ack.hash, known: this.#recall(ack.hash) };
      // Put by a leader before us, perhaps on hold: granting it once more is harmless, forgetting it is not.
      if (this.#putHash !== ack.hash) this.#granted = ack.phase !== 'Written';
    }
    if (ack.phase === 'Running') {
      this.#sentAt = null;
      this.#wasBackedOff = false;
      this.#granted = true;
      this.#nowRuns(this.#held.known);
      if (ack.hash === this.desired?.hash) this.failure = null;
    }
    if (ack.phase !== 'Failed') return null;
    // The agent sees only that nothing runs. The kubelet's wait is no failure; `tick` judges what comes after it.
    if (this.#wasBackedOff && ack.reason === 'InstrumentNotRunning') return null;
    return this.#fail(ack.reason ?? 'Failed', ack.message ?? 'the agent gave no reason');
  }

  /** The content of what the agent holds; null when it runs on its seed. Returns a config to go back to. */
  learned(config: CaptureConfig | null): KnownConfig | null {
    const found = config && this.#known(config);
    this.#held = found && { hash: found.hash, known: found };
    if (this.#ack?.phase === 'Running' && found) this.#nowRuns(found);
    return this.#failedBefore();
  }

  /** The content of what the agent's instrument runs; null when it is unknown. Returns a config to go back to. */
  learnedRunning(config: CaptureConfig | null): KnownConfig | null {
    this.#runsUnknown = null;
    if (!config) return null;
    this.#nowRuns(this.#known(config));
    return this.#failedBefore();
  }

  #nowRuns(config: KnownConfig | null): void {
    this.#runs = config;
    this.lastGood = config ?? this.lastGood;
    if (config) this.#runsUnknown = null;
  }

  /** What has failed before this leader knew what ran there before. */
  #failedBefore(): KnownConfig | null {
    return this.#ack?.phase === 'Failed' && !this.needs.running ? this.acknowledged(this.#ack) : null;
  }

  #known(config: CaptureConfig): KnownConfig {
    const { text, hash } = this.#files.shared(config.instrument.yaml);
    const whole = { ...config, instrument: { ...config.instrument, yaml: text } };
    return { hash: captureHash(whole), yaml: hash, config: whole, pieces: () => [Buffer.from(canonicalJson(whole))] };
  }

  /** A push begins. From here on the node counts as on its way if its instrument restarts for it. */
  sending(config: KnownConfig, restart: 'now' | 'hold', now: number): void {
    this.#putHash = config.hash;
    const before = this.#held?.known?.yaml ?? null;
    if (before === config.yaml && this.#granted) return;
    this.#granted = restart === 'now';
    if (!this.#granted) {
      this.#sentAt = null;
      return;
    }
    // Leaving the seed is the node's start, not a restart that the next change has to keep its distance from.
    if (this.#held !== null) {
      this.#restartedAt = now;
      if (config.hash === this.desired?.hash) this.#budget.spend(this.restartCauses, now);
    }
    this.#sentAt = now;
    this.#wasBackedOff = this.#backOff !== null;
  }

  /** The agent answered a push. */
  sent(config: KnownConfig, ack: Ack): KnownConfig | null {
    this.#held = { hash: config.hash, known: config };
    return this.acknowledged(ack);
  }

  /** A push did not get through, or was refused. */
  pushFailed(config: KnownConfig, error: unknown): void {
    this.#sentAt = null;
    if (isOperatorError(error, 'ERR_CAPTURE_PUSH') || isOperatorError(error, 'ERR_TOO_LARGE')) {
      this.failure = { reason: 'ConfigRefused', message: errorText(error), yaml: null, hash: config.hash };
    } else this.lost(error);
  }

  /** The agent does not answer. */
  lost(error: unknown): void {
    this.reachable = false;
    this.error = errorText(error);
  }

  /** Time passes. Returns a config to go back to when the instrument took too long; else null. */
  tick(now: number): KnownConfig | null {
    if (this.#sentAt === null || this.#backOff !== null || now < this.#sentAt + runningDeadlineMs) return null;
    if (!this.reachable) return null;
    return this.#fail('NotRunning', `the instrument did not run the new file within ${runningDeadlineMs / 1000} s`);
  }

  /**
   * A file that failed elsewhere waits here for a restart that is not to come: the config to put in its place, so that
   * an instrument that ends by itself starts with what it ran. Null where nothing is to be put back.
   */
  get putBack(): KnownConfig | null {
    if (this.hold !== 'Paused' || this.#granted || this.#held?.known?.yaml !== this.desired?.yamlHash) return null;
    return this.#runs && this.#runs.yaml !== this.desired?.yamlHash ? this.#runs : null;
  }

  /** When `tick` has something to say. */
  get deadline(): number | null {
    return this.#sentAt === null || this.#backOff !== null ? null : this.#sentAt + runningDeadlineMs;
  }

  /** The planner's view; null when there is nothing to plan. */
  rolloutNode(now: number): RolloutNode | null {
    if (!this.desired || !this.hasAgent) return null;
    const concerned = this.#isConcerned(this.desired);
    return {
      name: this.name,
      desired: { hash: this.desired.hash, yaml: this.desired.yamlHash },
      rules: this.desired.rollout,
      reachable: this.reachable && !this.needs.current && !this.needs.running,
      unheard: this.status === null && this.error === null,
      held: this.#held && { hash: this.#held.hash, yaml: this.#held.known?.yaml ?? null },
      granted: this.#granted,
      runs: this.status?.instrument.up === true ? (this.#runs?.yaml ?? null) : null,
      concerned,
      down: this.status !== null && !this.status.instrument.up && this.failure === null,
      sentAt: this.#sentAt,
      restartedAt: this.#restartedAt,
      allowedAt: concerned ? this.#budget.allowedAt(this.restartCauses, now) : now,
      failedYaml: this.failure?.yaml ?? null,
      refusedHash: this.failure && this.failure.yaml === null ? this.failure.hash : null,
    };
  }

  /** The namespaces whose edits ask for the restart that is due; none where a policy or anything else does. */
  get restartCauses(): ReadonlySet<string> {
    if (!this.desired || !this.#runs) return new Set();
    const { generations } = this.desired.config;
    return restartCauses(
      this.#runs.config.generations,
      generations,
      this.#changes(this.#runs, this.desired),
      this.namespaces,
    );
  }

  #isConcerned(desired: NodeConfig): boolean {
    if (!this.#runs) return true;
    if (this.#runs.yaml === desired.yamlHash) return false;
    const { general, namespaces } = this.#changes(this.#runs, desired);
    return general || [...this.namespaces].some((n) => namespaces.has(n));
  }

  #changes(runs: KnownConfig, desired: NodeConfig): FileChanges {
    return this.#files.changes(
      { hash: runs.yaml, text: runs.config.instrument.yaml },
      { hash: desired.yamlHash, text: desired.config.instrument.yaml },
    );
  }

  #fail(reason: string, message: string): KnownConfig | null {
    this.#sentAt = null;
    const held = this.#held;
    if (!held?.known) return null;
    // Going back failed too: nothing better is known, and the first failure is the one worth showing.
    if (this.lastGood?.hash === held.hash && this.failure) return null;
    // The agent sees only that the instrument is not there; its pod often knows why.
    const why = this.#fault && failedToRun.has(reason) ? named(this.#fault) : { reason, message };
    this.failure = { ...why, yaml: held.known.yaml, hash: held.hash };
    return this.lastGood && this.lastGood.yaml !== held.known.yaml ? this.lastGood : null;
  }

  #recall(hash: string): KnownConfig | null {
    if (this.desired?.hash === hash) return knownOf(this.desired);
    if (this.lastGood?.hash === hash) return this.lastGood;
    return this.#held?.known?.hash === hash ? this.#held.known : null;
  }
}

/** Reasons that say no more than that the instrument does not run. */
const failedToRun: ReadonlySet<string> = new Set(['InstrumentNotRunning', 'NotRunning', 'InstrumentCrashed']);

function named({ reason, message }: InstrumentFault): { reason: string; message: string } {
  return { reason, message };
}

export function knownOf(node: NodeConfig): KnownConfig {
  return { hash: node.hash, yaml: node.yamlHash, config: node.config, pieces: node.pieces };
}
