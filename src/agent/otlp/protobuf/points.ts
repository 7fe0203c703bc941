import type { WireReader } from '../../../base/wire/protobuf-wire.ts';
import type { Cursor } from '../decode-limits.ts';
import {
  type Exemplar,
  type ExponentialBuckets,
  type ExponentialPoint,
  type HistogramPoint,
  noBuckets,
  type NumberPoint,
  type SummaryPoint,
} from '../model.ts';
import { AttributeList } from './attribute-list.ts';
import {
  expectWire,
  fixed64Number,
  idField,
  packedLength,
  repeatedScalar,
  sfixed64Number,
  sint32,
  wire,
} from './fields.ts';

/** NumberDataPoint of a gauge or a sum. */
export function readNumberPoint(cursor: Cursor, message: WireReader): NumberPoint {
  const attributes = new AttributeList('attributes');
  let exemplars: Exemplar[] = noExemplars;
  let startNs = 0;
  let timeNs = 0;
  let value = 0;
  let flags = 0;
  while (!message.done) {
    const at = message.pos;
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 2:
        expectWire(cursor, 'start_time_unix_nano', wireType, wire.fixed64);
        startNs = fixed64Number(message);
        break;
      case 3:
        expectWire(cursor, 'time_unix_nano', wireType, wire.fixed64);
        timeNs = fixed64Number(message);
        break;
      case 4:
        expectWire(cursor, 'as_double', wireType, wire.fixed64);
        value = message.double();
        break;
      case 5:
        expectWire(cursor, 'exemplars', wireType, wire.bytes);
        exemplars = withExemplar(exemplars, readExemplar(cursor, message.message()));
        break;
      case 6:
        expectWire(cursor, 'as_int', wireType, wire.fixed64);
        value = sfixed64Number(message);
        break;
      case 7:
        expectWire(cursor, 'attributes', wireType, wire.bytes);
        attributes.take(at, message);
        break;
      case 8:
        expectWire(cursor, 'flags', wireType, wire.varint);
        flags = message.uint();
        break;
      default:
        message.skip(wireType);
    }
  }
  const list = attributes.finish(cursor, message.bytes);
  return { attributes: list, startNs, timeNs, noValue: flags % 2 === 1, value, exemplars };
}

export function readHistogramPoint(cursor: Cursor, message: WireReader): HistogramPoint {
  const attributes = new AttributeList('attributes');
  let exemplars: Exemplar[] = noExemplars;
  let bucketCounts: number[] = noNumbers;
  let bounds: readonly number[] = noNumbers;
  let startNs = 0;
  let timeNs = 0;
  let count = 0;
  let sum: number | null = null;
  let min: number | null = null;
  let max: number | null = null;
  let flags = 0;
  while (!message.done) {
    const at = message.pos;
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 2:
        expectWire(cursor, 'start_time_unix_nano', wireType, wire.fixed64);
        startNs = fixed64Number(message);
        break;
      case 3:
        expectWire(cursor, 'time_unix_nano', wireType, wire.fixed64);
        timeNs = fixed64Number(message);
        break;
      case 4:
        expectWire(cursor, 'count', wireType, wire.fixed64);
        count = fixed64Number(message);
        break;
      case 5:
        expectWire(cursor, 'sum', wireType, wire.fixed64);
        sum = message.double();
        break;
      case 6:
        bucketCounts = readCounts(cursor, wireType, message, bucketCounts);
        break;
      case 7:
        bounds = readBounds(cursor, wireType, message, bounds);
        break;
      case 8:
        expectWire(cursor, 'exemplars', wireType, wire.bytes);
        exemplars = withExemplar(exemplars, readExemplar(cursor, message.message()));
        break;
      case 9:
        expectWire(cursor, 'attributes', wireType, wire.bytes);
        attributes.take(at, message);
        break;
      case 10:
        expectWire(cursor, 'flags', wireType, wire.varint);
        flags = message.uint();
        break;
      case 11:
        expectWire(cursor, 'min', wireType, wire.fixed64);
        min = message.double();
        break;
      case 12:
        expectWire(cursor, 'max', wireType, wire.fixed64);
        max = message.double();
        break;
      default:
        message.skip(wireType);
    }
  }
  const list = attributes.finish(cursor, message.bytes);
  const noValue = flags % 2 === 1;
  return { attributes: list, startNs, timeNs, noValue, count, sum, min, max, bucketCounts, bounds, exemplars };
}

export function readExponentialPoint(cursor: Cursor, message: WireReader): ExponentialPoint {
  const attributes = new AttributeList('attributes');
  let exemplars: Exemplar[] = noExemplars;
  let startNs = 0;
  let timeNs = 0;
  let count = 0;
  let sum: number | null = null;
  let min: number | null = null;
  let max: number | null = null;
  let scale = 0;
  let zeroCount = 0;
  let zeroThreshold = 0;
  let positive: ExponentialBuckets = noBuckets;
  let negative: ExponentialBuckets = noBuckets;
  let flags = 0;
  while (!message.done) {
    const at = message.pos;
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, 'attributes', wireType, wire.bytes);
        attributes.take(at, message);
        break;
      case 2:
        expectWire(cursor, 'start_time_unix_nano', wireType, wire.fixed64);
        startNs = fixed64Number(message);
        break;
      case 3:
        expectWire(cursor, 'time_unix_nano', wireType, wire.fixed64);
        timeNs = fixed64Number(message);
        break;
      case 4:
        expectWire(cursor, 'count', wireType, wire.fixed64);
        count = fixed64Number(message);
        break;
      case 5:
        expectWire(cursor, 'sum', wireType, wire.fixed64);
        sum = message.double();
        break;
      case 6:
        expectWire(cursor, 'scale', wireType, wire.varint);
        scale = sint32(message);
        break;
      case 7:
        expectWire(cursor, 'zero_count', wireType, wire.fixed64);
        zeroCount = fixed64Number(message);
        break;
      case 8:
        expectWire(cursor, 'positive', wireType, wire.bytes);
        positive = readBuckets(cursor, 'positive', message.message());
        break;
      case 9:
        expectWire(cursor, 'negative', wireType, wire.bytes);
        negative = readBuckets(cursor, 'negative', message.message());
        break;
      case 10:
        expectWire(cursor, 'flags', wireType, wire.varint);
        flags = message.uint();
        break;
      case 11:
        expectWire(cursor, 'exemplars', wireType, wire.bytes);
        exemplars = withExemplar(exemplars, readExemplar(cursor, message.message()));
        break;
      case 12:
        expectWire(cursor, 'min', wireType, wire.fixed64);
        min = message.double();
        break;
      case 13:
        expectWire(cursor, 'max', wireType, wire.fixed64);
        max = message.double();
        break;
      case 14:
        expectWire(cursor, 'zero_threshold', wireType, wire.fixed64);
        zeroThreshold = message.double();
        break;
      default:
        message.skip(wireType);
    }
  }
  return {
    attributes: attributes.finish(cursor, message.bytes),
    startNs,
    timeNs,
    noValue: flags % 2 === 1,
    count,
    sum,
    min,
    max,
    scale,
    zeroCount,
    zeroThreshold,
    positive,
    negative,
    exemplars,
  };
}

export function readSummaryPoint(cursor: Cursor, message: WireReader): SummaryPoint {
  const attributes = new AttributeList('attributes');
  const quantiles: { quantile: number; value: number }[] = [];
  let startNs = 0;
  let timeNs = 0;
  let count = 0;
  let sum = 0;
  let flags = 0;
  while (!message.done) {
    const at = message.pos;
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 2:
        expectWire(cursor, 'start_time_unix_nano', wireType, wire.fixed64);
        startNs = fixed64Number(message);
        break;
      case 3:
        expectWire(cursor, 'time_unix_nano', wireType, wire.fixed64);
        timeNs = fixed64Number(message);
        break;
      case 4:
        expectWire(cursor, 'count', wireType, wire.fixed64);
        count = fixed64Number(message);
        break;
      case 5:
        expectWire(cursor, 'sum', wireType, wire.fixed64);
        sum = message.double();
        break;
      case 6:
        expectWire(cursor, 'quantile_values', wireType, wire.bytes);
        quantiles.push(readQuantile(cursor, message.message()));
        break;
      case 7:
        expectWire(cursor, 'attributes', wireType, wire.bytes);
        attributes.take(at, message);
        break;
      case 8:
        expectWire(cursor, 'flags', wireType, wire.varint);
        flags = message.uint();
        break;
      default:
        message.skip(wireType);
    }
  }
  const list = attributes.finish(cursor, message.bytes);
  return { attributes: list, startNs, timeNs, noValue: flags % 2 === 1, count, sum, quantiles };
}

/** Appends bucket counts to those read before in the same point; only unusual senders split them. */
function readCounts(cursor: Cursor, wireType: number, message: WireReader, before: number[]): number[] {
  const n = before.length > 0 ? -1 : packedLength(cursor, 'bucket_counts', wireType, message);
  if (n < 0) {
    const counts = [...before];
    repeatedScalar(cursor, 'bucket_counts', wireType, wire.fixed64, message, fixed64Number, counts);
    return counts;
  }
  const start = message.pos - 8 * n;
  const counts = new Array<number>(n);
  for (let i = 0; i < n; i++) counts[i] = message.fixed64At(start + 8 * i);
  return counts;
}

/** Like `readCounts`, for bounds: one list for all points that have the same bounds. */
function readBounds(
  cursor: Cursor,
  wireType: number,
  message: WireReader,
  before: readonly number[],
): readonly number[] {
  const n = before.length > 0 ? -1 : packedLength(cursor, 'explicit_bounds', wireType, message);
  if (n >= 0) return cursor.bounds.read(message, message.pos - 8 * n, n);
  const bounds = [...before];
  repeatedScalar(cursor, 'explicit_bounds', wireType, wire.fixed64, message, readDouble, bounds);
  return bounds;
}

/** Most points have none; a list is created for the first. */
function withExemplar(list: Exemplar[], exemplar: Exemplar): Exemplar[] {
  if (list === noExemplars) return [exemplar];
  list.push(exemplar);
  return list;
}

const noExemplars: Exemplar[] = [];
const noNumbers: number[] = [];
const readDouble = (reader: WireReader): number => reader.double();
const readUint = (reader: WireReader): number => reader.uint();

function readBuckets(cursor: Cursor, field: string, message: WireReader): ExponentialBuckets {
  const counts: number[] = [];
  let offset = 0;
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, `${field}.offset`, wireType, wire.varint);
        offset = sint32(message);
        break;
      case 2:
        repeatedScalar(cursor, `${field}.bucket_counts`, wireType, wire.varint, message, readUint, counts);
        break;
      default:
        message.skip(wireType);
    }
  }
  return { offset, counts };
}

function readQuantile(cursor: Cursor, message: WireReader): { quantile: number; value: number } {
  let quantile = 0;
  let value = 0;
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    const field = tag >>> 3;
    if (field === 1 || field === 2) {
      expectWire(cursor, 'quantile_values', wireType, wire.fixed64);
      if (field === 1) quantile = message.double();
      else value = message.double();
    } else message.skip(wireType);
  }
  return { quantile, value };
}

function readExemplar(cursor: Cursor, message: WireReader): Exemplar {
  let timeNs = 0;
  let value = 0;
  let traceId = '';
  let spanId = '';
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 2:
        expectWire(cursor, 'exemplars.time_unix_nano', wireType, wire.fixed64);
        timeNs = fixed64Number(message);
        break;
      case 3:
        expectWire(cursor, 'exemplars.as_double', wireType, wire.fixed64);
        value = message.double();
        break;
      case 4:
        expectWire(cursor, 'exemplars.span_id', wireType, wire.bytes);
        spanId = idField(cursor, 'exemplars.span_id', message, 8, true);
        break;
      case 5:
        expectWire(cursor, 'exemplars.trace_id', wireType, wire.bytes);
        traceId = idField(cursor, 'exemplars.trace_id', message, 16, true);
        break;
      case 6:
        expectWire(cursor, 'exemplars.as_int', wireType, wire.fixed64);
        value = sfixed64Number(message);
        break;
      default:
        message.skip(wireType);
    }
  }
  return { timeNs, value, traceId, spanId };
}
