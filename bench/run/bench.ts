import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { figureLine } from './figure.ts';
import type { Figure, Setting } from './figure.ts';
import { helpText, readFlags, WrongFlag } from './flags.ts';
import type { Command, Flags, Options } from './flags.ts';

/** What a benchmark works with. */
export interface Stage<Own extends Options = Options> {
  readonly flags: Flags<Own>;
  readonly runs: number;
  readonly quick: boolean;
  /** Prints figures that were measured in one setting. */
  readonly reporter: (setting: Setting) => (figure: Figure) => void;
  /** Progress, on stderr. */
  readonly say: (text: string) => void;
  /** Notes a failure: the run goes on, and ends with this text and exit code 1. */
  readonly fail: (text: string) => void;
  /** Registers work that is done once when the run ends, however it ends; in reverse order. */
  readonly atEnd: (work: () => unknown) => void;
  /** A temporary folder, removed at the end. */
  readonly folder: () => string;
}

/** How long a signal waits for the functions given to `atEnd` before the process ends anyway. Units: ms. */
const patienceMs = 10_000;

/**
 * The frame of every benchmark.
 * Flow: flags → `work` → the functions given to `atEnd`, last first → exit code.
 * Guarantees: an error of `work` and a text given to `fail` end with a sentence on stderr and exit code 1; wrong flags
 * end with 2. SIGINT and SIGTERM run the functions given to `atEnd` and end with 130 and 143. A second signal ends the
 * process immediately.
 */
export async function bench<Own extends Options>(
  command: Command<Own>,
  work: (stage: Stage<Own>) => Promise<void>,
): Promise<void> {
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  let flags: Flags<Own>;
  try {
    flags = readFlags(command, process.argv.slice(2));
  } catch (error) {
    say((error as Error).message);
    process.exitCode = 2;
    return;
  }
  const { help, quick, runs } = flags as Flags<Options>;
  if (help) return void process.stdout.write(helpText(command));
  const failures: string[] = [];
  let code = 1;
  const { atEnd, end } = endings((error) => failures.push(`cleaning up: ${reason(error)}`));
  const signals = onSignals(end);
  try {
    await work({
      flags,
      runs: runs as number,
      quick: quick as boolean,
      reporter: (setting) => (figure) => void process.stdout.write(`${JSON.stringify(figureLine(setting, figure))}\n`),
      say,
      fail: (text) => void failures.push(text),
      atEnd,
      folder: () => {
        const path = mkdtempSync(join(tmpdir(), 'svc-bench-'));
        atEnd(() => rmSync(path, { recursive: true, force: true, maxRetries: 3 }));
        return path;
      },
    });
  } catch (error) {
    if (error instanceof WrongFlag) code = 2;
    if (!signals.received()) failures.push(reason(error));
  }
  // If a signal came, its handler has already called `end`. This waits for the same clean-up, and the handler then exits.
  await end();
  if (signals.received()) return;
  signals.ignore();
  for (const failure of failures) say(`${command.name} failed: ${failure}`);
  const ended = failures.length > 0 ? code : 0;
  // Exits explicitly: Node can spin for ever while it closes connections to a process that was killed.
  process.stdout.write('', () => process.exit(ended));
}

function endings(failed: (error: unknown) => void): { atEnd: Stage['atEnd']; end: () => Promise<void> } {
  const ends: (() => unknown)[] = [];
  let ending: Promise<void> | undefined;
  const all = async (): Promise<void> => {
    for (let last = ends.pop(); last; last = ends.pop()) {
      try {
        await last();
      } catch (error) {
        failed(error);
      }
    }
  };
  return { atEnd: (work) => void ends.push(work), end: () => (ending ??= all()) };
}

function onSignals(end: () => Promise<void>): { received: () => boolean; ignore: () => void } {
  let seen = false;
  const on = (signal: NodeJS.Signals): void => {
    const code = signal === 'SIGINT' ? 130 : 143;
    if (seen) process.exit(code);
    seen = true;
    setTimeout(() => process.exit(code), patienceMs);
    void end().finally(() => process.exit(code));
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, on);
  return { received: () => seen, ignore: () => signals.forEach((signal) => process.off(signal, on)) };
}

function reason(error: unknown): string {
  if (error instanceof WrongFlag) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
