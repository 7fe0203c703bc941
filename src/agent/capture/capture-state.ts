import type { Clock } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { cutToUnits } from '../../base/text/texts.ts';
import {
  type Ack,
  type AgentStatus,
  type CaptureConfig,
  captureHash,
  maxTextLength,
  writeFailed,
} from '../../capture/index.ts';
import { instrumentFileHash, orderRestart } from '../supervisor/state.ts';
import { keepFile } from './durable-file.ts';
import type { InstrumentProbe, RunningInstrument } from './instrument-probe.ts';
import {
  afterFile,
  afterProbe,
  type InstrumentView,
  phaseOf,
  runsFile,
  runsOldFile,
  unknownInstrument,
} from './instrument-state.ts';
import { forgetRunning, loadRunning, saveLastGood, saveRetention, saveRunning } from './last-good.ts';
import { type ConfigSource, isFromController } from './start-config.ts';

export interface CaptureStateOptions {
  readonly node: string;
  readonly dataDir: string;
  readonly instrumentFile: string;
  readonly probe: InstrumentProbe;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Puts in force those rules of a config that the agent itself enforces. */
  readonly onConfig: (config: CaptureConfig, source: ConfigSource) => void;
  /** The parts of the status that other components count. */
  readonly counts: () => Pick<AgentStatus, 'monitors' | 'limits' | 'totals' | 'exports' | 'secrets'>;
  /** How long the instrument may take to run a new file. Default 90 s. Units: ms. */
  readonly deadlineMs?: number;
  /** Time between probes of the health socket. Default 1 s. Units: ms. */
  readonly probeMs?: number;
}

/** Counts change all the time; they raise the status' revision at most this often. Units: ms. */
const countsEveryMs = 5_000;
/**
 * The caller of a PUT reads the acknowledgement in the answer. Status polls see the same change this much later, so
 * that a controller with a thousand agents does not poll all of them while it is still pushing. Units: ms.
 */
export const answeredMs = 1_000;

/**
 * The capture config in force, the instrument's file, and the instrument's state.
 *
 * Flow: `apply` → rules in force, last good on disk (Received) → file in place (Written) → the supervisor is ordered to
 * run it → the probe finds an instrument that was started with this very file (Running), or finds none in time
 * (Failed).
 * Guarantees: configs are applied one after the other; the last good config on disk is always complete; the file is not
 * rewritten when its bytes are right; every change of `status` raises its revision. Two facts survive an agent restart:
 * which file the instrument runs while a newer one waits, and whether the instrument may restart.
 */
export class CaptureState {
  readonly #options: CaptureStateOptions;
  #config: CaptureConfig | null = null;
  #pushed = false;
  #ack: Ack | null = null;
  #view: InstrumentView = unknownInstrument;
  /** The instrument may be restarted for the file in place; false while the controller holds the restart back. */
  #restartGranted = true;
  /**
   * The config whose file the instrument was last seen to run; null while it runs the seed (the config of an agent that
   * no controller has reached), and before the first successful probe.
   */
  #runs: { readonly hash: string; readonly config: CaptureConfig } | null = null;
  /** Whether a record of `#runs` is on disk. */
  #recorded = false;
  /** Number of configs accepted since the start, and the number of the one that the instrument runs. */
  #taken = 0;
  #running = 0;
  #revision = 1;
  #countsText = '';
  #countsAt = -Infinity;
  #waiters = new Set<() => void>();
  #queue: Promise<unknown> = Promise.resolve();
  #cancel: () => void = () => {};
  #cancelAnswered: () => void = () => {};
  readonly #stopped = new AbortController();

  constructor(options: CaptureStateOptions) {
    this.#options = options;
  }

  /** The config in force if a controller pushed it, to this process or to an earlier one; else null. */
  get pushedConfig(): CaptureConfig | null {
    return this.#pushed ? this.#config : null;
  }

  /** The config whose file the instrument runs; null while it runs the seed, or while that is unknown. */
  get runningConfig(): CaptureConfig | null {
    return this.#runs?.config ?? null;
  }

  get ack(): Ack | null {
    return this.#ack;
  }

  /** Numbers of the newest config and of the one that the instrument runs, counted from 1; 0 before the first. */
  get generations(): { desired: number; running: number } {
    return { desired: this.#taken, running: this.#running };
  }

  get instrument(): InstrumentView {
    return this.#view;
  }

  /** The instrument was ordered to run another file than the one it was started with. */
  get awaitsRestart(): boolean {
    return this.#restartGranted && runsOldFile(this.#view);
  }

  /** Starts watching the instrument. */
  start(): void {
    void this.#probe();
  }

  stop(): void {
    this.#stopped.abort();
    this.#cancel();
    this.#cancelAnswered();
    this.#wake();
  }

  /**
   * Puts a config in force and resolves with the phase that is reached immediately (Written or Running). With `hold`
   * its file is written, but the instrument keeps its old file until the same config comes with `now`.
   * Errors: ERR_INPUT_INVALID for a config of another node; those of `loadRunning` for a config from the disk. When the file cannot be written, the ack is Failed.
   */
  apply(config: CaptureConfig, source: ConfigSource, restart: 'now' | 'hold' = 'now'): Promise<Ack> {
    const run = this.#queue.then(() => this.#apply(config, source, restart));
    this.#queue = run.catch(() => {});
    return run;
  }

  async #apply(config: CaptureConfig, source: ConfigSource, restart: 'now' | 'hold'): Promise<Ack> {
    const { node, dataDir, instrumentFile, logger, clock, onConfig } = this.#options;
    if (config.node !== node) {
      throw new OperatorError('ERR_INPUT_INVALID', `node: the config is for ${config.node}, this is ${node}`);
    }
    const hash = captureHash(config);
    if (source === 'push' && this.#pushed && this.#ack?.hash === hash && this.#ack.phase !== 'Failed') {
      try {
        if (restart === 'now' && !this.#restartGranted) await this.#grant();
      } catch (error) {
        return this.#notWritten(hash, error);
      }
      return this.#ack;
    }
    let granted = restart === 'now';
    const { file } = this.#view;
    const before = source === 'disk' ? await loadRunning(dataDir, node, logger) : null;
    try {
      if (source === 'push') await this.#saveBefore(config, granted);
      else if (source === 'disk') {
        if (before) this.#runs = { hash: captureHash(before.config), config: before.config };
        this.#recorded = before !== null;
        if (before?.held === true) granted = false;
      }
      if (isFromController(source)) await this.#keepRetention(config);
      // A probe that ends while the file is being replaced must not report the old file as the new one.
      this.#view = { ...this.#view, file: null };
      this.#config = config;
      this.#taken++;
      this.#pushed = isFromController(source);
      onConfig(config, source);
      this.#setAck({ node, hash, phase: 'Received' }, 'answered');
      const { yaml } = config.instrument;
      const changed = await keepFile(instrumentFile, yaml);
      if (granted) await orderRestart(instrumentFile, instrumentFileHash(yaml));
      this.#view = afterFile(this.#view, instrumentFileHash(yaml), changed, clock.monotonic());
      this.#restartGranted = granted;
      logger.info('capture config in force', { hash, source, monitors: config.monitors.length, fileChanged: changed });
    } catch (error) {
      this.#view = { ...this.#view, file };
      return this.#notWritten(hash, error);
    }
    this.#refreshAck(hash, 'answered');
    return this.#ack!;
  }

  #notWritten(hash: string, error: unknown): Ack {
    const { node, logger } = this.#options;
    logger.error('capture config could not be put in force', { hash, error: errorText(error) });
    const message = cutToUnits(errorText(error), maxTextLength);
    const ack: Ack = { node, hash, phase: 'Failed', reason: writeFailed, message };
    this.#setAck(ack, 'answered');
    return ack;
  }

  /**
   * Saves what a restarted agent needs, before a pushed config is put in force. The record comes before the config that
   * the instrument does not run yet. While it is not known what the instrument runs, the old record is removed only
   * after the config is on disk: until then it may be the only config that a start can use.
   */
  async #saveBefore(config: CaptureConfig, granted: boolean): Promise<void> {
    const { dataDir } = this.#options;
    const sameFile = this.#ack?.phase === 'Running' && this.#config?.instrument.yaml === config.instrument.yaml;
    const isKnown = this.#runs !== null;
    if (!sameFile && isKnown) await this.#record(!granted);
    await saveLastGood(dataDir, config);
    if (!sameFile && !isKnown) await this.#record(!granted);
  }

  /** A full disk does not keep the last good config from coming into force. */
  async #keepRetention({ retention }: CaptureConfig): Promise<void> {
    const { dataDir, logger } = this.#options;
    await saveRetention(dataDir, retention.metrics).catch((error: unknown) =>
      logger.warn('retention not saved', { error: errorText(error) }),
    );
  }

  async #record(held: boolean): Promise<void> {
    // A record that a start without a last good config has left on disk is of an earlier file.
    if (!this.#runs) return forgetRunning(this.#options.dataDir);
    await saveRunning(this.#options.dataDir, { config: this.#runs.config, held });
    this.#recorded = true;
  }

  /** Orders the restart that was held back. The time limit for the instrument to run the file starts here. */
  async #grant(): Promise<void> {
    const { file } = this.#view;
    if (file !== null) {
      await orderRestart(this.#options.instrumentFile, file);
      this.#view = afterFile(this.#view, file, true, this.#options.clock.monotonic());
    }
    this.#restartGranted = true;
    // When this record cannot be written, the grant to restart ends with this process. The controller gives it again,
    // since the status of the next process does not say `restarting`.
    await this.#record(false).catch((error: unknown) =>
      this.#options.logger.warn('capture record not written', { error: errorText(error) }),
    );
  }

  /** The current status. */
  status(): AgentStatus {
    this.#noteCounts();
    const { file, process, up, restarts, gapMs } = this.#view;
    return {
      node: this.#options.node,
      revision: this.#revision,
      time: new Date(this.#options.clock.now()).toISOString(),
      ack: this.#ack,
      instrument: {
        up,
        restarts,
        ...(process === null ? {} : { start: new Date(process.startMs).toISOString() }),
        ...(gapMs === null ? {} : { gapMs: Math.round(gapMs) }),
        ...(this.#runs ? { runs: this.#runs.hash } : {}),
        ...(this.#restartGranted && file !== null && !runsFile(this.#view) ? { restarting: true } : {}),
      },
      ...this.#options.counts(),
    };
  }

  /**
   * The status once its revision is above `after`, or after `waitMs`. An `after` from an earlier process is answered
   * immediately.
   */
  async statusAfter(after: number, waitMs: number, signal: AbortSignal): Promise<AgentStatus> {
    this.#noteCounts();
    if (this.#revision !== after || waitMs === 0) return this.status();
    await new Promise<void>((resolve) => {
      const done = (): void => {
        cancel();
        this.#waiters.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#options.clock.setTimeout(done, waitMs);
      this.#waiters.add(done);
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted || this.#stopped.signal.aborted) done();
    });
    return this.status();
  }

  async #probe(): Promise<void> {
    const { probe, clock, logger } = this.#options;
    let seen: RunningInstrument | null = null;
    try {
      seen = await probe(this.#stopped.signal);
    } catch (error) {
      logger.warn('state of the instrument cannot be read', { error: errorText(error) });
    }
    if (this.#stopped.signal.aborted) return;
    const before = this.#view;
    this.#view = afterProbe(before, seen, { wallMs: clock.now(), monoMs: clock.monotonic() });
    const { up, restarts, gapMs } = this.#view;
    if (up !== before.up) logger.info(up ? 'instrument is up' : 'instrument is down', { restarts });
    if (restarts !== before.restarts) logger.info('instrument restarted', { restarts, gapMs });
    if (up !== before.up || this.#view.process?.startMs !== before.process?.startMs) this.#changed();
    if (this.#ack) this.#refreshAck(this.#ack.hash);
    this.#noteCounts();
    this.#cancel = clock.setTimeout(() => void this.#probe(), this.#options.probeMs ?? 1_000);
  }

  #refreshAck(hash: string, to: 'waiting' | 'answered' = 'waiting'): void {
    if (this.#view.file === null || this.#ack?.reason === writeFailed) return;
    const { node, clock, logger } = this.#options;
    const deadlineMs = this.#restartGranted ? (this.#options.deadlineMs ?? 90_000) : Infinity;
    const state = phaseOf(this.#view, { deadlineMs, monoMs: clock.monotonic() });
    const startMs = this.#view.process?.startMs;
    const running = state.phase === 'Running' && startMs !== undefined;
    const next: Ack = {
      node,
      hash,
      ...state,
      ...(running ? { instrumentStart: new Date(startMs).toISOString() } : {}),
    };
    if (next.phase === this.#ack?.phase && next.reason === this.#ack.reason && next.hash === this.#ack.hash) {
      if (next.instrumentStart === this.#ack.instrumentStart) return;
    } else logger.info('capture phase', { hash, phase: next.phase, reason: next.reason });
    this.#setAck(next, to);
  }

  #setAck(ack: Ack, to: 'waiting' | 'answered'): void {
    this.#ack = ack;
    if (ack.phase === 'Running') this.#nowRuns(ack.hash);
    if (to === 'waiting') return this.#changed();
    this.#revision++;
    this.#cancelAnswered();
    this.#cancelAnswered = this.#options.clock.setTimeout(() => this.#wake(), answeredMs);
  }

  #nowRuns(hash: string): void {
    this.#running = this.#taken;
    if (!this.#config || !this.#pushed) return;
    if (this.#runs?.hash !== hash) this.#runs = { hash, config: this.#config };
    if (!this.#recorded) return;
    this.#recorded = false;
    const { dataDir, logger } = this.#options;
    this.#queue = this.#queue
      .then(() => (this.#ack?.phase === 'Running' ? forgetRunning(dataDir) : undefined))
      .catch((error: unknown) => logger.warn('capture record not removed', { error: errorText(error) }));
  }

  #noteCounts(): void {
    const now = this.#options.clock.monotonic();
    if (now - this.#countsAt < countsEveryMs) return;
    this.#countsAt = now;
    const text = JSON.stringify(this.#options.counts());
    if (text === this.#countsText) return;
    this.#countsText = text;
    this.#changed();
  }

  #changed(): void {
    this.#revision++;
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }
}
