import { Cursor } from '../decode-limits.ts';
import {
  type Exemplar,
  type ExponentialBuckets,
  type ExponentialPoint,
  type HistogramPoint,
  type Metric,
  type MetricData,
  type MetricsRequest,
  noBuckets,
  type NumberPoint,
  type PointBase,
  type SummaryPoint,
  temporalities,
  type Temporality,
} from '../model.ts';
import { jsonAttributes, jsonResource, jsonScope } from './attributes.ts';
import { jsonMessages, jsonParts, parseJsonBody } from './parse.ts';
import {
  jsonBool,
  jsonDouble,
  jsonEnum,
  jsonId,
  jsonInt32,
  jsonInt64,
  jsonName,
  jsonObject,
  type JsonObject,
  jsonOptionalDouble,
  jsonScalars,
  jsonString,
  jsonUint,
} from './values.ts';

/**
 * Decodes the JSON encoding of an ExportMetricsServiceRequest into the same model as the protobuf one.
 * Member names are lowerCamelCase, as OTLP demands; unknown members are ignored.
 * Errors: ERR_INPUT_INVALID that names the field's path.
 */
export function decodeMetricsJson(bytes: Uint8Array): MetricsRequest {
  const cursor = new Cursor();
  const container = (): void => cursor.countContainer();
  const body = parseJsonBody(cursor, bytes);
  return cursor.counted({
    resources: jsonMessages(cursor, 'resourceMetrics', body.resourceMetrics, container, (resource) => ({
      attributes: jsonResource(cursor, resource.resource),
      scopes: jsonMessages(cursor, 'scopeMetrics', resource.scopeMetrics, container, (scope) => ({
        scope: jsonScope(cursor, scope.scope),
        metrics: jsonMessages(cursor, 'metrics', scope.metrics, container, (m) => readMetric(cursor, m)),
      })),
    })),
  });
}

function readMetric(cursor: Cursor, metric: JsonObject): Metric {
  return {
    name: jsonName(cursor, 'name', metric.name),
    description: jsonString(cursor, 'description', metric.description),
    unit: jsonName(cursor, 'unit', metric.unit),
    data: readData(cursor, metric),
  };
}

function readData(cursor: Cursor, metric: JsonObject): MetricData | null {
  if (metric.gauge !== undefined) {
    return { kind: 'gauge', points: readPoints(cursor, 'gauge', metric.gauge, readNumberPoint).points };
  }
  if (metric.sum !== undefined) {
    return { kind: 'sum', ...readPoints(cursor, 'sum', metric.sum, readNumberPoint) };
  }
  if (metric.histogram !== undefined) {
    const { temporality, points } = readPoints(cursor, 'histogram', metric.histogram, readHistogramPoint);
    return { kind: 'histogram', temporality, points };
  }
  if (metric.exponentialHistogram !== undefined) {
    const data = readPoints(cursor, 'exponentialHistogram', metric.exponentialHistogram, readExponentialPoint);
    return { kind: 'exponential', temporality: data.temporality, points: data.points };
  }
  if (metric.summary !== undefined) {
    return { kind: 'summary', points: readPoints(cursor, 'summary', metric.summary, readSummaryPoint).points };
  }
  return null;
}

function readPoints<P>(
  cursor: Cursor,
  field: string,
  value: unknown,
  read: (cursor: Cursor, point: JsonObject) => P,
): { temporality: Temporality; monotonic: boolean; points: P[] } {
  const data = jsonObject(cursor, field, value);
  cursor.enter(field);
  const temporality = jsonEnum(
    cursor,
    'aggregationTemporality',
    data.aggregationTemporality,
    'AGGREGATION_TEMPORALITY_',
    temporalities,
  );
  const monotonic = jsonBool(cursor, 'isMonotonic', data.isMonotonic);
  const points = jsonMessages(
    cursor,
    'dataPoints',
    data.dataPoints,
    () => cursor.countItem(),
    (point) => read(cursor, point),
  );
  cursor.leave();
  return { temporality, monotonic, points };
}

function readBase(cursor: Cursor, point: JsonObject): PointBase {
  return {
    attributes: jsonAttributes(cursor, 'attributes', point.attributes),
    startNs: jsonUint(cursor, 'startTimeUnixNano', point.startTimeUnixNano),
    timeNs: jsonUint(cursor, 'timeUnixNano', point.timeUnixNano),
    noValue: jsonUint(cursor, 'flags', point.flags) % 2 === 1,
  };
}

function readValue(cursor: Cursor, point: JsonObject): number {
  if (point.asInt !== undefined) return Number(jsonInt64(cursor, 'asInt', point.asInt, true));
  return jsonDouble(cursor, 'asDouble', point.asDouble);
}

function readNumberPoint(cursor: Cursor, point: JsonObject): NumberPoint {
  return { ...readBase(cursor, point), value: readValue(cursor, point), exemplars: readExemplars(cursor, point) };
}

function readHistogramPoint(cursor: Cursor, point: JsonObject): HistogramPoint {
  return {
    ...readBase(cursor, point),
    count: jsonUint(cursor, 'count', point.count),
    sum: jsonOptionalDouble(cursor, 'sum', point.sum),
    min: jsonOptionalDouble(cursor, 'min', point.min),
    max: jsonOptionalDouble(cursor, 'max', point.max),
    bucketCounts: jsonScalars(cursor, 'bucketCounts', point.bucketCounts, jsonUint),
    bounds: jsonScalars(cursor, 'explicitBounds', point.explicitBounds, jsonDouble),
    exemplars: readExemplars(cursor, point),
  };
}

function readExponentialPoint(cursor: Cursor, point: JsonObject): ExponentialPoint {
  return {
    ...readBase(cursor, point),
    count: jsonUint(cursor, 'count', point.count),
    sum: jsonOptionalDouble(cursor, 'sum', point.sum),
    min: jsonOptionalDouble(cursor, 'min', point.min),
    max: jsonOptionalDouble(cursor, 'max', point.max),
    scale: jsonInt32(cursor, 'scale', point.scale),
    zeroCount: jsonUint(cursor, 'zeroCount', point.zeroCount),
    zeroThreshold: jsonDouble(cursor, 'zeroThreshold', point.zeroThreshold),
    positive: readBuckets(cursor, 'positive', point.positive),
    negative: readBuckets(cursor, 'negative', point.negative),
    exemplars: readExemplars(cursor, point),
  };
}

function readSummaryPoint(cursor: Cursor, point: JsonObject): SummaryPoint {
  return {
    ...readBase(cursor, point),
    count: jsonUint(cursor, 'count', point.count),
    sum: jsonDouble(cursor, 'sum', point.sum),
    quantiles: jsonParts(cursor, 'quantileValues', point.quantileValues, (q) => ({
      quantile: jsonDouble(cursor, 'quantile', q.quantile),
      value: jsonDouble(cursor, 'value', q.value),
    })),
  };
}

function readBuckets(cursor: Cursor, field: string, value: unknown): ExponentialBuckets {
  if (value === undefined || value === null) return noBuckets;
  const buckets = jsonObject(cursor, field, value);
  return {
    offset: jsonInt32(cursor, `${field}.offset`, buckets.offset),
    counts: jsonScalars(cursor, `${field}.bucketCounts`, buckets.bucketCounts, jsonUint),
  };
}

function readExemplars(cursor: Cursor, point: JsonObject): Exemplar[] {
  return jsonParts(cursor, 'exemplars', point.exemplars, (exemplar) => ({
    timeNs: jsonUint(cursor, 'timeUnixNano', exemplar.timeUnixNano),
    value: readValue(cursor, exemplar),
    traceId: jsonId(cursor, 'traceId', exemplar.traceId, 16, true),
    spanId: jsonId(cursor, 'spanId', exemplar.spanId, 8, true),
  }));
}
