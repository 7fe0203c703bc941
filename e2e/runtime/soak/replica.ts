import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface ReplicaState {
  leading: boolean;
  idle: boolean;
  heapBytes: number;
}

export interface ReplicaOptions {
  kubeconfig: string;
  namespace: string;
  /** Identity in the leader election; `none` for a process without election. */
  identity: string;
  port: number;
  logFile: string;
}

/** One process of the operator in the soak test. */
export class Replica {
  readonly identity: string;
  readonly #options: ReplicaOptions;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #stopping = false;

  constructor(options: ReplicaOptions) {
    this.identity = options.identity;
    this.#options = options;
    const program = fileURLToPath(new URL('./operator.ts', import.meta.url));
    const args = ['--expose-gc', program, options.namespace, options.identity, String(options.port)];
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], KUBECONFIG: options.kubeconfig };
    this.#child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child.stderr?.pipe(createWriteStream(options.logFile, { flags: 'a' }));
    this.#ended = new Promise((resolve) => this.#child.once('exit', () => resolve()));
  }

  /** Whether the process ended without a call of `end`. A process that loses its lease does so, which is allowed. */
  get diedByItself(): boolean {
    return !this.#stopping && (this.#child.exitCode !== null || this.#child.signalCode !== null);
  }

  async state(): Promise<ReplicaState | undefined> {
    return (await this.#fetch('/state')) as ReplicaState | undefined;
  }

  async metrics(): Promise<string> {
    return ((await this.#fetch('/metrics', true)) as string | undefined) ?? '';
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#stopping = true;
    this.#child.kill(signal);
    await this.#ended;
  }

  async #fetch(path: string, raw = false): Promise<unknown> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.#options.port}${path}`, {
        signal: AbortSignal.timeout(5_000),
      });
      return raw ? await answer.text() : await answer.json();
    } catch {
      // The process is still starting, or has ended.
      return undefined;
    }
  }
}
