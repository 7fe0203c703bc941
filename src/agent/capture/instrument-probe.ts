import { access } from 'node:fs/promises';
import { request } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { within } from '../../base/time-limit.ts';
import { answerTo } from '../../base/wire/http-body.ts';
import { instrumentVersion, isSinceV010, opensHealthSocket } from '../../capture/index.ts';
import { readRunningFile, readSupervisorState, type SupervisorState } from '../supervisor/state.ts';

/** Whether the instrument answers. */
export type HealthCheck = (signal: AbortSignal) => Promise<boolean>;

const deadlineMs = 1_000;

/**
 * `GET /healthz` on a unix socket. A name that starts with `@` is in the abstract namespace, which the instrument uses.
 * Only the HTTP status counts. The uptime in the answer is that of the health server, which starts up to half a minute
 * after the instrument has read its file, so it does not tell which file that was.
 */
export function socketHealth(socket: string, clock: Clock): HealthCheck {
  const socketPath = socket.startsWith('@') ? `\0${socket.slice(1)}` : socket;
  const ask = async (signal: AbortSignal): Promise<boolean> => {
    const sent = request({ socketPath, path: '/healthz', signal, agent: false }).end();
    try {
      return (await answerTo(sent)).statusCode === 200;
    } catch {
      return false;
    } finally {
      // The answer is not read: its body may have no end.
      sent.destroy();
    }
  };
  return (signal) => within(clock, deadlineMs, ask, signal);
}

/** The instrument that answers, as its supervisor started it. */
export interface RunningInstrument {
  /** `sha256:…` of the file that it was started with. */
  readonly file: string;
  /** Process id on the node. */
  readonly pid: number;
  /** When its process started. Units: ms since the epoch. */
  readonly startMs: number;
  /** When the previous process was asked to end; null when it was not asked. Units: ms since the epoch. */
  readonly stoppedMs: number | null;
}

/** Reads the state of the instrument; null while none answers. */
export type InstrumentProbe = (signal: AbortSignal) => Promise<RunningInstrument | null>;

/**
 * The supervisor reports which file the instrument runs. Whether the instrument works comes from its own health check
 * or, without one, from the existence of its process. Versions before v0.10 have none, and neither has a newer one that
 * runs a file for such a version: after a downgrade, pods that are not yet replaced get the files of the older version.
 * Guarantees: the answer describes one process. When another process started during the health check, the answer is
 * null.
 * Errors: ERR_CONFIG_INVALID for an unsupported version. The probe rejects with ERR_INPUT_INVALID for a damaged state.
 */
export function instrumentProbe(
  settings: { instrumentVersion: string; instrumentHealthSocket: string; instrumentStateDir: string },
  clock: Clock,
  proc = '/proc',
): InstrumentProbe {
  const dir = settings.instrumentStateDir;
  const hasCheck = isSinceV010(instrumentVersion(settings.instrumentVersion));
  const health = socketHealth(settings.instrumentHealthSocket, clock);
  const hasSocket = socketKnowledge(dir);
  const answers = async ({ file, pid }: RunningInstrument, signal: AbortSignal): Promise<boolean> => {
    if (hasCheck && (await hasSocket(file))) return health(signal);
    return access(`${proc}/${pid}`).then(
      () => true,
      () => false,
    );
  };
  return async (signal) => {
    const before = running(await readSupervisorState(dir));
    if (!before || !(await answers(before, signal))) return null;
    const after = running(await readSupervisorState(dir));
    return after?.pid === before.pid && after.startMs === before.startMs ? after : null;
  };
}

/**
 * Whether a file of the instrument opens its health socket; the hash names the file. Each file is read once, as it can
 * have megabytes. A file that cannot be read now counts as one with a socket: an instrument without one is then down
 * for a moment, but none that hangs is up.
 */
function socketKnowledge(dir: string): (hash: string) => Promise<boolean> {
  let known = { hash: '', opens: true };
  return async (hash) => {
    if (known.hash === hash) return known.opens;
    const yaml = await readRunningFile(dir, hash);
    if (yaml === null) return true;
    known = { hash, opens: opensHealthSocket(yaml) };
    return known.opens;
  };
}

function running(state: SupervisorState | null): RunningInstrument | null {
  if (!state || state.pid === null || state.startedMs === null) return null;
  return { file: state.config, pid: state.pid, startMs: state.startedMs, stoppedMs: state.stoppedMs };
}
