import { Cursor } from '../decode-limits.ts';
import { type Span, spanKinds, statusCodes, type TracesRequest } from '../model.ts';
import { jsonAttributesWithin, jsonResource, jsonScope } from './attributes.ts';
import { jsonMessages, parseJsonBody } from './parse.ts';
import { jsonEnum, jsonId, jsonInt64, type JsonObject, jsonObject, jsonString } from './values.ts';

/**
 * Decodes the JSON encoding of an ExportTraceServiceRequest into the same model as the protobuf one.
 * Errors: ERR_INPUT_INVALID that names the field's path.
 */
export function decodeTracesJson(bytes: Uint8Array): TracesRequest {
  const cursor = new Cursor();
  const container = (): void => cursor.countContainer();
  const item = (): void => cursor.countItem();
  const body = parseJsonBody(cursor, bytes);
  return cursor.counted({
    resources: jsonMessages(cursor, 'resourceSpans', body.resourceSpans, container, (resource) => ({
      attributes: jsonResource(cursor, resource.resource),
      scopes: jsonMessages(cursor, 'scopeSpans', resource.scopeSpans, container, (scope) => ({
        scope: jsonScope(cursor, scope.scope),
        spans: jsonMessages(cursor, 'spans', scope.spans, item, (span) => readSpan(cursor, span)),
      })),
    })),
  });
}

function readSpan(cursor: Cursor, span: JsonObject): Span {
  const status = span.status === undefined || span.status === null ? {} : jsonObject(cursor, 'status', span.status);
  return {
    traceId: jsonId(cursor, 'traceId', span.traceId, 16, false),
    spanId: jsonId(cursor, 'spanId', span.spanId, 8, false),
    parentSpanId: jsonId(cursor, 'parentSpanId', span.parentSpanId, 8, true),
    name: jsonString(cursor, 'name', span.name),
    kind: jsonEnum(cursor, 'kind', span.kind, 'SPAN_KIND_', spanKinds),
    startNs: jsonInt64(cursor, 'startTimeUnixNano', span.startTimeUnixNano, false),
    endNs: jsonInt64(cursor, 'endTimeUnixNano', span.endTimeUnixNano, false),
    attributes: jsonAttributesWithin(cursor, 'attributes', span.attributes),
    status: jsonEnum(cursor, 'status.code', status.code, 'STATUS_CODE_', statusCodes),
    statusMessage: jsonString(cursor, 'status.message', status.message),
  };
}
