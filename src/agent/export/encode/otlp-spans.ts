import { WireWriter } from '../../../base/wire/protobuf-wire.ts';
import { spanKinds, statusCodes } from '../../otlp/model.ts';
import type { SpanRecord } from '../../../stream/index.ts';
import { writeAttribute, writeFixed, writeResource } from './otlp-wire.ts';

/**
 * A span as one `ResourceSpans` message. The span was redacted when it became a record; nothing redacted comes back.
 * `encodeOtlpSpans` joins many into a request.
 */
export function encodeSpan(span: SpanRecord, startNs: bigint, node: string): Uint8Array {
  const out = new WireWriter(512);
  writeResource(out, {
    ...(span.service ? { 'service.name': span.service } : {}),
    ...(span.namespace ? { 'k8s.namespace.name': span.namespace } : {}),
    ...(span.pod ? { 'k8s.pod.name': span.pod } : {}),
    ...(span.container ? { 'k8s.container.name': span.container } : {}),
    ...(span.workload ? { [`k8s.${span.workload.kind.toLowerCase()}.name`]: span.workload.name } : {}),
    'k8s.node.name': node,
  });
  out.message(2, (scope) => {
    scope.message(1, (w) => w.string(1, 'svc-agent'));
    scope.message(2, (w) => writeSpan(w, span, startNs));
  });
  return out.finish();
}

function writeSpan(out: WireWriter, span: SpanRecord, startNs: bigint): void {
  out.bytes(1, Buffer.from(span.traceId, 'hex')).bytes(2, Buffer.from(span.spanId, 'hex'));
  if (span.parentSpanId) out.bytes(4, Buffer.from(span.parentSpanId, 'hex'));
  out.string(5, span.name).uint(6, Math.max(0, (spanKinds as readonly string[]).indexOf(span.kind)));
  writeFixed(out, 7, startNs);
  writeFixed(out, 8, startNs + BigInt(Math.round(span.durationNs)));
  const named: Record<string, unknown> = {
    ...span.attributes,
    ...(span.method ? { 'http.request.method': span.method } : {}),
    ...(span.path ? { 'url.path': span.path } : {}),
    ...(span.route ? { 'http.route': span.route } : {}),
    ...(span.statusCode === undefined ? {} : { 'http.response.status_code': span.statusCode }),
  };
  for (const [key, value] of Object.entries(named)) writeAttribute(out, 9, key, value);
  if (span.status !== 'unset') {
    out.message(15, (w) => {
      if (span.statusMessage) w.string(2, span.statusMessage);
      w.uint(3, statusCodes.indexOf(span.status));
    });
  }
}

/** `ExportTraceServiceRequest` of spans that `encodeSpan` made. */
export function encodeOtlpSpans(spans: readonly Uint8Array[]): Uint8Array {
  const out = new WireWriter(spans.reduce((n, s) => n + s.length + 5, 16));
  for (const span of spans) out.bytes(1, span);
  return out.finish();
}
