import { access } from 'node:fs/promises';
import { request } from 'node:http';
import { instrumentVersion, isSinceV010 } from '../../capture/index.ts';
import { readSupervisorState, type SupervisorState } from '../supervisor/state.ts';

/** Whether the instrument answers. */
export type HealthCheck = (signal: AbortSignal) => Promise<boolean>;

const deadlineMs = 1_000;

/**
 * `GET /healthz` on a unix socket; a name that starts with `@` is in the abstract namespace, as the instrument has it.
 * Only the status counts: the uptime in the answer is that of the health server, which starts up to half a minute after
 * the instrument has read its file, so it says nothing about which file that was.
 */
export function socketHealth(socket: string): HealthCheck {
  const socketPath = socket.startsWith('@') ? `\0${socket.slice(1)}` : socket;
  return (signal) =>
    new Promise((resolve) => {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
      const req = request({ socketPath, path: '/healthz', signal: deadline, agent: false }, (res) => {
        res.resume();
        res.on('error', () => {});
        resolve(res.statusCode === 200);
      });
      req.on('error', () => resolve(false));
      req.end();
    });
}

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
