import { WireReader } from '../../../base/wire/protobuf-wire.ts';
import { Cursor } from '../decode-limits.ts';
import {
  type Attribute,
  emptyScope,
  type Metric,
  type MetricData,
  type MetricsRequest,
  noAttributes,
  type ResourceMetrics,
  type Scope,
  type ScopeMetrics,
  type Temporality,
} from '../model.ts';
import type { AttributeCache } from './attribute-cache.ts';
import { readScope } from './attributes.ts';
import { expectWire, nameField, wire, withPath } from './fields.ts';
import { readExponentialPoint, readHistogramPoint, readNumberPoint, readSummaryPoint } from './points.ts';
import { readResource } from './resource.ts';

/**
 * Decodes an ExportMetricsServiceRequest.
 * Unknown fields are read over; a field of the wrong wire type, a length that lies, bad UTF-8 or a structure
 * beyond `decodeLimits` is refused as a whole. With a `cache`, equal attribute lists come out as one object. Errors: ERR_INPUT_INVALID that names the field's path.
 */
export function decodeMetricsRequest(bytes: Uint8Array, cache: AttributeCache | null = null): MetricsRequest {
  const cursor = new Cursor(cache);
  return withPath(cursor, () => {
    const reader = new WireReader(bytes);
    const resources: ResourceMetrics[] = [];
    while (!reader.done) {
      const tag = reader.key();
      if (tag >>> 3 !== 1) {
        reader.skip(tag & 7);
        continue;
      }
      expectWire(cursor, 'resource_metrics', tag & 7, wire.bytes);
      cursor.countContainer();
      cursor.enter('resource_metrics', resources.length);
      resources.push(readResourceMetrics(cursor, reader.message()));
      cursor.leave();
    }
    return { resources };
  });
}

function readResourceMetrics(cursor: Cursor, message: WireReader): ResourceMetrics {
  let attributes: readonly Attribute[] = noAttributes;
  const scopes: ScopeMetrics[] = [];
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, 'resource', wireType, wire.bytes);
        attributes = readResource(cursor, message.message());
        break;
      case 2:
        expectWire(cursor, 'scope_metrics', wireType, wire.bytes);
        cursor.countContainer();
        cursor.enter('scope_metrics', scopes.length);
        scopes.push(readScopeMetrics(cursor, message.message()));
        cursor.leave();
        break;
      default:
        message.skip(wireType);
    }
  }
  return { attributes, scopes };
}

function readScopeMetrics(cursor: Cursor, message: WireReader): ScopeMetrics {
  let scope: Scope = emptyScope;
  const metrics: Metric[] = [];
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, 'scope', wireType, wire.bytes);
        scope = readScope(cursor, message.message());
        break;
      case 2:
        expectWire(cursor, 'metrics', wireType, wire.bytes);
        cursor.countContainer();
        cursor.enter('metrics', metrics.length);
        metrics.push(readMetric(cursor, message.message()));
        cursor.leave();
        break;
      default:
        message.skip(wireType);
    }
  }
  return { scope, metrics };
}

function readMetric(cursor: Cursor, message: WireReader): Metric {
  let name = '';
  let description = '';
  let unit = '';
  let data: MetricData | null = null;
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, 'name', wireType, wire.bytes);
        name = nameField(cursor, 'name', message);
        break;
      case 2:
        expectWire(cursor, 'description', wireType, wire.bytes);
        description = message.string();
        break;
      case 3:
        expectWire(cursor, 'unit', wireType, wire.bytes);
        unit = nameField(cursor, 'unit', message);
        break;
      case 5: {
        const { points } = readData(cursor, 'gauge', wireType, message, readNumberPoint);
        data = { kind: 'gauge', points };
        break;
      }
      case 7: {
        const sum = readData(cursor, 'sum', wireType, message, readNumberPoint);
        data = { kind: 'sum', ...sum };
        break;
      }
      case 9: {
        const { temporality, points } = readData(cursor, 'histogram', wireType, message, readHistogramPoint);
        data = { kind: 'histogram', temporality, points };
        break;
      }
      case 10: {
        const exponential = readData(cursor, 'exponential_histogram', wireType, message, readExponentialPoint);
        data = { kind: 'exponential', temporality: exponential.temporality, points: exponential.points };
        break;
      }
      case 11: {
        const { points } = readData(cursor, 'summary', wireType, message, readSummaryPoint);
        data = { kind: 'summary', points };
        break;
      }
      default:
        message.skip(wireType);
    }
  }
  return { name, description, unit, data };
}

/** Gauge, Sum, Histogram, ExponentialHistogram and Summary all number their members alike. */
function readData<P>(
  cursor: Cursor,
  field: string,
  wireType: number,
  parent: WireReader,
  readPoint: (cursor: Cursor, message: WireReader) => P,
): { temporality: Temporality; monotonic: boolean; points: P[] } {
  expectWire(cursor, field, wireType, wire.bytes);
  const message = parent.message();
  const points: P[] = [];
  let temporality: Temporality = 'unspecified';
  let monotonic = false;
  cursor.enter(field);
  while (!message.done) {
    const tag = message.key();
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, 'data_points', tag & 7, wire.bytes);
        cursor.countItem();
        cursor.enter('data_points', points.length);
        points.push(readPoint(cursor, message.message()));
        cursor.leave();
        break;
      case 2:
        expectWire(cursor, 'aggregation_temporality', tag & 7, wire.varint);
        temporality = temporalities[message.uint()] ?? 'unspecified';
        break;
      case 3:
        expectWire(cursor, 'is_monotonic', tag & 7, wire.varint);
        monotonic = message.bool();
        break;
      default:
        message.skip(tag & 7);
    }
  }
  cursor.leave();
  return { temporality, monotonic, points };
}

const temporalities: readonly Temporality[] = ['unspecified', 'delta', 'cumulative'];
