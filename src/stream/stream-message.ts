import { Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { OperatorError } from '../base/errors.ts';
import { parseJson } from '../base/text/parse-json.ts';
import { parseRfc3339 } from '../base/text/rfc3339.ts';
import { type FlowRecord, type Recorded, rfc3339Nano, type SpanRecord } from './records.ts';

export type NodeState = 'NODE_CONNECTED' | 'NODE_UNAVAILABLE' | 'NODE_ERROR';

/**
 * One message of the stream: a line of NDJSON, or a gRPC message. It has exactly one of `span`, `flow`, `node_status`
 * and `lost`.
 */
export interface StreamMessage {
  readonly node: string;
  /** RFC 3339, UTC: the start of a span, the report time of a flow, the present time of other messages. */
  readonly time: string;
  readonly span?: SpanRecord;
  readonly flow?: FlowRecord;
  readonly node_status?: {
    readonly state: NodeState;
    readonly nodes: readonly string[];
    readonly message?: string;
    /**
     * The nodes are not of the cluster any more, and nothing is missing without them. A field and not a state, because
     * readers of earlier releases refuse a state that they do not know.
     */
    readonly gone?: boolean;
  };
  readonly lost?: { readonly source: string; readonly count: number };
  /**
   * The position of the stream after this message, when the request asked for cursors. Only the agent that sent the
   * cursor can interpret it.
   */
  readonly cursor?: string;
}

export function itemMessage(item: Pick<Recorded, 'span' | 'flow'>, node: string, cursor?: string): StreamMessage {
  const { span, flow } = item;
  const at = cursor === undefined ? {} : { cursor };
  return span ? { node, time: span.start, span, ...at } : { node, time: flow!.end, flow: flow!, ...at };
}

export function lostMessage(
  source: string,
  count: number,
  node: string,
  nowMs: number,
  cursor?: string,
): StreamMessage {
  return { node, time: timeText(nowMs), lost: { source, count }, ...(cursor === undefined ? {} : { cursor }) };
}

export interface StatusDetails {
  /** The nodes concerned, when they are not the sender. */
  readonly nodes?: readonly string[];
  readonly message?: string | undefined;
  readonly gone?: boolean;
  readonly cursor?: string | undefined;
}

export function statusMessage(
  state: NodeState,
  node: string,
  nowMs: number,
  { nodes = [node], message, gone, cursor }: StatusDetails = {},
): StreamMessage {
  const status = { state, nodes, ...(message ? { message } : {}), ...(gone ? { gone } : {}) };
  return { node, time: timeText(nowMs), node_status: status, ...(cursor === undefined ? {} : { cursor }) };
}

function timeText(ms: number): string {
  return rfc3339Nano(BigInt(Math.floor(ms)) * 1_000_000n);
}

/** More items than an agent can lose between two messages. The metric of losses could not count on from far more. */
const mostLost = 1e12;
const text = Type.String();
const optional = Type.Optional(text);
const time = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{9}Z$' });
const workload = Type.Optional(Type.Object({ kind: text, name: text }));
const end = Type.Object({
  ...{ namespace: optional, name: optional, kind: optional, workload, node: optional, address: optional },
  ...{ port: Type.Optional(Type.Integer()), zone: optional, cidr: optional },
});
const attributes = Type.Record(Type.String(), Type.Unknown());
const kinds = {
  span: Type.Object({
    ...{ traceId: text, spanId: text, parentSpanId: optional, name: text, kind: text, start: time },
    durationNs: Type.Number({ minimum: 0 }),
    status: Type.Union([Type.Literal('unset'), Type.Literal('ok'), Type.Literal('error')]),
    ...{ statusMessage: optional, namespace: optional, pod: optional, container: optional, workload },
    ...{ service: optional, method: optional, path: optional, route: optional },
    statusCode: Type.Optional(Type.Integer()),
    peer: Type.Optional(end),
    attributes,
  }),
  flow: Type.Object({
    ...{ end: time, direction: text, protocol: optional, bytes: Type.Number({ minimum: 0 }) },
    ...{ source: end, destination: end, attributes },
  }),
  node_status: Type.Object({
    state: Type.Union([Type.Literal('NODE_CONNECTED'), Type.Literal('NODE_UNAVAILABLE'), Type.Literal('NODE_ERROR')]),
    nodes: Type.Array(text),
    message: optional,
    gone: Type.Optional(Type.Boolean()),
  }),
  lost: Type.Object({ source: text, count: Type.Integer({ minimum: 0, maximum: mostLost }) }),
};
const names = Object.keys(kinds) as (keyof typeof kinds)[];
const schema = Type.Object({
  ...{ node: text, time, cursor: optional },
  ...{ span: Type.Optional(kinds.span), flow: Type.Optional(kinds.flow) },
  ...{ node_status: Type.Optional(kinds.node_status), lost: Type.Optional(kinds.lost) },
});
const check = TypeCompiler.Compile(schema);

/** Parses a line of a stream that another process wrote. Errors: ERR_INPUT_INVALID that names the field. */
export function parseMessage(line: string): StreamMessage {
  const value = parseJson(line, 'line:');
  if (!check.Check(value)) {
    const first = check.Errors(value).First();
    throw new OperatorError(
      'ERR_INPUT_INVALID',
      `${first?.path.slice(1) || 'line'}: ${first?.message ?? 'is not valid'}`,
    );
  }
  if (names.filter((name) => value[name] !== undefined).length !== 1) {
    throw new OperatorError('ERR_INPUT_INVALID', `line: must be one of ${names.join(', ')}`);
  }
  const { time: told, span, flow } = value;
  const own = span?.start ?? flow?.end ?? told;
  refuseNoTime('time', told);
  // Agents send the time of an item twice: the same text is checked once.
  if (own !== told) refuseNoTime(span ? 'span/start' : 'flow/end', own);
  return value as StreamMessage;
}

function refuseNoTime(name: string, text: string): void {
  if (parseRfc3339(text) !== undefined) return;
  throw new OperatorError('ERR_INPUT_INVALID', `${name}: must be a time that exists`);
}
