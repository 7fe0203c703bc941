import type { CustomVersion } from './paths.ts';

export type Schema = Readonly<Record<string, unknown>>;

const text = (description: string): Schema => ({ type: 'string', description });
const object = (
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: string[] = [],
): Schema => ({
  type: 'object',
  description,
  properties,
  ...(required.length > 0 ? { required } : {}),
});
const time: Schema = {
  type: 'string',
  format: 'date-time',
  description: 'When the samples behind the value were taken.',
};
const windowSeconds: Schema = {
  type: 'integer',
  format: 'int64',
  description: 'Seconds over which the value was computed; none for a value of one moment.',
};
const value = text('The value as a quantity, e.g. 1500m.');
const described = object('The object that the value is about.', {
  kind: text('Its kind.'),
  namespace: text('Its namespace, if it is in one.'),
  name: text('Its name.'),
  apiVersion: text('Group and version of its kind; "/v1" for the core group.'),
});
const selector = object('The selector on series that the value was narrowed by.', {
  matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
  matchExpressions: {
    type: 'array',
    items: object(
      'One term.',
      { key: text('A label.'), operator: text('In, NotIn, Exists or DoesNotExist.'), values: listOf(text('A value.')) },
      ['key', 'operator'],
    ),
  },
});

function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

/** The list type of a group's version and the type of its items. */
export interface ListSchemas {
  readonly list: string;
  readonly item: string;
  readonly schemas: Readonly<Record<string, Schema>>;
}

/** The types of the answers of `custom.metrics.k8s.io`, by the names that the upstream types have in OpenAPI. */
export function customSchemas(version: CustomVersion, refer: (name: string) => Schema): ListSchemas {
  const properties: Record<string, Schema> =
    version === 'v1beta2'
      ? {
          describedObject: described,
          metric: object('The metric.', { name: text('Its name.'), selector }, ['name']),
          timestamp: time,
          windowSeconds,
          value,
        }
      : {
          describedObject: described,
          metricName: text('The metric.'),
          timestamp: time,
          window: windowSeconds,
          value,
          selector,
        };
  const required = ['describedObject', version === 'v1beta2' ? 'metric' : 'metricName', 'timestamp', 'value'];
  return listSchemas(`io.k8s.metrics.pkg.apis.custom_metrics.${version}.MetricValue`, {
    refer,
    item: object('A metric of an object.', properties, required),
    kind: { group: 'custom.metrics.k8s.io', version, kind: 'MetricValueList' },
  });
}

/** The types of the answers of `external.metrics.k8s.io`. */
export function externalSchemas(refer: (name: string) => Schema): ListSchemas {
  const properties = {
    metricName: text('The metric.'),
    metricLabels: { type: 'object', additionalProperties: { type: 'string' }, description: 'Labels of the row.' },
    timestamp: time,
    window: windowSeconds,
    value,
  };
  return listSchemas('io.k8s.metrics.pkg.apis.external_metrics.v1beta1.ExternalMetricValue', {
    refer,
    item: object('A metric that belongs to no object.', properties, [
      'metricName',
      'metricLabels',
      'timestamp',
      'value',
    ]),
    kind: { group: 'external.metrics.k8s.io', version: 'v1beta1', kind: 'ExternalMetricValueList' },
  });
}

function listSchemas(
  item: string,
  options: { refer: (name: string) => Schema; item: Schema; kind: Readonly<Record<string, string>> },
): ListSchemas {
  const list = `${item}List`;
  const properties = {
    kind: text('What this is.'),
    apiVersion: text('Group and version of what this is.'),
    metadata: object('Metadata of the list.', { resourceVersion: text('Not set: values are not stored objects.') }),
    items: listOf(options.refer(item)),
  };
  return {
    list,
    item,
    schemas: {
      [item]: options.item,
      [list]: {
        ...object('Values of one metric.', properties, ['items']),
        'x-kubernetes-group-version-kind': [options.kind],
      },
    },
  };
}
