import { queryLimits } from '../../promql/index.ts';
import { invalidField, streamQuery, type StreamRequest } from '../../stream/index.ts';
import { nodesOf } from './scope.ts';

/** A reader's request in the form that the relay, which asks the agents, executes. */
export interface StreamPlan {
  readonly number: number;
  readonly first: boolean;
  readonly follow: boolean;
  /** The part of the request that is the same for every agent: filters, types, and absolute time bounds. */
  readonly base: StreamRequest;
  /** The requested namespaces, if any. */
  readonly namespaces: readonly string[] | undefined;
  readonly wants: (node: string) => boolean;
  readonly named: readonly string[] | undefined;
}

/** Takes the place of a node: the relay does not match items, the agents do. */
const anyNode = { node: '', podLabels: () => undefined };

/**
 * The plan of a request. The patterns of its paths have the limits of one query's.
 * Errors: ERR_INPUT_INVALID that names the field, for every request that an agent would refuse.
 */
export function streamPlan(request: StreamRequest, nowMs: number): StreamPlan {
  for (const field of ['cursors', 'after'] as const) {
    if (request[field] !== undefined) throw invalidField(field, 'is for the stream of one agent');
  }
  const { number, first, follow, sinceMs, untilMs } = streamQuery(request, nowMs, anyNode, queryLimits);
  const { include, exclude, types } = request;
  return {
    number,
    first,
    follow,
    base: {
      ...(include ? { include } : {}),
      ...(exclude ? { exclude } : {}),
      ...(types ? { types } : {}),
      ...(sinceMs > 0 ? { since: timeText(sinceMs) } : {}),
      ...(untilMs < Infinity ? { until: timeText(Math.max(0, untilMs)) } : {}),
    },
    namespaces: request.namespaces,
    ...nodesOf(request),
  };
}

/** How many items a plan asks for, as the fields of a request. */
export function numberOf({ number, first }: Pick<StreamPlan, 'number' | 'first'>): StreamRequest {
  return { ...(number === Infinity ? { all: true } : { number }), ...(first ? { first } : {}) };
}

/** A time in RFC 3339. A time after the year 9999 is written as the end of that year, the last one of four digits. */
function timeText(ms: number): string {
  return new Date(Math.min(ms, 253_402_300_799_999)).toISOString();
}
