import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { ActiveQueries } from '../log/active-queries.ts';
import type { QueryLog } from '../log/query-log.ts';
import type { QuerySettings } from '../settings.ts';
import { durationParam, partialResponseParam, pushdownHeader } from './params.ts';
import type { QueryRunner, RunRequest } from './query-runner.ts';

/** One request, read and under way. */
export interface Call {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly params: URLSearchParams;
  readonly signal: AbortSignal;
  /** The label of `/label/:name/values`. */
  readonly label?: string;
  /** Name of the user whose token was reviewed; empty on a loopback connection. */
  readonly user: string;
  /** Only series of these namespaces may be seen; undefined: all. */
  readonly namespaces: ReadonlySet<string> | undefined;
}

export interface HandlerDeps {
  readonly runner: QueryRunner;
  readonly clock: Clock;
  readonly settings: QuerySettings;
  readonly version: string;
  readonly log: QueryLog;
  readonly active: ActiveQueries;
  /** When the server was started, ms since the epoch. */
  readonly startedAt: number;
}

export type Handler = (call: Call, deps: HandlerDeps) => Promise<void>;

/** How the client wants its request to be run. Errors: ApiError bad_data. */
export function runRequest({ req, params, signal, user, namespaces }: Call): RunRequest {
  const lookbackDeltaMs = durationParam(params, 'lookback_delta') ?? 0;
  return {
    signal,
    caller: callerOf({ req, user }),
    timeoutMs: durationParam(params, 'timeout'),
    // No lookback at all would find nothing: as in Prometheus, it stands for the default.
    lookbackDeltaMs: lookbackDeltaMs > 0 ? lookbackDeltaMs : undefined,
    partialResponse: partialResponseParam(params),
    namespaces,
    pushdown: pushdownHeader(req),
  };
}

/** Whose turn a request takes: the user's; without one, that of the address it came from. */
export function callerOf({ req, user }: Pick<Call, 'req' | 'user'>): string {
  return user === '' ? `address ${req.socket.remoteAddress ?? ''}` : `user ${user}`;
}
