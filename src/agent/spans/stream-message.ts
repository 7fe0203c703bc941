import type { FlowRecord } from './flow-record.ts';
import { rfc3339Nano, type SpanRecord } from './span-record.ts';
import type { StreamEvent } from './stream-reader.ts';

export type NodeState = 'NODE_CONNECTED' | 'NODE_UNAVAILABLE' | 'NODE_ERROR';

/** One message of the stream: a line of NDJSON, or a gRPC message. Exactly one of the last four members is there. */
export interface StreamMessage {
  readonly node: string;
  /** RFC 3339, UTC: of a span its start, of a flow its report, of the others now. */
  readonly time: string;
  readonly span?: SpanRecord;
  readonly flow?: FlowRecord;
  readonly node_status?: { readonly state: NodeState; readonly nodes: readonly string[]; readonly message?: string };
  readonly lost?: { readonly source: string; readonly count: number };
}

export function eventMessage(event: StreamEvent, node: string, nowMs: number): StreamMessage {
  if ('lost' in event) {
    return { node, time: timeText(nowMs), lost: { source: event.source, count: event.lost } };
  }
  const { span, flow } = event.item;
  return span ? { node, time: span.start, span } : { node, time: flow!.end, flow: flow! };
}

export function statusMessage(state: NodeState, node: string, nowMs: number, message?: string): StreamMessage {
  return { node, time: timeText(nowMs), node_status: { state, nodes: [node], ...(message ? { message } : {}) } };
}

function timeText(ms: number): string {
  return rfc3339Nano(BigInt(ms) * 1_000_000n);
}
