import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GeneratedFile } from '../generated-file.ts';
import { decoderModule, type FieldRule, type MessageRule, type ModuleRule } from './emit.ts';
import { attributeRun, pointMessages } from './otlp-points.ts';

const folder = 'src/agent/otlp/protobuf';

/** The OTLP decoders, from the messages of `otlp.proto` to the agent's model (`src/agent/otlp/model.ts`). */
export function otlpDecoderFiles(): GeneratedFile[] {
  const schema = readFileSync(join(import.meta.dirname, '../../..', folder, 'otlp.proto'), 'utf8');
  return Object.entries({ attributes, points, metrics, traces }).map(([name, rule]) => ({
    path: `${folder}/generated/${name}.ts`,
    content: decoderModule(schema, rule),
  }));
}

const helpers = [
  ...['bytesField', 'element', 'expectWire', 'fixed64Number', 'idField', 'int64', 'nameField', 'sfixed64Number'],
  'sint32',
];
const imports = {
  '../../../../base/wire/protobuf-wire.ts': ['type WireReader'],
  '../../decode-limits.ts': ['type Cursor', 'decodeLimits'],
  '../fields.ts': helpers,
};

/** Rule for a member that several fields of a oneof may set. */
const value = (read: string): FieldRule => ({ as: 'value', type: 'AnyValue', first: 'null', read });
/**
 * For the parts of an attribute: the parameter `field` names the part in errors, and `depth` counts the enclosing
 * values.
 */
const inAttribute = { params: 'field: string, depth: number', path: () => 'field' };

const attributes: ModuleRule = {
  imports: { ...imports, '../../model.ts': ['type AnyValue', 'type Attribute', 'type Scope'] },
  messages: {
    KeyValue: {
      ...inAttribute,
      path: (name) => `\`\${field}.${name}\``,
      returns: 'Attribute',
      fields: {
        key: { as: 'key', read: 'message.text()' },
        value: value('readAnyValue(cursor, message.message(), PATH, depth)'),
      },
    },
    AnyValue: {
      ...inAttribute,
      returns: 'AnyValue',
      before: [
        'cursor.field = field;',
        'if (depth > decodeLimits.valueDepth) throw cursor.error(`nested deeper than ${decodeLimits.valueDepth}`);',
      ],
      fields: {
        string_value: value('message.text()'),
        bool_value: value('message.bool()'),
        int_value: value('int64(message)'),
        double_value: value('message.double()'),
        array_value: value('readArrayValue(cursor, message.message(), field, depth + 1)'),
        kvlist_value: value('{ entries: readKeyValueList(cursor, message.message(), field, depth + 1) }'),
        bytes_value: value('bytesField(cursor, message)'),
      },
      result: 'value',
    },
    ArrayValue: {
      ...inAttribute,
      returns: 'AnyValue[]',
      fields: { values: limited('values', 'AnyValue', "'values'", 'field, depth') },
      result: 'values',
    },
    KeyValueList: {
      ...inAttribute,
      returns: 'Attribute[]',
      fields: { values: limited('entries', 'KeyValue', "'attributes'", 'field, depth', 'Attribute') },
      result: 'entries',
    },
    InstrumentationScope: {
      returns: 'Scope',
      path: (name) => `'scope.${name}'`,
      fields: { name: 'name', version: 'version' },
    },
  },
};

/** Rule for a list of messages that the limit of attributes bounds. */
function limited(as: string, message: string, what: string, rest: string, type = message): FieldRule {
  const read = `read${message}(cursor, element(cursor, message, ${as}.length, ${what}), ${rest})`;
  return { as, type: `${type}[]`, first: '[]', read };
}

const points: ModuleRule = {
  imports: {
    ...imports,
    '../../model.ts': [
      ...['type Attribute', 'type Exemplar', 'type ExponentialBuckets', 'type ExponentialPoint', 'type HistogramPoint'],
      ...['noBuckets', 'type NumberPoint', 'type SummaryPoint'],
    ],
    '../attribute-list.ts': ['AttributeList'],
    '../fields.ts': [...helpers, 'repeatedScalar'],
    '../lists.ts': ['noExemplars', 'noNumbers', 'readBounds', 'readCounts', 'readUint', 'withExemplar'],
  },
  messages: pointMessages,
};

/**
 * Rule for a list of messages. The path of an error names the element, and elements may count against the limits of a
 * request.
 */
function counted(as: string, type: string, counts: FieldRule['counts']): FieldRule {
  return { as, type: `${type}[]`, first: '[]', ...(counts && { counts }) };
}

const attributesOfResource: FieldRule = { as: 'attributes', type: 'readonly Attribute[]', first: 'noAttributes' };
const scope: FieldRule = { as: 'scope', type: 'Scope', first: 'emptyScope' };
const pathOfError = { type: 'MetricData | null', first: 'null', step: true } as const;

/** Rule for one of the five kinds of metric data: points, and for some kinds temporality and monotonicity. */
function dataOf(kind: string, type: string, ...members: ('temporality' | 'monotonic')[]): MessageRule {
  return {
    returns: 'MetricData',
    fields: {
      data_points: counted('points', type, 'Item'),
      ...(members.includes('temporality') && { aggregation_temporality: temporality }),
      ...(members.includes('monotonic') && { is_monotonic: 'monotonic' }),
    },
    result: `{ ${[`kind: '${kind}'`, ...members, 'points'].join(', ')} }`,
  };
}
const temporality: FieldRule = {
  as: 'temporality',
  type: 'Temporality',
  first: "'unspecified'",
  read: "temporalities[message.uint()] ?? 'unspecified'",
};

const metrics: ModuleRule = {
  imports: {
    ...imports,
    '../../model.ts': [
      ...['type Attribute', 'emptyScope', 'type ExponentialPoint', 'type HistogramPoint', 'type Metric'],
      ...['type MetricData', 'type MetricsRequest', 'noAttributes', 'type NumberPoint', 'type ResourceMetrics'],
      ...['type Scope', 'type ScopeMetrics', 'type SummaryPoint', 'temporalities', 'type Temporality'],
    ],
    './attributes.ts': ['readInstrumentationScope'],
    './points.ts': [
      ...['readExponentialHistogramDataPoint', 'readHistogramDataPoint', 'readNumberDataPoint', 'readResource'],
      ...['readSummaryDataPoint'],
    ],
  },
  messages: {
    ExportMetricsServiceRequest: {
      returns: 'MetricsRequest',
      fields: { resource_metrics: counted('resources', 'ResourceMetrics', 'Container') },
    },
    ResourceMetrics: {
      returns: 'ResourceMetrics',
      fields: { resource: attributesOfResource, scope_metrics: counted('scopes', 'ScopeMetrics', 'Container') },
    },
    ScopeMetrics: {
      returns: 'ScopeMetrics',
      fields: { scope, metrics: counted('metrics', 'Metric', 'Container') },
    },
    Metric: {
      returns: 'Metric',
      fields: {
        name: 'name',
        description: { as: 'description', read: 'message.text()' },
        unit: 'unit',
        gauge: { as: 'data', ...pathOfError },
        sum: { as: 'data', ...pathOfError },
        histogram: { as: 'data', ...pathOfError },
        exponential_histogram: { as: 'data', ...pathOfError },
        summary: { as: 'data', ...pathOfError },
      },
    },
    Gauge: dataOf('gauge', 'NumberPoint'),
    Sum: dataOf('sum', 'NumberPoint', 'temporality', 'monotonic'),
    Histogram: dataOf('histogram', 'HistogramPoint', 'temporality'),
    ExponentialHistogram: dataOf('exponential', 'ExponentialPoint', 'temporality'),
    Summary: dataOf('summary', 'SummaryPoint'),
  },
};

/** A time whose nanoseconds are kept exactly. */
const exactTime = (as: string): FieldRule => ({ as, type: 'bigint', first: '0n', read: 'message.fixed64()' });
const id = (as: string, bytes: number, optional: boolean): FieldRule => {
  return { as, type: 'string', first: "''", read: `idField(cursor, PATH, message, ${bytes}, ${optional})` };
};

const traces: ModuleRule = {
  imports: {
    ...imports,
    '../../model.ts': [
      ...['type Attribute', 'emptyScope', 'noAttributes', 'type ResourceSpans', 'type Scope', 'type ScopeSpans'],
      ...['type Span', 'type SpanKind', 'spanKinds', 'type SpanStatus', 'statusCodes', 'type TracesRequest'],
    ],
    '../attribute-list.ts': ['AttributeList'],
    './attributes.ts': ['readInstrumentationScope'],
    './points.ts': ['readResource'],
  },
  messages: {
    ExportTraceServiceRequest: {
      returns: 'TracesRequest',
      fields: { resource_spans: counted('resources', 'ResourceSpans', 'Container') },
    },
    ResourceSpans: {
      returns: 'ResourceSpans',
      fields: { resource: attributesOfResource, scope_spans: counted('scopes', 'ScopeSpans', 'Container') },
    },
    ScopeSpans: { returns: 'ScopeSpans', fields: { scope, spans: counted('spans', 'Span', 'Item') } },
    Span: {
      returns: 'Span',
      fields: {
        trace_id: id('traceId', 16, false),
        span_id: id('spanId', 8, false),
        parent_span_id: id('parentSpanId', 8, true),
        name: { as: 'name', read: 'message.text()' },
        kind: {
          as: 'kind',
          type: 'SpanKind',
          first: "'unspecified'",
          read: "spanKinds[message.uint()] ?? 'unspecified'",
        },
        start_time_unix_nano: exactTime('startNs'),
        end_time_unix_nano: exactTime('endNs'),
        attributes: attributeRun('attributes', 'skipped'),
        status: {
          as: 'status',
          type: "Pick<Span, 'status' | 'statusMessage'>",
          first: "{ status: 'unset', statusMessage: '' }",
        },
      },
      after: [
        "cursor.field = traceId ? 'span_id' : 'trace_id';",
        "if (!traceId || !spanId) throw cursor.error('is required');",
      ],
      result:
        '{ traceId, spanId, parentSpanId, name, kind, startNs, endNs, attributes: attributes.finish(cursor, message.bytes), ...status }',
    },
    Status: {
      returns: "Pick<Span, 'status' | 'statusMessage'>",
      path: (name) => `'status.${name}'`,
      fields: {
        message: { as: 'statusMessage', read: 'message.text()' },
        code: {
          as: 'status',
          type: 'SpanStatus',
          first: "'unset'",
          read: "statusCodes[message.uint()] ?? 'unset'",
        },
      },
      result: '{ status, statusMessage }',
    },
  },
};
