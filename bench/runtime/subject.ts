import { spawn, type ChildProcess } from 'node:child_process';
import { cpuMs, peakMiB } from '../run/process-figures.ts';

/** A controller program that is measured. */
export interface Program {
  name: 'ours' | 'peer';
  /** The command for a namespace, a number of workers, and a port on loopback for its metrics. */
  command(namespace: string, concurrency: number, port: number): readonly string[];
  /** Environment beside PATH, HOME and KUBECONFIG. */
  env?: Readonly<Record<string, string>>;
}

/** What the kernel says a process has used. */
export interface Usage {
  cpuSeconds: number;
  peakRssMiB: number;
}

/** A running process of a program. */
export class Subject {
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #ended: Promise<void>;
  #log = '';

  constructor(program: Program, options: { kubeconfig: string; namespace: string; concurrency: number; port: number }) {
    const [file = '', ...args] = program.command(options.namespace, options.concurrency, options.port);
    this.#port = options.port;
    const env = {
      ...program.env,
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      KUBECONFIG: options.kubeconfig,
    };
    this.#child = spawn(file, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child.stderr?.on('data', (chunk: Buffer) => (this.#log = (this.#log + chunk.toString()).slice(-4_000)));
    this.#ended = new Promise((resolve) => this.#child.once('exit', () => resolve()));
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The last 4,000 characters of the log. */
  get log(): string {
    return this.#log;
  }

  /** The usage since the start of the process. */
  usage(): Usage {
    const pid = this.#child.pid!;
    return { cpuSeconds: cpuMs(pid) / 1000, peakRssMiB: peakMiB(pid) };
  }

  /** The sum of one metric's series whose labels contain all of `labels`; 0 without such a series. */
  async metric(name: string, labels: readonly string[] = []): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${this.#port}/metrics`);
    return sumOf(await answer.text(), name, labels);
  }

  /** Sends SIGTERM and waits for the end of the process. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#ended;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** Adds up the samples of one metric in the text format; `labels` are fragments such as `verb="APPLY"`. */
export function sumOf(text: string, name: string, labels: readonly string[]): number {
  let sum = 0;
  for (const line of text.split('\n')) {
    if (!line.startsWith(name) || !['{', ' '].includes(line[name.length] ?? '')) continue;
    if (labels.every((label) => line.includes(label))) sum += Number(line.slice(line.lastIndexOf(' ') + 1));
  }
  return sum;
}
