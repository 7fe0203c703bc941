import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { orderPath, type SupervisorState } from '../../src/agent/supervisor/state.ts';
import type { Backoff } from '../node/node-context.ts';
import { builtPrograms, nodeEnvironment } from '../cluster/own-programs.ts';
import { signalGroup } from '../cluster/processes.ts';

/** How a run of the instrument's container ended. */
export interface Ended {
  exitCode: number;
  /** The last lines of the run. */
  log: string;
  /** RFC 3339. */
  at: string;
  /** The delay of the next run, which the pod's status reports; 0 for none. Units: ms. */
  backoffMs: number;
}

export interface InstrumentProcessOptions {
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Further variables, dropped by `repair`. */
  faults: Readonly<Record<string, string>>;
  /** The instrument's configuration file. */
  config: string;
  /** The folder in which the supervisor keeps its state. */
  dir: string;
  backoff: Backoff;
  /** The supervisor program. Default: the built one. */
  supervisor?: string;
  /** A file that gets the container's output. Default: none. */
  logFile?: string;
  onEnd: (ended: Ended) => Promise<void>;
  onStart: () => Promise<void>;
}

/**
 * The instrument's container: our supervisor with an instrument under it. After each end the container is started
 * again, after a kubelet's back-off.
 */
export class InstrumentProcess {
  readonly #options: InstrumentProcessOptions;
  #faults: Readonly<Record<string, string>>;
  #child: ChildProcess | null = null;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  /** Starts the run that waits for its back-off; undefined while no run waits. */
  #due: (() => void) | undefined;
  #backoffMs = 0;
  #startsBefore = 0;
  /** Runs of the container so far, with the current one. */
  runs = 0;
  /** The last 200,000 characters that its runs printed. */
  log = '';

  constructor(options: InstrumentProcessOptions) {
    this.#options = options;
    this.#faults = options.faults;
    mkdirSync(options.dir, { recursive: true });
  }

  /** Starts of the instrument itself so far, in all runs of the container. */
  get starts(): number {
    return this.#startsBefore + (this.state?.starts ?? 0);
  }

  /** The state that the supervisor reports; null before the first start. */
  get state(): SupervisorState | null {
    const path = join(this.#options.dir, 'state.json');
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as SupervisorState) : null;
  }

  start(): void {
    this.#run();
  }

  /** Repairs the node: ends the current run; the next run starts without a back-off and without a fault. */
  repair(): void {
    this.#faults = {};
    this.#backoffMs = 0;
    this.#child?.kill('SIGTERM');
    this.#due?.();
  }

  /** Kills all processes of the container, as the kernel does when the first process of a container ends. */
  kill(): void {
    const { pid } = this.#child ?? {};
    // The process may have ended although its exit event has not come yet.
    if (pid !== undefined) signalGroup(pid, 'SIGKILL');
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    this.kill();
    await gone;
  }

  #run(): void {
    const { command, config, dir, env, logFile, supervisor = builtPrograms.supervise } = this.#options;
    const args = [`--config=${config}`, `--order=${orderPath(config)}`, `--dir=${dir}`];
    const child = spawn(process.execPath, [supervisor, 'supervise', ...args], {
      env: nodeEnvironment({ ...env, ...this.#faults, SVC_INSTRUMENT_COMMAND: JSON.stringify(command) }),
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own: a container ends with all its processes.
      detached: true,
    });
    let own = '';
    const hear = (chunk: Buffer): void => {
      own = (own + chunk.toString()).slice(-2_048);
      if (logFile !== undefined) appendFileSync(logFile, chunk);
      this.log = (this.log + chunk.toString()).slice(-200_000);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    this.#child = child;
    this.runs++;
    const startedMs = Date.now();
    void this.#options.onStart().catch(() => undefined);
    child.once('close', (code, signal) => {
      this.#child = null;
      this.#startsBefore = this.starts;
      rmSync(join(dir, 'state.json'), { force: true });
      if (this.#stopped) return;
      const exitCode = code ?? (signal === 'SIGTERM' ? 143 : 137);
      const backoffMs = this.#nextBackoff(Date.now() - startedMs);
      const told = this.#options.onEnd({ exitCode, log: own, at: now(), backoffMs });
      void told.catch(() => undefined).then(() => this.#later(backoffMs, () => this.#run()));
    });
  }

  /** The back-off after a run: 0 at first, then `initialMs`, doubled with each end up to `maxMs`. */
  #nextBackoff(ranMs: number): number {
    const { initialMs, maxMs, resetMs } = this.#options.backoff;
    const before = ranMs >= resetMs ? 0 : this.#backoffMs;
    this.#backoffMs = before === 0 ? initialMs : Math.min(maxMs, before * 2);
    return before;
  }

  #later(ms: number, work: () => void): void {
    if (this.#stopped) return;
    this.#due = () => {
      clearTimeout(this.#timer);
      this.#due = undefined;
      if (!this.#stopped) work();
    };
    this.#timer = setTimeout(this.#due, ms);
  }
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}
