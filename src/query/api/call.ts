import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { MemoryAccount } from '../../base/memory-pool.ts';
import type { Gate } from '../../base/turns/gate.ts';
import type { NamedLabels } from '../../capture/index.ts';
import type { ObjectKind } from '../../api/page/types.ts';
import type { Logger } from '../../base/logger.ts';
import type { UserInfo } from '../../kube/reviews.ts';
import { peerAddress } from '../../net/http/index.ts';
import type { AgentClocks } from '../agents/agent-clocks.ts';
import type { AddressIndex } from '../addresses/address-index.ts';
import type { ActiveQueries } from '../log/active-queries.ts';
import type { QueryLog } from '../log/query-log.ts';
import type { ObjectAccess } from '../objects/object-access.ts';
import type { WatchedKind } from '../objects/watch-objects.ts';
import type { QuerySettings } from '../settings.ts';
import { durationParam, partialResponseParam, pushdownHeader } from './params.ts';
import type { RequestBody } from './request-body.ts';
import type { QueryRunner } from '../run/query-runner.ts';
import type { RunRequest } from '../run/runner-options.ts';

/** One request that has been parsed and is being served. */
export interface Call {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly params: URLSearchParams;
  /** For a handler that reads the body itself. A form has been read already; it counts until the request ends. */
  readonly body: RequestBody;
  readonly signal: AbortSignal;
  /** The label of `/label/:name/values`. */
  readonly label?: string;
  /** Name of the user whose token was reviewed; empty on a loopback connection. */
  readonly user: string;
  /** That user, for further reviews; undefined on a connection that needs no token. */
  readonly identity: UserInfo | undefined;
  /** Only series of these namespaces are visible; undefined: all. */
  readonly namespaces: ReadonlySet<string> | undefined;
  /** The account that is charged for the memory of the answer until the answer has been sent. */
  readonly memory: MemoryAccount;
}

export interface HandlerDeps {
  readonly runner: QueryRunner;
  readonly clock: Clock;
  readonly settings: QuerySettings;
  readonly version: string;
  readonly log: QueryLog;
  /** The body of a request of this caller. */
  readonly bodyOf: (caller: string) => RequestBody;
  readonly active: ActiveQueries;
  /** Limits the remote reads that run at a time. Each holds its place until its answer has been sent. */
  readonly reads: Gate;
  /** The owners of the cluster's addresses; empty where they are not watched. */
  readonly addresses: AddressIndex;
  readonly agentClocks: AgentClocks;
  /** Objects of the API server and the rights to see them; undefined without an API server. */
  readonly objects?:
    | {
        readonly kinds: Readonly<Record<ObjectKind, WatchedKind>>;
        readonly access: ObjectAccess;
        readonly namespaces: () => readonly NamedLabels[];
      }
    | undefined;
  readonly logger: Logger;
  /** When the server was started, ms since the epoch. */
  readonly startedAt: number;
}

export type Handler = (call: Call, deps: HandlerDeps) => Promise<void>;

/** The client's options for running its request. Errors: ApiError bad_data. */
export function runRequest({ req, params, signal, user, namespaces, memory }: Call): RunRequest {
  const lookbackDeltaMs = durationParam(params, 'lookback_delta') ?? 0;
  return {
    signal,
    caller: callerOf({ req, user }),
    timeoutMs: durationParam(params, 'timeout'),
    // A lookback of 0 would find nothing: as in Prometheus, it means the default.
    lookbackDeltaMs: lookbackDeltaMs > 0 ? lookbackDeltaMs : undefined,
    partialResponse: partialResponseParam(params),
    namespaces,
    memory,
    pushdown: pushdownHeader(req),
  };
}

/** The key for fair queueing: the user, or the source address for a request without a user. */
export function callerOf({ req, user }: Pick<Call, 'req' | 'user'>): string {
  return user === '' ? `address ${peerAddress(req.socket) ?? ''}` : `user ${user}`;
}
