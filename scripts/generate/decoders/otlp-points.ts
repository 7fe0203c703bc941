import type { FieldRule, MessageRule } from './emit.ts';

/**
 * Rule for a list of attributes, which is looked up by its bytes before it is decoded. `excess` tells what becomes of
 * those beyond the limits.
 */
export const attributeRun = (path: string, excess: 'refused' | 'skipped'): FieldRule => ({
  as: 'attributes',
  first: `new AttributeList('${path}', '${excess}')`,
  does: 'attributes.take(at, message, cursor);',
});

/** Fields that the points of all kinds of metrics share. */
const common = {
  attributes: attributeRun('attributes', 'refused'),
  start_time_unix_nano: 'startNs',
  time_unix_nano: 'timeNs',
  flags: 'flags',
};
/**
 * The result of a point: the shared members first, then `rest`, in the order of the point's type. Bit 0 of the flags is
 * NO_RECORDED_VALUE.
 */
const point = (...rest: string[]): string =>
  `{ ${['attributes: attributes.finish(cursor, message.bytes)', 'startNs', 'timeNs', 'noValue: flags % 2 === 1', ...rest].join(', ')} }`;

const exemplars: FieldRule = {
  as: 'exemplars',
  type: 'Exemplar[]',
  first: 'noExemplars',
  does:
    'exemplars = withExemplar(exemplars, readExemplar(cursor, ' +
    "element(cursor, message, exemplars.length, 'exemplars', decodeLimits.perPoint)));",
};
const buckets = (name: string): FieldRule => ({
  as: name,
  type: 'ExponentialBuckets',
  first: 'noBuckets',
  read: `readBuckets(cursor, message.message(), '${name}')`,
});
const id = (as: string, bytes: number): FieldRule => {
  return { as, type: 'string', first: "''", read: `idField(cursor, PATH, message, ${bytes}, true)` };
};

/**
 * Rules for the points of every metric kind, for their parts, and for the Resource, whose attributes are decoded like
 * those of points.
 */
export const pointMessages: Readonly<Record<string, MessageRule>> = {
  NumberDataPoint: {
    returns: 'NumberPoint',
    fields: { ...common, as_double: 'value', as_int: 'value', exemplars },
    result: point('value', 'exemplars'),
  },
  HistogramDataPoint: {
    returns: 'HistogramPoint',
    fields: {
      ...common,
      count: 'count',
      sum: 'sum',
      min: 'min',
      max: 'max',
      bucket_counts: {
        as: 'bucketCounts',
        type: 'number[]',
        first: 'noNumbers',
        does: 'bucketCounts = readCounts(cursor, wireType, message, bucketCounts);',
        anyWire: true,
      },
      explicit_bounds: {
        as: 'bounds',
        type: 'readonly number[]',
        first: 'noNumbers',
        does: 'bounds = readBounds(cursor, wireType, message, bounds);',
        anyWire: true,
      },
      exemplars,
    },
    result: point('count', 'sum', 'min', 'max', 'bucketCounts', 'bounds', 'exemplars'),
  },
  ExponentialHistogramDataPoint: {
    returns: 'ExponentialPoint',
    fields: {
      ...common,
      count: 'count',
      sum: 'sum',
      min: 'min',
      max: 'max',
      scale: 'scale',
      zero_count: 'zeroCount',
      zero_threshold: 'zeroThreshold',
      positive: buckets('positive'),
      negative: buckets('negative'),
      exemplars,
    },
    result: point(
      ...['count', 'sum', 'min', 'max', 'scale', 'zeroCount', 'zeroThreshold', 'positive', 'negative', 'exemplars'],
    ),
  },
  Buckets: {
    returns: 'ExponentialBuckets',
    params: 'field: string',
    path: (name) => `\`\${field}.${name}\``,
    fields: {
      offset: 'offset',
      bucket_counts: {
        as: 'counts',
        type: 'number[]',
        first: '[]',
        does: 'repeatedScalar(cursor, PATH, wireType, 0, message, readUint, counts);',
        anyWire: true,
      },
    },
  },
  SummaryDataPoint: {
    returns: 'SummaryPoint',
    fields: {
      ...common,
      count: 'count',
      sum: 'sum',
      quantile_values: {
        as: 'quantiles',
        type: "SummaryPoint['quantiles'][number][]",
        first: '[]',
        read:
          'readValueAtQuantile(cursor, ' +
          "element(cursor, message, quantiles.length, 'quantile_values', decodeLimits.perPoint))",
      },
    },
    result: point('count', 'sum', 'quantiles'),
  },
  ValueAtQuantile: {
    returns: "SummaryPoint['quantiles'][number]",
    path: () => "'quantile_values'",
    fields: { quantile: 'quantile', value: 'value' },
  },
  Exemplar: {
    returns: 'Exemplar',
    path: (name) => `'exemplars.${name}'`,
    fields: {
      time_unix_nano: 'timeNs',
      as_double: 'value',
      as_int: 'value',
      span_id: id('spanId', 8),
      trace_id: id('traceId', 16),
    },
    result: '{ timeNs, value, traceId, spanId }',
  },
  Resource: {
    returns: 'readonly Attribute[]',
    path: (name) => `'resource.${name}'`,
    fields: { attributes: attributeRun('resource.attributes', 'skipped') },
    result: 'attributes.finish(cursor, message.bytes)',
  },
};
