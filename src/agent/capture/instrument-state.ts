import type { RunningInstrument } from './instrument-probe.ts';

/**
 * The instrument, and the config file that it should run with, as last seen. All transitions between the phases of a
 * config (Written, Running, Failed) are in this module, as pure step functions. A file is identified by its hash.
 */
export interface InstrumentView {
  /** The file in place; null before the first look at it, and while it is being replaced. */
  readonly file: string | null;
  /** The newest process that answered, as last seen; null while none has answered yet. */
  readonly process: RunningInstrument | null;
  /** Whether the last probe was answered. */
  readonly up: boolean;
  /** Number of starts seen after the first. */
  readonly restarts: number;
  /** Length of the gap in capture around the newest restart; null before the first. Units: ms. */
  readonly gapMs: number | null;
  /** Monotonic time since which the instrument has not run the file; null while it runs it. Units: ms. */
  readonly waitingSince: number | null;
}

export const unknownInstrument: InstrumentView = {
  file: null,
  process: null,
  up: false,
  restarts: 0,
  gapMs: null,
  waitingSince: null,
};

/** The view after a probe. `process` is the one that answered the probe, or null. */
export function afterProbe(
  view: InstrumentView,
  process: RunningInstrument | null,
  now: { wallMs: number; monoMs: number },
): InstrumentView {
  if (process === null) return settle({ ...view, up: false }, now.monoMs);
  const isNew = view.process?.startMs !== process.startMs || view.process.pid !== process.pid;
  const restarted = isNew && view.process !== null;
  return settle(
    {
      ...view,
      up: true,
      process,
      restarts: view.restarts + (restarted ? 1 : 0),
      gapMs: restarted ? Math.max(0, now.wallMs - (process.stoppedMs ?? process.startMs)) : view.gapMs,
    },
    now.monoMs,
  );
}

/** The view after the file was written, or found with the right bytes. A changed file restarts the wait. */
export function afterFile(view: InstrumentView, file: string, changed: boolean, monoMs: number): InstrumentView {
  const waitingSince = changed ? monoMs : view.waitingSince;
  return settle({ ...view, file, waitingSince }, monoMs);
}

/** True when the instrument answers and was started with another file than the one in place. */
export function runsOldFile(view: InstrumentView): boolean {
  return view.up && view.file !== null && view.process !== null && view.process.file !== view.file;
}

/** True when the instrument answers and was started with the file in place. */
export function runsFile(view: InstrumentView): boolean {
  return view.up && view.file !== null && view.process?.file === view.file;
}

export interface PhaseInput {
  /** Time limit for the instrument to run a new file. Units: ms. */
  readonly deadlineMs: number;
  readonly monoMs: number;
}

/** The phase of the config whose file was written, with a reason when it failed. */
export function phaseOf(
  view: InstrumentView,
  { deadlineMs, monoMs }: PhaseInput,
): { phase: 'Written' | 'Running' | 'Failed'; reason?: string; message?: string } {
  if (runsFile(view)) return { phase: 'Running' };
  if (view.waitingSince === null || monoMs - view.waitingSince < deadlineMs) return { phase: 'Written' };
  // The wait counts from when the file was written, or from when the instrument last ran it. The instrument may have
  // answered since then, while it ran an older file.
  const waited = `the instrument has not run its file for ${Math.round(deadlineMs / 1_000)} s`;
  return view.up
    ? { phase: 'Failed', reason: 'InstrumentNotRestarted', message: `${waited}: it still runs an older one` }
    : { phase: 'Failed', reason: 'InstrumentNotRunning', message: `${waited}: its health socket does not answer` };
}

function settle(view: InstrumentView, monoMs: number): InstrumentView {
  if (runsFile(view)) return { ...view, waitingSince: null };
  return view.waitingSince === null ? { ...view, waitingSince: monoMs } : view;
}
