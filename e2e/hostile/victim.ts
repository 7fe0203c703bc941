import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { until } from '../../src/testing/until.ts';
import { builtPrograms, nodeEnvironment } from '../cluster/own-programs.ts';
import { exited, signalGroup, spawnBound } from '../cluster/processes.ts';

/** A process of ours under attack, and its log. */
export class Victim {
  readonly name: string;
  readonly #child: ChildProcess;
  #log = '';
  readonly #memories: number[] = [];
  /** Resident memory before the first attack. Units: bytes. */
  #before = 0;
  /** Memory in use before the first attack, after a garbage collection. Units: bytes. */
  #inUseBefore = 0;
  #mostKept = 0;

  private constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.#child = child;
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (chunk: Buffer) => {
        this.#log = `${this.#log}${chunk.toString()}`.slice(-1_000_000);
        // The line that tells the memory in use is short and arrives in one chunk.
        for (const [, bytes] of chunk.toString().matchAll(/"memory in use","bytes":(\d+)\}/g))
          this.#memories.push(Number(bytes));
      });
    }
  }

  static async start(
    name: string,
    program: 'svc' | 'minter',
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    ready: (victim: Victim) => Promise<boolean> | boolean,
  ): Promise<Victim> {
    const node = [process.execPath, '--expose-gc', `--import=${new URL('memory-probe.ts', import.meta.url).href}`];
    const child = spawnBound([...node, builtPrograms[program], ...args], {
      run: `hostile-${process.pid}`,
      env: nodeEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const victim = new Victim(name, child);
    await until(
      `${name} is ready`,
      () => {
        victim.mustLive();
        return ready(victim);
      },
      { timeoutMs: 60_000 },
    ).catch((cause: unknown) => {
      throw new Error(`${name} is not ready: ${victim.#log.slice(-4_000)}`, { cause });
    });
    victim.#before = victim.rss();
    victim.#inUseBefore = await victim.#inUse();
    return victim;
  }

  /** Log lines with this message. */
  said(msg: string): Record<string, unknown>[] {
    return this.#log
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}') && line.includes(JSON.stringify(msg)))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Errors: the process has ended; the error has the end of its log. */
  mustLive(): void {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) return;
    throw new Error(`${this.name} ended with ${exitCode ?? signalCode}: ${this.#log.slice(-4_000)}`);
  }

  rss(): number {
    const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8'))?.[1];
    return Number(kb) * 1024;
  }

  /** Growth of resident memory since the start, including what V8 has not released yet. Units: bytes. */
  grown(): number {
    return this.rss() - this.#before;
  }

  /** Growth of the memory in use since the start, after a garbage collection. Units: bytes. */
  async kept(): Promise<number> {
    const kept = (await this.#inUse()) - this.#inUseBefore;
    this.#mostKept = Math.max(this.#mostKept, kept);
    return kept;
  }

  /** The most that `kept` has returned. */
  get mostKept(): number {
    return this.#mostKept;
  }

  async #inUse(): Promise<number> {
    const asked = this.#memories.length;
    process.kill(this.#child.pid!, 'SIGUSR2');
    await until('the word on memory', async () => {
      this.mustLive();
      return this.#memories.length > asked;
    });
    return this.#memories.at(-1)!;
  }

  async end(): Promise<number | null> {
    signalGroup(this.#child.pid!, 'SIGTERM');
    const cut = setTimeout(() => signalGroup(this.#child.pid!, 'SIGKILL'), 20_000);
    await exited(this.#child);
    clearTimeout(cut);
    return this.#child.exitCode;
  }
}
