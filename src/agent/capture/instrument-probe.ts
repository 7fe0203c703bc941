import { access } from 'node:fs/promises';
import { instrumentVersion, isSinceV010 } from '../../capture/index.ts';
import { readSupervisorState, type SupervisorState } from '../supervisor/state.ts';
import { type HealthCheck, socketHealth } from './health-socket.ts';

/** The instrument that answers, as its supervisor started it. */
export interface RunningInstrument {
  /** `sha256:…` of the file that it was started with. */
  readonly file: string;
  /** Process id on the node. */
  readonly pid: number;
  /** When its process started. Units: ms since the epoch. */
  readonly startMs: number;
  /** When the run before it was told to end; null where it was not. Units: ms since the epoch. */
  readonly stoppedMs: number | null;
}

/** Asks how the instrument is; null while none answers. */
export type InstrumentProbe = (signal: AbortSignal) => Promise<RunningInstrument | null>;

/**
 * Which file the instrument runs is what its supervisor says; whether it works is its own health answer, or, for versions
 * without one, that its process exists.
 * Guarantees: the answer is of one process: where another one was started while the health was asked, it is null.
 * Errors: ERR_CONFIG_INVALID for a version that is not supported; the probe's: ERR_INPUT_INVALID for a damaged state.
 */
export function instrumentProbe(
  settings: { instrumentVersion: string; instrumentHealthSocket: string; instrumentStateDir: string },
  proc = '/proc',
): InstrumentProbe {
  const dir = settings.instrumentStateDir;
  const health: HealthCheck | null = isSinceV010(instrumentVersion(settings.instrumentVersion))
    ? socketHealth(settings.instrumentHealthSocket)
    : null;
  const answers = (pid: number, signal: AbortSignal): Promise<boolean> =>
    health
      ? health(signal)
      : access(`${proc}/${pid}`).then(
          () => true,
          () => false,
        );
  return async (signal) => {
    const before = running(await readSupervisorState(dir));
    if (!before || !(await answers(before.pid, signal))) return null;
    const after = running(await readSupervisorState(dir));
    return after?.pid === before.pid && after.startMs === before.startMs ? after : null;
  };
}

function running(state: SupervisorState | null): RunningInstrument | null {
  if (!state || state.pid === null || state.startedMs === null) return null;
  return { file: state.config, pid: state.pid, startMs: state.startedMs, stoppedMs: state.stoppedMs };
}
