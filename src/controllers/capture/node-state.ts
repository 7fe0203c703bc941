import { isOperatorError, errorText } from '../../base/errors.ts';
import { parseRfc3339 } from '../../base/text/rfc3339.ts';
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
import type { RememberedFailure } from './failures/failure-memory.ts';
import { isLasting, type InstrumentFault, type InstrumentWait } from './failures/instrument-fault.ts';
import { SpanDrops } from './limits.ts';
import { RestartBudget, restartBudgetRules, restartCauses } from './restart-budget.ts';
import { isUnwritten, writeRetryMs } from './failures/write-failure.ts';

/** A config whose content is known. */
export interface KnownConfig {
  hash: string;
  yamlHash: string;
  config: CaptureConfig;
  /** Its canonical JSON as UTF-8. */
  pieces: () => readonly Uint8Array[];
}

export interface NodeFailure {
  reason: string;
  message: string;
  /** Hash of the file that did not run, or null when the agent refused the whole config. */
  yamlHash: string | null;
  hash: string;
  /** The instrument was unfit before it got the file, and the failure says nothing about the file on other nodes. */
  alone: boolean;
}

/**
 * The config that the agent holds; `known` is its content as far as known. The hash is empty when the agent could not
 * write the newest config and may hold a part of it: no config has this hash, so any desired one is sent.
 */
interface Held {
  readonly hash: string;
  known: KnownConfig | null;
}

/**
 * A push of a config to the agent, with the state to restore if the push has no effect, and the state that holds when
 * the agent has taken the config.
 */
interface Push {
  readonly hash: string;
  readonly before: { readonly granted: boolean; readonly restartedAt: number | null };
  readonly after: { readonly granted: boolean; readonly sentAt: number | null };
  /** Whether failures count anew from this push on. */
  readonly anew: boolean;
  /** The namespaces whose restart budgets were each charged one restart for this push. */
  spent: ReadonlySet<string>;
}

/** Time limit for the instrument to run a new file; after it the file counts as failed. Units: ms. */
export const runningDeadlineMs = 120_000;

/**
 * The leader's knowledge of one node: the config it should run, the one its agent reports, and the failures in between.
 * No I/O: the hub feeds it and acts on the results. Times are of the monotonic clock, in ms.
 */
export class NodeState {
  readonly name: string;
  /** Whether the Node object is Ready. */
  ready = false;
  hasAgent = false;
  reachable = false;
  error: string | null = null;
  desired: NodeConfig | null = null;
  status: AgentStatus | null = null;
  /**
   * What to add to a time of `status` for the time by our clock, ms: how far our clock was ahead of the node's when the
   * status arrived. 0 when the agent does not say its time.
   */
  clockOffsetMs = 0;
  hold: HoldReason | null = null;
  /** When a wait for the next restart ends, wall time in ms; null when no such end is known. */
  waitsUntil: number | null = null;
  /** Namespaces with a pod on the node. */
  namespaces: ReadonlySet<string> = new Set();
  failure: NodeFailure | null = null;
  lastGood: KnownConfig | null = null;
  readonly spanDrops = new SpanDrops();
  #held: Held | null = null;
  /** Hash of the config that the agent holds and did not return when it was asked. */
  #withheld: string | null = null;
  #ack: Ack | null = null;
  /** The config that the instrument was last seen to run; null when unknown. */
  #runs: KnownConfig | null = null;
  /** Hash of the config that the agent reports as running, while its content is not known yet; else null. */
  #runsUnknown: string | null = null;
  readonly #files: Files;
  /** Whether the instrument may restart for the file that the agent holds. */
  #granted = true;
  /** Hash of our newest push: its acknowledgement may arrive in a status before the answer to the push. */
  #putHash: string | null = null;
  /** When our newest push began. */
  #putAt: number | null = null;
  #sentAt: number | null = null;
  #restartedAt: number | null = null;
  readonly #budget: RestartBudget;
  /** The push in flight; null when there is none. */
  #push: Push | null = null;
  /** A push that ended without an answer, until the agent's next status. */
  #lost: Push | null = null;
  #pod: string | null = null;
  #wait: InstrumentWait | null = null;
  /** Whether the kubelet has made the instrument wait since the newest push. */
  #hasWaited = false;
  #fault: InstrumentFault | null = null;
  /** The reason of the instrument's newest failure since the newest push that it may restart for; null once it runs. */
  #failedFor: string | null = null;
  /**
   * Why the instrument fails with any file: it failed for this reason with one that is not to blame, and has not run
   * since. Null while it is not known to.
   */
  #unfitFor: string | null = null;

  /** `before`: the failure on this node that an earlier leader recorded. */
  constructor(name: string, before?: RememberedFailure, files = new Files(), budget = restartBudgetRules) {
    this.name = name;
    this.#budget = new RestartBudget(budget);
    this.#files = files;
    if (!before) return;
    const { pod, reason, message, yamlHash, hash, alone = false } = before;
    this.failure = { reason, message, yamlHash, hash, alone };
    this.#unfitFor = alone ? reason : null;
    this.#pod = pod;
  }

  /** The failure in the form that the next leader needs; null without a failure. */
  get remembered(): RememberedFailure | null {
    return this.failure && { node: this.name, pod: this.#pod ?? '', ...this.failure };
  }

  /** The newest acknowledgement. */
  get ack(): Ack | null {
    return this.#ack;
  }

  /** What the node's status names as the reason that it does not run what it should; null without one. */
  get trouble(): { reason: string; message: string } | null {
    if (this.failure || !isUnwritten(this.#ack)) return this.failure;
    const { reason = '', message = '' } = this.#ack!;
    return { reason, message };
  }

  /** How the instrument's newest run ended, while it does not run the file it should; null otherwise. */
  get fault(): InstrumentFault | null {
    return this.running ? null : this.#fault;
  }

  /** What the kubelet waits for before it starts the instrument, while it does not run the file it should; else null. */
  get wait(): InstrumentWait | null {
    return this.running ? null : this.#wait;
  }

  /** Whether the instrument runs the file that the agent holds, or one that is equal for the pods of this node. */
  get running(): boolean {
    return this.#ack?.phase === 'Running' || (this.#ack?.phase === 'Written' && this.hold === 'Unconcerned');
  }

  /** Generations of the running config, which is the previous one while a newer one waits; null when none is known. */
  get runningGenerations(): Readonly<Record<string, number>> | null {
    if (this.running) return this.#held?.known?.config.generations ?? null;
    return this.status?.instrument.up === true ? (this.#runs?.config.generations ?? null) : null;
  }

  /** The state in one word. */
  get state(): 'running' | 'behind' | 'failed' | 'unreachable' {
    if (this.trouble) return 'failed';
    if (!this.reachable) return 'unreachable';
    return this.running && this.#ack?.hash === this.desired?.hash ? 'running' : 'behind';
  }

  /** The configs to request from the agent: the one that it holds, and the one that its instrument runs. */
  get needs(): { current: boolean; running: boolean } {
    const held = this.#held;
    const current = held !== null && held.known === null && held.hash !== this.#withheld;
    return { current, running: this.#runsUnknown !== null };
  }

  /** Whether nothing in the node's own state calls for a plan: its agent runs what it should, as far as known. */
  get isSettled(): boolean {
    if (!this.reachable || !this.hasAgent || this.failure || this.#lost || !this.#granted) return false;
    const { current, running } = this.needs;
    return this.desired !== null && this.#held?.hash === this.desired.hash && !current && !running;
  }

  /** Sets a new target. Clears the failure unless the target has the file that failed (or is the refused config). */
  aim(desired: NodeConfig): void {
    this.desired = desired;
    const f = this.failure;
    if (f && (f.yamlHash === null ? f.hash !== desired.hash : f.yamlHash !== desired.yamlHash)) this.failure = null;
    if (this.#held && !this.#held.known) this.#held.known = this.#recall(this.#held.hash);
  }

  /**
   * Takes the agent's status. Returns a config to roll back to when the newest one failed.
   * The first status of a node shows when its instrument last restarted, so that a new leader, too, keeps the least
   * interval between restarts.
   */
  heard(status: AgentStatus, now: { monotonic: number; wall: number }): KnownConfig | null {
    const { start, restarts, runs, restarting } = status.instrument;
    this.clockOffsetMs = status.time === undefined ? 0 : now.wall - (parseRfc3339(status.time) ?? now.wall);
    if (!this.status && this.#restartedAt === null && start !== undefined && restarts > 0) {
      const age = now.wall - (Date.parse(start) + this.clockOffsetMs);
      if (age >= 0) this.#restartedAt = now.monotonic - age;
    }
    this.spanDrops.note(status.monitors, now.wall);
    this.status = status;
    // While the agent was away, as in a restart of the node, the instrument could not run: the time limit starts anew.
    if (!this.reachable && this.#sentAt !== null) this.#sentAt = now.monotonic;
    this.reachable = true;
    this.error = null;
    if (runs !== undefined && runs !== this.#runs?.hash) {
      this.#runs = this.#recall(runs);
      this.#runsUnknown = this.#runs ? null : runs;
    }
    const back = this.acknowledged(status.ack);
    // An earlier leader allowed a restart that has not happened yet. The instrument counts as restarting, as if this
    // leader had allowed it.
    if (restarting === true && status.ack?.phase === 'Written' && this.#putHash === null) {
      this.#granted = true;
      this.#sentAt ??= now.monotonic;
    }
    this.#settleLost(status);
    return back;
  }

  /** The first status after a lost push shows whether the agent took the config. */
  #settleLost({ ack, instrument }: AgentStatus): void {
    const lost = this.#lost;
    this.#lost = null;
    if (!lost) return;
    if (isUnwritten(ack)) return this.#undo(lost);
    const waits = ack?.phase === 'Written' && instrument.restarting !== true;
    if (ack?.hash !== lost.hash || waits) this.#undo(lost);
    // The status decides, not the earlier state: an agent that took the config may still wait for the permission to
    // restart the instrument.
    this.#granted = !waits;
  }

  /**
   * Takes the pod's report on the instrument. A fault that will recur at every start makes the config that is being
   * rolled out fail at once. In a new pod the cause may be gone: a config that failed in the old pod is tried again, and
   * one that was being rolled out gets its whole time limit again. What the new instrument runs is not known yet.
   * After a rollback, a fault may still be one of the file that failed: the kubelet may start the instrument once more
   * before the agent has written the config that returns. `tick` and the agent's acknowledgement judge that config.
   */
  inPod({ uid, fault, wait = null }: Pick<AgentPod, 'uid' | 'fault' | 'wait'>, now: number): KnownConfig | null {
    if (this.#pod !== null && this.#pod !== uid) {
      this.failure = null;
      this.#runs = null;
      this.#runsUnknown = null;
      if (this.#sentAt !== null) this.#sentAt = now;
    }
    this.#pod = uid;
    // The wait of the kubelet does not count: after it, the config gets its whole time limit, sent anew or not.
    const isOver = this.#wait !== null && wait === null;
    if (isOver && (this.#sentAt !== null || this.#isDown)) this.#sentAt = now;
    this.#wait = wait;
    this.#hasWaited ||= wait !== null;
    const isNew = fault !== null && fault.at !== this.#fault?.at;
    this.#fault = fault;
    if (this.failure && fault && failedToRun.has(this.failure.reason))
      this.failure = { ...this.failure, ...named(fault), alone: this.failure.alone && this.#isAlone(fault.reason) };
    if (!isNew || this.#isRollback) return null;
    this.#failedFor = fault.reason;
    return this.#sentAt !== null && isLasting(fault) ? this.#fail(fault.reason, fault.message) : null;
  }

  /** Takes an acknowledgement, from a status or in answer to a push. Returns a config to roll back to. */
  acknowledged(ack: Ack | null): KnownConfig | null {
    const isFirst = this.#ack === null;
    this.#ack = ack;
    if (!ack) {
      this.#held = null;
      this.#sentAt = null;
      return null;
    }
    if (isUnwritten(ack)) {
      this.#sentAt = null;
      if (this.#held || isFirst) this.#held = { hash: '', known: this.#held?.known ?? null };
      // An earlier leader may have sent a file without permission to restart.
      if (isFirst) this.#granted = false;
      return null;
    }
    if (this.#held?.hash !== ack.hash) {
      this.#held = { hash: ack.hash, known: this.#recall(ack.hash) };
      // An earlier leader pushed this config, perhaps without permission to restart. Granting a restart once more is
      // harmless, losing the grant is not.
      if (this.#putHash !== ack.hash) this.#granted = ack.phase !== 'Written';
    }
    if (ack.phase === 'Running') {
      this.#sentAt = null;
      this.#hasWaited = false;
      this.#granted = true;
      this.#failedFor = null;
      this.#unfitFor = null;
      this.#nowRuns(this.#held.known);
      this.#recovered(this.#held);
    }
    if (ack.phase !== 'Failed') return null;
    // The agent sees only that nothing runs. The kubelet's wait is not a failure; `tick` judges the time after it.
    const isJudgedLater = this.#wait !== null || this.#sentAt !== null;
    if (this.#hasWaited && isJudgedLater && ack.reason === 'InstrumentNotRunning') return null;
    return this.#fail(ack.reason ?? 'Failed', ack.message ?? 'the agent gave no reason');
  }

  /**
   * Takes the content of the config that the agent holds; null when it returned none (it runs its seed, or the request
   * failed). Returns a config to roll back to.
   */
  learned(config: CaptureConfig | null): KnownConfig | null {
    const found = config && this.#known(config);
    this.#held = found && { hash: isUnwritten(this.#ack) ? '' : found.hash, known: found };
    if (!found) return null;
    if (this.#ack?.phase === 'Running') {
      this.#nowRuns(found);
      this.#recovered({ hash: found.hash, known: found });
    }
    return this.#failedBefore();
  }

  /**
   * The agent did not return the config that it holds. Its file is unknown, so a push counts as a change of the file
   * and is paced like one.
   */
  notLearned(): void {
    this.#withheld = this.#held?.hash ?? null;
  }

  /**
   * Takes the content of the config that the agent's instrument runs; null when it is unknown. Returns a config to roll
   * back to.
   */
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

  /**
   * Clears the failure when the instrument runs the desired config, or the file that failed: after an outage of the
   * instrument, the desired config may be a newer one with the same file.
   */
  #recovered({ hash, known }: Held): void {
    if (hash === this.desired?.hash || known?.yamlHash === this.failure?.yamlHash) this.failure = null;
  }

  /** Judges a failure that the agent reported earlier, once the configs of the agent are known here. */
  #failedBefore(): KnownConfig | null {
    return this.#ack?.phase === 'Failed' && !this.needs.running ? this.acknowledged(this.#ack) : null;
  }

  #known(config: CaptureConfig): KnownConfig {
    const { text, hash } = this.#files.shared(config.instrument.yaml);
    const whole = { ...config, instrument: { ...config.instrument, yaml: text } };
    return {
      hash: captureHash(whole),
      yamlHash: hash,
      config: whole,
      pieces: () => [Buffer.from(canonicalJson(whole))],
    };
  }

  /** A push begins. From here on the node counts as restarting if its instrument has to restart for this config. */
  sending(config: KnownConfig, restart: 'now' | 'hold', now: number): void {
    const { hash } = config;
    const before = { granted: this.#granted, restartedAt: this.#restartedAt };
    this.#putHash = hash;
    this.#putAt = now;
    this.#lost = null;
    if (this.#held?.known?.yamlHash === config.yamlHash && this.#granted) {
      this.#push = { hash, before, after: { granted: true, sentAt: this.#sentAt }, anew: false, spent: none };
      return;
    }
    this.#granted = restart === 'now';
    this.#sentAt = this.#granted ? now : null;
    const after = { granted: this.#granted, sentAt: this.#sentAt };
    this.#push = { hash, before, after, anew: this.#granted, spent: none };
    if (!this.#granted) return;
    this.#startsAnew();
    // The first config that replaces the agent's own seed is part of the node's start and does not count as a restart:
    // the next change need not wait for the interval between restarts.
    if (this.#held !== null) {
      this.#restartedAt = now;
      if (hash === this.desired?.hash) {
        this.#push.spent = this.restartCauses;
        this.#budget.spend(this.#push.spent, now);
      }
    }
    this.#hasWaited = this.#wait !== null;
  }

  /**
   * From here on a failure is one of another file. An instrument that failed until now is unfit, unless the file that
   * it holds may be to blame: it has run another file, but never this one.
   */
  #startsAnew(): void {
    const held = this.#held?.known?.yamlHash;
    // Where no file has run yet, a refusal is more likely the file's fault than the instrument's.
    const mayBlame = this.lastGood ? this.lastGood.yamlHash !== held : this.#failedFor === 'ConfigRefused';
    if (!mayBlame && this.status?.instrument.up === false) this.#unfitFor ??= this.#failedFor;
    this.#failedFor = null;
  }

  /** The agent answered a push. */
  sent(config: KnownConfig, ack: Ack): KnownConfig | null {
    if (isUnwritten(ack)) {
      this.#undo(this.#push);
      this.#push = null;
      return this.acknowledged(ack);
    }
    this.#held = { hash: config.hash, known: config };
    // A status from before the push may have arrived while the push was in flight. It says nothing about this config.
    if (this.#push) {
      this.#granted = this.#push.after.granted;
      this.#sentAt = this.#push.after.sentAt;
      if (this.#push.anew) this.#failedFor = null;
    }
    this.#push = null;
    // The answer took longer than the instrument's restart, which a status has reported in the meantime.
    if (ack.phase !== 'Running' && this.#ack?.hash === ack.hash && this.#ack.phase === 'Running') {
      return this.acknowledged(this.#ack);
    }
    return this.acknowledged(ack);
  }

  /**
   * A push ended without an answer. The agent's next status shows whether it took the config and restarts for it; until
   * then nothing is planned for the node.
   */
  pushLost(): void {
    this.#lost = this.#push;
    this.#push = null;
    this.#putHash = null;
    this.#sentAt = null;
  }

  /** A push failed or was refused. */
  pushFailed(config: KnownConfig, error: unknown): void {
    this.pushLost();
    if (isOperatorError(error, 'ERR_CAPTURE_PUSH') || isOperatorError(error, 'ERR_TOO_LARGE')) {
      this.#undo(this.#lost);
      this.#lost = null;
      const message = errorText(error);
      this.failure = { reason: 'ConfigRefused', message, yamlHash: null, hash: config.hash, alone: false };
    } else this.lost(error);
  }

  /** A push without effect does not begin a new interval between restarts, and its restart goes back to the budget. */
  #undo(push: Push | null): void {
    if (!push) return;
    this.#granted = push.before.granted;
    this.#restartedAt = push.before.restartedAt;
    this.#budget.refund(push.spent);
  }

  /** The agent does not answer. */
  lost(error: unknown): void {
    this.reachable = false;
    this.error = errorText(error);
  }

  /**
   * Checks the deadline of a new file. Returns a config to roll back to when the instrument took too long, or when the
   * agent may be able to write that config now; else null.
   */
  tick(now: number): KnownConfig | null {
    if (isUnwritten(this.#ack)) return this.reachable && now >= (this.#retryAt ?? 0) ? this.#back : null;
    if (this.#sentAt === null || this.#wait !== null || now < this.#sentAt + runningDeadlineMs) return null;
    if (!this.reachable) return null;
    return this.#fail('NotRunning', `the instrument did not run the new file within ${runningDeadlineMs / 1000} s`);
  }

  /**
   * The config to restore when a file waits here for a restart that will not come, because the file failed on another
   * node. With it, an instrument that ends by itself starts again with the file that it ran. Null when there is nothing
   * to restore.
   */
  get putBack(): KnownConfig | null {
    if (this.hold !== 'Paused' || this.#granted || this.#held?.known?.yamlHash !== this.desired?.yamlHash) return null;
    return this.#runs && this.#runs.yamlHash !== this.desired?.yamlHash ? this.#runs : null;
  }

  /** When `tick` has to be called next. */
  get deadline(): number | null {
    if (this.#sentAt === null || this.#wait !== null || !this.reachable) return null;
    return this.#sentAt + runningDeadlineMs;
  }

  /** The planner's view; null when there is nothing to plan. */
  rolloutNode(now: number): RolloutNode | null {
    if (!this.desired || !this.hasAgent) return null;
    const concerned = this.#isConcerned(this.desired);
    return {
      name: this.name,
      desired: { hash: this.desired.hash, yamlHash: this.desired.yamlHash },
      rules: this.desired.rollout,
      reachable: this.reachable && !this.needs.current && !this.needs.running && this.#lost === null,
      unheard: this.status === null && this.error === null,
      held: this.#held && { hash: this.#held.hash, yamlHash: this.#held.known?.yamlHash ?? null },
      granted: this.#granted,
      runs: this.status?.instrument.up === true ? (this.#runs?.yamlHash ?? null) : null,
      concerned,
      down: this.#isDown,
      unfit: this.#unfitFor !== null || this.#wait?.reason === 'ImagePullFailed',
      sentAt: this.#sentAt,
      restartedAt: this.#restartedAt,
      allowedAt: concerned ? this.#budget.allowedAt(this.restartCauses, now) : now,
      retryAt: this.#retryAt,
      failedYamlHash: this.failure?.yamlHash ?? null,
      failedAlone: this.failure?.alone ?? false,
      refusedHash: this.failure && this.failure.yamlHash === null ? this.failure.hash : null,
    };
  }

  /** Whether its instrument is not running, and has not failed. */
  get #isDown(): boolean {
    return this.status !== null && !this.status.instrument.up && this.failure === null;
  }

  /** The namespaces whose edits make the due restart necessary; none when a policy or something else does. */
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
    if (this.#runs.yamlHash === desired.yamlHash) return false;
    const { general, namespaces } = this.#changes(this.#runs, desired);
    return general || [...this.namespaces].some((n) => namespaces.has(n));
  }

  #changes(runs: KnownConfig, desired: NodeConfig): FileChanges {
    return this.#files.changes(
      { hash: runs.yamlHash, text: runs.config.instrument.yaml },
      { hash: desired.yamlHash, text: desired.config.instrument.yaml },
    );
  }

  #fail(reason: string, message: string): KnownConfig | null {
    this.#sentAt = null;
    // The agent sees only that the instrument is not running; its pod often has the reason.
    const why = this.#fault && failedToRun.has(reason) ? named(this.#fault) : { reason, message };
    this.#failedFor = why.reason;
    const held = this.#held;
    if (!held?.known) return null;
    // The rollback failed too: there is no better config, and the first failure is the one to show.
    if (this.#isRollback) return null;
    const { yamlHash } = held.known;
    this.failure = { ...why, yamlHash, hash: held.hash, alone: this.#isAlone(why.reason) };
    return this.#back;
  }

  /** Whether a failure for this reason says nothing about the file. A refusal by an unfit instrument usually does. */
  #isAlone(reason: string): boolean {
    return this.#unfitFor !== null && (reason === this.#unfitFor || reason !== 'ConfigRefused');
  }

  /** Whether the agent holds the config that it got back after a failure. */
  get #isRollback(): boolean {
    return this.failure !== null && this.lastGood !== null && this.lastGood.hash === this.#held?.hash;
  }

  /** The config to roll back to from the file that failed; null when no file failed, or no other one ran before. */
  get #back(): KnownConfig | null {
    const failed = this.failure?.yamlHash ?? null;
    return failed !== null && this.lastGood?.yamlHash !== failed ? this.lastGood : null;
  }

  /** When an agent that could not write the newest config may be sent one again; null when that is not waited for. */
  get #retryAt(): number | null {
    return isUnwritten(this.#ack) && this.#putAt !== null ? this.#putAt + writeRetryMs : null;
  }

  #recall(hash: string): KnownConfig | null {
    if (this.desired?.hash === hash) return knownOf(this.desired);
    if (this.lastGood?.hash === hash) return this.lastGood;
    return this.#held?.known?.hash === hash ? this.#held.known : null;
  }
}

const none: ReadonlySet<string> = new Set();

/** Reasons that only say that the instrument does not run. */
const failedToRun: ReadonlySet<string> = new Set(['InstrumentNotRunning', 'NotRunning', 'InstrumentCrashed']);

function named({ reason, message }: InstrumentFault): { reason: string; message: string } {
  return { reason, message };
}

export function knownOf(node: NodeConfig): KnownConfig {
  return { hash: node.hash, yamlHash: node.yamlHash, config: node.config, pieces: node.pieces };
}
