import { WireReader } from '../../../base/wire/protobuf-wire.ts';
import { Cursor } from '../decode-limits.ts';
import {
  type Attribute,
  emptyScope,
  noAttributes,
  type ResourceSpans,
  type Scope,
  type ScopeSpans,
  type Span,
  type SpanKind,
  spanKinds,
  type SpanStatus,
  statusCodes,
  type TracesRequest,
} from '../model.ts';
import { readAttribute, readScope } from './attributes.ts';
import { expectWire, idField, nameField, wire, withPath } from './fields.ts';
import { readResource } from './resource.ts';

/**
 * Decodes an ExportTraceServiceRequest, under the same rules as `decodeMetricsRequest`.
 * Errors: ERR_INPUT_INVALID that names the field's path; also for ids of the wrong length.
 */
export function decodeTracesRequest(bytes: Uint8Array): TracesRequest {
  const cursor = new Cursor();
  return withPath(cursor, () => {
    const reader = new WireReader(bytes);
    const resources: ResourceSpans[] = [];
    while (!reader.done) {
      const tag = reader.key();
      if (tag >>> 3 !== 1) {
        reader.skip(tag & 7);
        continue;
      }
      expectWire(cursor, 'resource_spans', tag & 7, wire.bytes);
      cursor.countContainer();
      cursor.enter('resource_spans', resources.length);
      resources.push(readResourceSpans(cursor, reader.message()));
      cursor.leave();
    }
    return { resources };
  });
}

function readResourceSpans(cursor: Cursor, message: WireReader): ResourceSpans {
  let attributes: readonly Attribute[] = noAttributes;
  const scopes: ScopeSpans[] = [];
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, 'resource', wireType, wire.bytes);
        attributes = readResource(cursor, message.message());
        break;
      case 2:
        expectWire(cursor, 'scope_spans', wireType, wire.bytes);
        cursor.countContainer();
        cursor.enter('scope_spans', scopes.length);
        scopes.push(readScopeSpans(cursor, message.message()));
        cursor.leave();
        break;
      default:
        message.skip(wireType);
    }
  }
  return { attributes, scopes };
}

function readScopeSpans(cursor: Cursor, message: WireReader): ScopeSpans {
  let scope: Scope = emptyScope;
  const spans: Span[] = [];
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, 'scope', wireType, wire.bytes);
        scope = readScope(cursor, message.message());
        break;
      case 2:
        expectWire(cursor, 'spans', wireType, wire.bytes);
        cursor.countItem();
        cursor.enter('spans', spans.length);
        spans.push(readSpan(cursor, message.message()));
        cursor.leave();
        break;
      default:
        message.skip(wireType);
    }
  }
  return { scope, spans };
}

function readSpan(cursor: Cursor, message: WireReader): Span {
  const attributes: Attribute[] = [];
  let traceId = '';
  let spanId = '';
  let parentSpanId = '';
  let name = '';
  let kind: SpanKind = 'unspecified';
  let startNs = 0n;
  let endNs = 0n;
  let status: { code: SpanStatus; message: string } = unset;
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, 'trace_id', wireType, wire.bytes);
        traceId = idField(cursor, 'trace_id', message, 16, false);
        break;
      case 2:
        expectWire(cursor, 'span_id', wireType, wire.bytes);
        spanId = idField(cursor, 'span_id', message, 8, false);
        break;
      case 4:
        expectWire(cursor, 'parent_span_id', wireType, wire.bytes);
        parentSpanId = idField(cursor, 'parent_span_id', message, 8, true);
        break;
      case 5:
        expectWire(cursor, 'name', wireType, wire.bytes);
        name = nameField(cursor, 'name', message);
        break;
      case 6:
        expectWire(cursor, 'kind', wireType, wire.varint);
        kind = spanKinds[message.uint()] ?? 'unspecified';
        break;
      case 7:
        expectWire(cursor, 'start_time_unix_nano', wireType, wire.fixed64);
        startNs = message.fixed64();
        break;
      case 8:
        expectWire(cursor, 'end_time_unix_nano', wireType, wire.fixed64);
        endNs = message.fixed64();
        break;
      case 9:
        expectWire(cursor, 'attributes', wireType, wire.bytes);
        readAttribute(cursor, 'attributes', message, attributes);
        break;
      case 15:
        expectWire(cursor, 'status', wireType, wire.bytes);
        status = readStatus(cursor, message.message());
        break;
      default:
        message.skip(wireType);
    }
  }
  cursor.field = traceId ? 'span_id' : 'trace_id';
  if (!traceId || !spanId) throw cursor.error('is required');
  const base = { traceId, spanId, parentSpanId, name, kind, startNs, endNs, attributes };
  return { ...base, status: status.code, statusMessage: status.message };
}

const unset = { code: 'unset' as const, message: '' };

function readStatus(cursor: Cursor, message: WireReader): { code: SpanStatus; message: string } {
  let text = '';
  let code: SpanStatus = 'unset';
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 2:
        expectWire(cursor, 'status.message', wireType, wire.bytes);
        text = message.string();
        break;
      case 3:
        expectWire(cursor, 'status.code', wireType, wire.varint);
        code = statusCodes[message.uint()] ?? 'unset';
        break;
      default:
        message.skip(wireType);
    }
  }
  return { code, message: text };
}
