import { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import { OperatorError } from '../../base/errors.ts';
import { type FilterField, filterFields } from '../item-filter.ts';
import type { FlowEnd, FlowRecord, SpanRecord } from '../records.ts';
import { parseStreamRequest, type StreamRequest } from '../stream-query.ts';
import type { NodeState, StreamMessage } from '../stream-message.ts';

/**
 * The messages of `stream.proto`, written and read by hand, because a schema library would have to load the file at run
 * time.
 * A test keeps both equal.
 */
export const readPath = '/svc.stream.v1.Stream/Read';

const states: Readonly<Record<NodeState, number>> = { NODE_CONNECTED: 1, NODE_UNAVAILABLE: 2, NODE_ERROR: 3 };

/** One for all messages, since tens of thousands are written a second. */
const writer = new WireWriter(16 * 1024);

export function encodeMessage(message: StreamMessage): Buffer {
  const out = writer.reset();
  out.string(1, message.node);
  out.string(2, message.time);
  const { span, flow, node_status: status, lost } = message;
  if (span) out.message(3, (w) => writeSpan(w, span));
  if (flow) out.message(4, (w) => writeFlow(w, flow));
  if (status) {
    out.message(5, (w) => {
      w.uint(1, states[status.state]);
      for (const node of status.nodes) w.string(2, node);
      text(w, 3, status.message);
    });
  }
  if (lost) {
    out.message(6, (w) => {
      w.string(1, lost.source);
      w.uint(2, lost.count);
    });
  }
  text(out, 7, message.cursor);
  return Buffer.from(out.finish());
}

function writeSpan(out: WireWriter, span: SpanRecord): void {
  text(out, 1, span.traceId);
  text(out, 2, span.spanId);
  text(out, 3, span.parentSpanId);
  text(out, 4, span.name);
  text(out, 5, span.kind);
  text(out, 6, span.start);
  out.uint(7, Math.max(0, Math.round(span.durationNs)));
  text(out, 8, span.status);
  text(out, 9, span.statusMessage);
  text(out, 10, span.namespace);
  text(out, 11, span.pod);
  text(out, 12, span.container);
  workload(out, 13, span.workload);
  text(out, 14, span.service);
  text(out, 15, span.method);
  text(out, 16, span.path);
  text(out, 17, span.route);
  if (span.statusCode !== undefined) out.uint(18, Math.max(0, span.statusCode));
  attributes(out, 19, span.attributes);
  const { peer } = span;
  if (peer) out.message(20, (w) => writeEnd(w, peer));
}

function writeFlow(out: WireWriter, flow: FlowRecord): void {
  text(out, 1, flow.end);
  text(out, 2, flow.direction);
  text(out, 3, flow.protocol);
  out.uint(4, Math.round(flow.bytes));
  out.message(5, (w) => writeEnd(w, flow.source));
  out.message(6, (w) => writeEnd(w, flow.destination));
  attributes(out, 7, flow.attributes);
}

function writeEnd(out: WireWriter, end: FlowEnd): void {
  text(out, 1, end.namespace);
  text(out, 2, end.name);
  text(out, 3, end.kind);
  workload(out, 4, end.workload);
  text(out, 5, end.node);
  text(out, 6, end.address);
  if (end.port !== undefined) out.uint(7, end.port);
  text(out, 8, end.zone);
  text(out, 9, end.cidr);
}

function text(out: WireWriter, field: number, value: string | undefined): void {
  if (value) out.string(field, value);
}

function workload(out: WireWriter, field: number, value: { kind: string; name: string } | undefined): void {
  if (!value) return;
  out.message(field, (w) => {
    w.string(1, value.kind);
    w.string(2, value.name);
  });
}

function attributes(out: WireWriter, field: number, values: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(values)) {
    out.message(field, (w) => {
      w.string(1, key);
      w.string(2, typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
    });
  }
}

/** Errors: ERR_INPUT_INVALID for bytes that are not a ReadRequest, or for contradictory values. */
export function decodeRequest(bytes: Uint8Array): StreamRequest {
  const read = new WireReader(bytes);
  const request: Record<string, unknown> = {};
  const push = (name: string, value: unknown): void => {
    request[name] = [...((request[name] as unknown[] | undefined) ?? []), value];
  };
  while (!read.done) {
    const key = read.key();
    const field = key >>> 3;
    const expected = field <= 4 || field === 11 ? 0 : 2;
    if (field > 12) {
      read.skip(key & 7);
      continue;
    }
    if ((key & 7) !== expected) throw new OperatorError('ERR_INPUT_INVALID', `field ${field}: wrong wire type`);
    if (field === 1) request['number'] = read.uint();
    else if (field <= 4) request[(['all', 'first', 'follow'] as const)[field - 2]!] = read.bool();
    else if (field <= 6) request[field === 5 ? 'since' : 'until'] = read.string();
    else if (field <= 8) push(field === 7 ? 'include' : 'exclude', decodeFilter(read.message()));
    else if (field === 11) request['cursors'] = read.bool();
    else if (field === 12) request['after'] = read.string();
    else push(field === 9 ? 'types' : 'namespaces', read.string());
  }
  return parseStreamRequest(request);
}

/** Fields of a Filter by number, in the order of the file. */
const fieldsByNumber: readonly FilterField[] = filterFields;

function decodeFilter(read: WireReader): Record<string, string[]> {
  const filter: Record<string, string[]> = {};
  while (!read.done) {
    const key = read.key();
    const name = fieldsByNumber[(key >>> 3) - 1];
    if (name === undefined || (key & 7) !== 2) read.skip(key & 7);
    else (filter[name] ??= []).push(read.string());
  }
  return filter;
}
