/**
 * What is known about the instrument and the file it should run, as a pure step function:
 * every transition of the acknowledgement phases is in this file.
 */
export interface InstrumentView {
  /** When the file got its present bytes, ms since the epoch; null before it was looked at. */
  readonly fileMs: number | null;
  /** When the answering process started; null while none has answered yet. */
  readonly startMs: number | null;
  /** The last probe was answered. */
  readonly up: boolean;
  /** Starts seen after the first. */
  readonly restarts: number;
  /** Monotonic time since when the instrument does not run the file, ms; null while it does. */
  readonly waitingSince: number | null;
}

export const unknownInstrument: InstrumentView = {
  fileMs: null,
  startMs: null,
  up: false,
  restarts: 0,
  waitingSince: null,
};

/** Two readings of one start differ by the time a probe takes; a real restart takes longer than this. Units: ms. */
const sameStartMs = 500;

/** The result of a probe: `startMs` of the process, or null when nobody answered. */
export function afterProbe(view: InstrumentView, startMs: number | null, monoMs: number): InstrumentView {
  if (startMs === null) return settle({ ...view, up: false }, monoMs);
  const isNew = view.startMs === null || Math.abs(startMs - view.startMs) > sameStartMs;
  const restarts = view.restarts + (isNew && view.startMs !== null ? 1 : 0);
  return settle({ ...view, up: true, startMs: isNew ? startMs : view.startMs, restarts }, monoMs);
}

/** The file was written, or found, with the bytes it must have. A new file starts the wait afresh. */
export function afterFile(view: InstrumentView, fileMs: number, changed: boolean, monoMs: number): InstrumentView {
  const waitingSince = changed ? monoMs : view.waitingSince;
  return settle({ ...view, fileMs, waitingSince }, monoMs);
}

/** True when a running instrument is known to have read older bytes: the liveness answer is then 503. */
export function runsOldFile(view: InstrumentView): boolean {
  return view.up && view.startMs !== null && view.fileMs !== null && view.startMs < view.fileMs;
}

/** True when the instrument answers and has started after the file got its bytes. */
export function runsFile(view: InstrumentView): boolean {
  return view.up && view.startMs !== null && view.fileMs !== null && view.startMs >= view.fileMs;
}

export interface PhaseInput {
  /** How long a new file may take to run. Units: ms. */
  readonly deadlineMs: number;
  readonly monoMs: number;
}

/** The phase of the config whose file was written, with a reason where it failed. */
export function phaseOf(
  view: InstrumentView,
  { deadlineMs, monoMs }: PhaseInput,
): { phase: 'Written' | 'Running' | 'Failed'; reason?: string; message?: string } {
  if (runsFile(view)) return { phase: 'Running' };
  if (view.waitingSince === null || monoMs - view.waitingSince < deadlineMs) return { phase: 'Written' };
  const seconds = Math.round(deadlineMs / 1_000);
  return view.up
    ? {
        phase: 'Failed',
        reason: 'InstrumentNotRestarted',
        message: `the instrument still runs an older file after ${seconds} s`,
      }
    : {
        phase: 'Failed',
        reason: 'InstrumentNotRunning',
        message: `the instrument has not answered on its health socket for ${seconds} s`,
      };
}

function settle(view: InstrumentView, monoMs: number): InstrumentView {
  if (runsFile(view)) return { ...view, waitingSince: null };
  return view.waitingSince === null ? { ...view, waitingSince: monoMs } : view;
}
