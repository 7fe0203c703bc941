import { spawn, type ChildProcess } from 'node:child_process';
import { toolEnvironment } from '../cluster/processes.ts';

/** How a run of the instrument ended by itself. */
export interface Ended {
  exitCode: number;
  /** Its last lines. */
  log: string;
  /** RFC 3339. */
  at: string;
}

export interface InstrumentProcessOptions {
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  /** More variables, until they are taken away. */
  faults: Readonly<Record<string, string>>;
  /** Where the agent says whether the instrument may live on. */
  liveUrl: string;
  onEnd: (ended: Ended) => Promise<void>;
}

/** Time between probes, and how many in a row must fail. Units: ms. */
const probeMs = 1_000;
const failureThreshold = 3;
/** Pause before a start after an end. Units: ms. */
const restartMs = 1_000;

/**
 * Does to an instrument what the kubelet does: starts it again whenever it has ended, and ends it after three failed
 * probes of its liveness in a row.
 */
export class InstrumentProcess {
  readonly #options: InstrumentProcessOptions;
  #faults: Readonly<Record<string, string>>;
  #child: ChildProcess | null = null;
  #stopped = false;
  #timers = new Set<NodeJS.Timeout>();
  /** Runs so far. */
  starts = 0;
  /** Everything that its runs printed. */
  log = '';

  constructor(options: InstrumentProcessOptions) {
    this.#options = options;
    this.#faults = options.faults;
  }

  start(): void {
    this.#run();
    this.#probe(0);
  }

  /** The node is repaired: what runs now ends, and the next run has no fault. */
  repair(): void {
    this.#faults = {};
    this.#child?.kill('SIGTERM');
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  #run(): void {
    const [program = '', ...args] = this.#options.command;
    const env = toolEnvironment({ ...this.#options.env, ...this.#faults });
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let own = '';
    const hear = (chunk: Buffer): void => {
      own = (own + chunk.toString()).slice(-2_048);
      this.log = (this.log + chunk.toString()).slice(-200_000);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    this.#child = child;
    this.starts++;
    child.once('close', (code, signal) => {
      this.#child = null;
      if (this.#stopped) return;
      const exitCode = code ?? (signal === 'SIGTERM' ? 143 : 137);
      const told = exitCode === 0 ? Promise.resolve() : this.#options.onEnd({ exitCode, log: own, at: now() });
      void told.catch(() => undefined).then(() => this.#later(restartMs, () => this.#run()));
    });
  }

  #probe(failures: number): void {
    this.#later(probeMs, () => {
      void this.#live().then((live) => {
        const failed = live ? 0 : failures + 1;
        if (failed === failureThreshold) this.#child?.kill('SIGTERM');
        this.#probe(failed % failureThreshold);
      });
    });
  }

  async #live(): Promise<boolean> {
    if (!this.#child) return true;
    try {
      const answer = await fetch(this.#options.liveUrl, { signal: AbortSignal.timeout(1_000) });
      await answer.arrayBuffer();
      return answer.ok;
    } catch {
      return false;
    }
  }

  #later(ms: number, work: () => void): void {
    if (this.#stopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#stopped) work();
    }, ms);
    this.#timers.add(timer);
  }
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}
