import { systemClock } from '../../src/base/clock.ts';
import { signsOfLife, type ProgressOptions } from '../cluster/progress.ts';

/** The demo's output: steps with elapsed time, and checks with a verdict. */
export interface Report {
  /** Runs a slow step; prints its name at the start, progress in between, and its duration at the end. */
  step<T>(name: string, work: (note: (text: string) => void) => Promise<T>): Promise<T>;
  /** Prints one check of the demo: what was expected, what came, and whether they agree. */
  expect(what: string, ok: boolean, got: string): void;
  /** Prints text unchanged. */
  show(text: string): void;
  readonly failures: readonly string[];
}

/** The report of work that the signal ends: once it has aborted, each line throws its reason, and no check counts. */
export function interruptible(report: Report, signal: AbortSignal): Report {
  return {
    ...report,
    expect(what, ok, got) {
      signal.throwIfAborted();
      report.expect(what, ok, got);
    },
    show(text) {
      signal.throwIfAborted();
      report.show(text);
    },
  };
}

export interface ReportOptions extends ProgressOptions {
  /** Where the text goes. Default stdout. */
  write?: (text: string) => void;
}

export function createReport({
  write = (text) => void process.stdout.write(text),
  terminal = process.stdout.isTTY,
  clock = systemClock,
}: ReportOptions = {}): Report {
  const origin = clock.monotonic();
  const failures: string[] = [];
  const stamp = (): string => `${((clock.monotonic() - origin) / 1000).toFixed(1).padStart(6)} s`;
  return {
    failures,
    async step(name, work) {
      const started = clock.monotonic();
      const elapsed = (): string => `${((clock.monotonic() - started) / 1000).toFixed(1)} s`;
      let note = '';
      write(`${stamp()}  ${name} …\n`);
      const still = (): void => write(`${stamp()}    still: ${name}${note ? ` (${note})` : ''}, ${elapsed()}\n`);
      const end = signsOfLife(still, { terminal, clock });
      try {
        const result = await work((text) => {
          note = text;
        });
        write(`${stamp()}    done in ${elapsed()}\n`);
        return result;
      } finally {
        end();
      }
    },
    expect(what, ok, got) {
      if (!ok) failures.push(what);
      write(`${ok ? '  ✔' : '  ✘'} ${what}: ${got}\n`);
    },
    show: (text) => write(text.endsWith('\n') ? text : `${text}\n`),
  };
}
