/**
 * The first process of the instrument's container. The instrument reads its file once, at start; this program starts
 * it, and restarts it when the agent orders so. The kubelet sees one container that keeps running: a changed config
 * does not count as a crash, and an absent agent changes nothing.
 *
 * Usage: `supervise.mjs supervise --config=<file> --order=<file> --dir=<folder> -- <program>…`; the first of the
 * programs that exists is started without arguments. `SVC_INSTRUMENT_COMMAND`, a JSON array of program and arguments,
 * takes the place of the list.
 *
 * Flow: read the config → copy it into the folder → start the instrument on the copy → report the start in `state.json`
 * → wait for an order with the hash of another config than the running one → copy that config → SIGTERM → start.
 * Guarantees: `config` in `state.json` is the hash of the very bytes that the running instrument was given; an order is
 * followed only while the file has the hash that the order names; the running instrument is ended only once the next
 * config is copied, and a first start that cannot copy its config takes the copy of the last run, so a full disk does
 * not end capture; an instrument that ends by itself ends this program with the same code, so that the kubelet shows its
 * last log lines and applies its usual crash back-off.
 * Assumptions: it runs in an image of another project, from a volume, without any module but Node's own. It must stay
 * one file without relative imports.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { constants as system } from 'node:os';
import { join } from 'node:path';

type Say = (level: 'INFO' | 'WARN' | 'ERROR', msg: string) => void;

export interface SuperviseOptions {
  /** The instrument's file, written by the agent. */
  readonly config: string;
  /** Where the agent puts the hash (`sha256:…`) of the file that must run. */
  readonly order: string;
  /** Folder of its own, for `state.json` and the copy that the instrument reads. */
  readonly dir: string;
  /** The instrument and its arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Time between two checks of the order. Default 250. Units: ms. */
  readonly pollMs?: number;
  /** The instrument has this long to end after SIGTERM; its own limit is 10 s. Default 12,000. Units: ms. */
  readonly stopMs?: number;
  /** Reads the config. Default: `readFileSync`. */
  readonly read?: (path: string) => Buffer;
  /** Receives the supervisor's own log lines. Default: standard output. */
  readonly say?: Say;
}

/** Runs the instrument until it ends by itself or `stop` is called. `run` resolves to the exit code. */
export class Supervisor {
  readonly #options: SuperviseOptions;
  #child: ChildProcess | null = null;
  /** Hash of the file that the running instrument was given. */
  #running = '';
  /** Hash of the copy in the folder, which the next start gives the instrument. */
  #copied = '';
  #starts = 0;
  #stoppedMs: number | null = null;
  #why: 'order' | 'signal' | null = null;
  /** The order and the file that did not match when they were last compared. */
  #unmatched = '';
  /** The state that `state.json` must hold, until it is written; else null. */
  #unwritten: string | null = null;
  /** The last fault in the log: a fault that stays is logged once, not at every poll. */
  #told = '';
  #poller: NodeJS.Timeout | undefined;
  #over = false;
  readonly #read: (path: string) => Buffer;
  readonly #say: Say;
  #finish: (code: number) => void = () => {};

  constructor(options: SuperviseOptions) {
    this.#options = options;
    this.#read = options.read ?? readFileSync;
    this.#say = options.say ?? say;
  }

  run(): Promise<number> {
    return new Promise((resolve) => {
      this.#finish = (code) => {
        this.#over = true;
        clearTimeout(this.#poller);
        resolve(code);
      };
      mkdirSync(this.#options.dir, { recursive: true });
      if (this.#takeFirst()) this.#start();
      this.#poll();
    });
  }

  /** Ends the instrument, and with it the run. */
  stop(signal: NodeJS.Signals): void {
    this.#why = 'signal';
    this.#end(signal);
  }

  /**
   * Copies the config for the first start, whatever the order says. Where that fails, as on a full disk, the copy of the
   * last run serves until an order is followed. False without one, and without a config; that ends the run.
   */
  #takeFirst(): boolean {
    const { config } = this.#options;
    let fault = `can't open ${config}`;
    try {
      const bytes = this.#read(config);
      fault = `can't write ${this.#copy}`;
      this.#copied = hashOfFile(this.#copy);
      if (this.#copied !== hashOf(bytes)) this.#keep(bytes);
      return true;
    } catch (error) {
      const { message } = error as Error;
      if (this.#copied === '') {
        this.#say('ERROR', `${fault}: ${message}`);
        this.#finish(255);
        return false;
      }
      this.#say('WARN', `the instrument starts with the configuration of its last run: ${message}`);
      return true;
    }
  }

  /**
   * Copies the config that the order names. True when the copy is another one than before; after a failure the copy
   * stays, and the next call tries again.
   */
  #take(): boolean {
    const { config, order: path } = this.#options;
    let bytes: Buffer | undefined;
    try {
      const { ino, mtimeMs, size } = statSync(config);
      const order = readFileSync(path, 'utf8').trim();
      const seen = `${order} ${ino} ${mtimeMs} ${size}`;
      if (order === this.#copied || seen === this.#unmatched) return false;
      bytes = this.#read(config);
      if (order === hashOf(bytes)) {
        this.#keep(bytes);
        this.#told = '';
        return true;
      }
      this.#unmatched = seen;
    } catch (error) {
      // Before the config is read: the agent has written no order yet, or is about to replace a file.
      if (bytes === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      const { message } = error as Error;
      if (message !== this.#told) this.#say('WARN', `the instrument keeps its configuration: ${message}`);
      this.#told = message;
    }
    return false;
  }

  get #copy(): string {
    return join(this.#options.dir, 'config.yaml');
  }

  #keep(bytes: Buffer): void {
    replace(this.#copy, bytes);
    this.#copied = hashOf(bytes);
  }

  #start(): void {
    const { command, env } = this.#options;
    this.#running = this.#copied;
    const startedMs = Date.now();
    const [program = '', ...args] = command;
    const child = spawn(program, args, {
      env: { ...env, OTEL_EBPF_CONFIG_PATH: this.#copy, LD_LIBRARY_PATH: undefined },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.once('error', (error) => {
      if (child.pid !== undefined) return;
      this.#say('ERROR', `can't start ${program}: ${error.message}`);
      this.#finish(127);
    });
    if (child.pid === undefined) return;
    this.#child = child;
    this.#why = null;
    this.#starts++;
    this.#tell({ pid: child.pid, startedMs });
    child.once('exit', (code, signal) => this.#ended(code ?? 128 + (signal ? system.signals[signal] : 0)));
  }

  #ended(code: number): void {
    this.#child = null;
    if (this.#why === 'order') {
      // A newer order may have come meanwhile; then one start is enough for both.
      this.#take();
      return this.#start();
    }
    this.#tell({ pid: null, startedMs: null });
    this.#finish(code);
  }

  #poll(): void {
    if (this.#over) return;
    this.#poller = setTimeout(() => {
      this.look();
      this.#poll();
    }, this.#options.pollMs ?? 250);
  }

  /**
   * Follows the present order; called at every poll. After an order without effect, the config is not read again until
   * the order or the config changes.
   */
  look(): void {
    this.#writeState();
    if (this.#child === null || this.#why !== null || !this.#take()) return;
    this.#say('INFO', 'restarting the instrument for a new configuration');
    this.#why = 'order';
    this.#stoppedMs = Date.now();
    this.#tell({ pid: null, startedMs: null });
    this.#end('SIGTERM');
  }

  #end(signal: NodeJS.Signals): void {
    const child = this.#child;
    if (!child) return;
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), this.#options.stopMs ?? 12_000);
    child.once('exit', () => clearTimeout(timer));
  }

  #tell(now: { pid: number | null; startedMs: number | null }): void {
    const state = { version: 1, config: this.#running, starts: this.#starts, stoppedMs: this.#stoppedMs, ...now };
    this.#unwritten = JSON.stringify(state);
    const fault = this.#writeState();
    if (fault) this.#say('WARN', `state not written yet: ${fault.message}`);
  }

  /** Writes the state unless `state.json` holds it already. Returns the error; the next poll tries again. */
  #writeState(): Error | null {
    if (this.#unwritten === null) return null;
    try {
      replace(join(this.#options.dir, 'state.json'), this.#unwritten);
      this.#unwritten = null;
      return null;
    } catch (error) {
      return error as Error;
    }
  }
}

function replace(path: string, bytes: string | Uint8Array): void {
  // On disk before the rename: after a power loss, the name must not lead to a part of the bytes.
  writeFileSync(`${path}.tmp`, bytes, { mode: 0o644, flush: true });
  renameSync(`${path}.tmp`, path);
}

function hashOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Empty for a file that is missing, cannot be read or has no bytes, as after a power loss. */
function hashOfFile(path: string): string {
  try {
    const bytes = readFileSync(path);
    return bytes.length === 0 ? '' : hashOf(bytes);
  } catch {
    return '';
  }
}

/** A line in the form of the instrument's own log. */
function say(level: 'INFO' | 'WARN' | 'ERROR', msg: string): void {
  process.stdout.write(
    `time=${new Date().toISOString()} level=${level} msg=${JSON.stringify(msg)} component=supervisor\n`,
  );
}

/** The options of a command line, or a message that says what is wrong with it. */
export function parseArguments(argv: readonly string[], env: NodeJS.ProcessEnv): SuperviseOptions | string {
  const end = argv.indexOf('--');
  const flags = new Map(
    argv.slice(0, end < 0 ? argv.length : end).map((a) => a.split(/=(.*)/s, 2) as [string, string]),
  );
  const [config, order, dir] = ['--config', '--order', '--dir'].map((name) => flags.get(name));
  if (!config || !order || !dir) return 'usage: supervise --config=<file> --order=<file> --dir=<folder> -- <program>…';
  const given = env['SVC_INSTRUMENT_COMMAND'];
  const programs = end < 0 ? [] : argv.slice(end + 1);
  const command = given ? parseCommand(given) : programs.filter(isProgram).slice(0, 1);
  if (command.length === 0) {
    return `the image has none of ${programs.join(', ')}; SVC_INSTRUMENT_COMMAND names another program as a JSON array`;
  }
  return { config, order, dir, command, env };
}

function parseCommand(text: string): string[] {
  try {
    const command = JSON.parse(text) as unknown;
    return Array.isArray(command) && command.every((part) => typeof part === 'string') ? command : [];
  } catch {
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function main(): Promise<void> {
  const options = parseArguments(process.argv.slice(3), process.env);
  if (typeof options === 'string') {
    say('ERROR', options);
    process.exitCode = 64;
    return;
  }
  const supervisor = new Supervisor(options);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => supervisor.stop(signal));
  process.exitCode = await supervisor.run();
}

if (process.argv[2] === 'supervise') await main();
