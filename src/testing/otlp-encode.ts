import { WireWriter } from '../base/wire/protobuf-wire.ts';
import type {
  AnyValue,
  Attribute,
  Exemplar,
  ExponentialBuckets,
  ExponentialPoint,
  HistogramPoint,
  Metric,
  MetricsRequest,
  NumberPoint,
  PointBase,
  Span,
  SummaryPoint,
  TracesRequest,
} from '../agent/otlp/model.ts';
import { spanKinds, statusCodes, temporalities } from '../agent/otlp/model.ts';

/**
 * Encodes OTLP requests in protobuf: the inverse of `src/agent/otlp/protobuf`, for senders in tests and benchmarks, and
 * for the program that takes the instrument's place in tests.
 */
export function encodeMetricsRequest(request: MetricsRequest): Uint8Array {
  const out = new WireWriter(4_096);
  for (const resource of request.resources) {
    out.message(1, (r) => {
      writeResource(r, resource.attributes);
      for (const { scope, metrics } of resource.scopes) {
        r.message(2, (s) => {
          s.message(1, (w) => w.string(1, scope.name).string(2, scope.version));
          for (const metric of metrics) s.message(2, (m) => writeMetric(m, metric));
        });
      }
    });
  }
  return out.finish();
}

export function encodeTracesRequest(request: TracesRequest): Uint8Array {
  const out = new WireWriter(4_096);
  for (const resource of request.resources) {
    out.message(1, (r) => {
      writeResource(r, resource.attributes);
      for (const { scope, spans } of resource.scopes) {
        r.message(2, (s) => {
          s.message(1, (w) => w.string(1, scope.name).string(2, scope.version));
          for (const span of spans) s.message(2, (w) => writeSpan(w, span));
        });
      }
    });
  }
  return out.finish();
}

function writeResource(w: WireWriter, attributes: readonly Attribute[]): void {
  w.message(1, (resource) => writeAttributes(resource, 1, attributes));
}

function writeMetric(w: WireWriter, metric: Metric): void {
  w.string(1, metric.name).string(2, metric.description).string(3, metric.unit);
  const data = metric.data;
  switch (data?.kind) {
    case 'gauge':
      w.message(5, (g) => data.points.forEach((p) => g.message(1, (m) => writeNumberPoint(m, p))));
      break;
    case 'sum':
      w.message(7, (s) => {
        data.points.forEach((p) => s.message(1, (m) => writeNumberPoint(m, p)));
        s.uint(2, temporalities.indexOf(data.temporality)).uint(3, data.monotonic ? 1 : 0);
      });
      break;
    case 'histogram':
      w.message(9, (h) => {
        data.points.forEach((p) => h.message(1, (m) => writeHistogramPoint(m, p)));
        h.uint(2, temporalities.indexOf(data.temporality));
      });
      break;
    case 'exponential':
      w.message(10, (h) => {
        data.points.forEach((p) => h.message(1, (m) => writeExponentialPoint(m, p)));
        h.uint(2, temporalities.indexOf(data.temporality));
      });
      break;
    case 'summary':
      w.message(11, (s) => data.points.forEach((p) => s.message(1, (m) => writeSummaryPoint(m, p))));
      break;
    default:
  }
}

function writeTimes(w: WireWriter, point: PointBase): void {
  fixed64(w, 2, BigInt(point.startNs));
  fixed64(w, 3, BigInt(point.timeNs));
}

function writeNumberPoint(w: WireWriter, point: NumberPoint): void {
  writeTimes(w, point);
  w.double(4, point.value);
  for (const exemplar of point.exemplars) w.message(5, (m) => writeExemplar(m, exemplar));
  writeAttributes(w, 7, point.attributes);
  if (point.noValue) w.uint(8, 1);
}

function writeHistogramPoint(w: WireWriter, point: HistogramPoint): void {
  writeTimes(w, point);
  fixed64(w, 4, BigInt(point.count));
  if (point.sum !== null) w.double(5, point.sum);
  w.bytes(6, fixed64List(point.bucketCounts));
  w.bytes(7, new Uint8Array(Float64Array.from(point.bounds).buffer));
  for (const exemplar of point.exemplars) w.message(8, (m) => writeExemplar(m, exemplar));
  writeAttributes(w, 9, point.attributes);
  if (point.noValue) w.uint(10, 1);
  if (point.min !== null) w.double(11, point.min);
  if (point.max !== null) w.double(12, point.max);
}

function writeExponentialPoint(w: WireWriter, point: ExponentialPoint): void {
  writeAttributes(w, 1, point.attributes);
  writeTimes(w, point);
  fixed64(w, 4, BigInt(point.count));
  if (point.sum !== null) w.double(5, point.sum);
  w.uint(6, zigzag(point.scale));
  fixed64(w, 7, BigInt(point.zeroCount));
  w.message(8, (m) => writeBuckets(m, point.positive));
  w.message(9, (m) => writeBuckets(m, point.negative));
  if (point.noValue) w.uint(10, 1);
  for (const exemplar of point.exemplars) w.message(11, (m) => writeExemplar(m, exemplar));
  if (point.min !== null) w.double(12, point.min);
  if (point.max !== null) w.double(13, point.max);
  w.double(14, point.zeroThreshold);
}

function writeSummaryPoint(w: WireWriter, point: SummaryPoint): void {
  writeTimes(w, point);
  fixed64(w, 4, BigInt(point.count));
  w.double(5, point.sum);
  for (const { quantile, value } of point.quantiles) w.message(6, (m) => m.double(1, quantile).double(2, value));
  writeAttributes(w, 7, point.attributes);
  if (point.noValue) w.uint(8, 1);
}

function writeBuckets(w: WireWriter, buckets: ExponentialBuckets): void {
  const counts = new WireWriter(64);
  for (const count of buckets.counts) counts.rawVarint(count);
  w.uint(1, zigzag(buckets.offset)).bytes(2, counts.finish());
}

function writeExemplar(w: WireWriter, exemplar: Exemplar): void {
  fixed64(w, 2, BigInt(exemplar.timeNs));
  w.double(3, exemplar.value);
  if (exemplar.spanId) w.bytes(4, Buffer.from(exemplar.spanId, 'hex'));
  if (exemplar.traceId) w.bytes(5, Buffer.from(exemplar.traceId, 'hex'));
}

function writeSpan(w: WireWriter, span: Span): void {
  w.bytes(1, Buffer.from(span.traceId, 'hex')).bytes(2, Buffer.from(span.spanId, 'hex'));
  if (span.parentSpanId) w.bytes(4, Buffer.from(span.parentSpanId, 'hex'));
  w.string(5, span.name).uint(6, spanKinds.indexOf(span.kind));
  fixed64(w, 7, span.startNs);
  fixed64(w, 8, span.endNs);
  writeAttributes(w, 9, span.attributes);
  w.message(15, (s) => s.string(2, span.statusMessage).uint(3, statusCodes.indexOf(span.status)));
}

function writeAttributes(w: WireWriter, field: number, attributes: readonly Attribute[]): void {
  for (const { key, value } of attributes) {
    w.message(field, (kv) => kv.string(1, key).message(2, (any) => writeAnyValue(any, value)));
  }
}

function writeAnyValue(w: WireWriter, value: AnyValue): void {
  if (typeof value === 'string') w.string(1, value);
  else if (typeof value === 'boolean') w.uint(2, value ? 1 : 0);
  else if (typeof value === 'bigint') w.int(3, Number(value));
  else if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) w.int(3, value);
    else w.double(4, value);
  } else if (value instanceof Uint8Array) w.bytes(7, value);
  else if (Array.isArray(value)) {
    w.message(5, (list) => value.forEach((item: AnyValue) => list.message(1, (any) => writeAnyValue(any, item))));
  } else if (value !== null) {
    w.message(6, (list) => writeAttributes(list, 1, (value as { entries: readonly Attribute[] }).entries));
  }
}

function fixed64(w: WireWriter, field: number, value: bigint): void {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  w.key(field, 1).raw(bytes);
}

function fixed64List(values: readonly number[]): Uint8Array {
  return new Uint8Array(BigUint64Array.from(values, (v) => BigInt(v)).buffer);
}

function zigzag(value: number): number {
  return value >= 0 ? value * 2 : value * -2 - 1;
}
