import { createHash } from 'node:crypto';
import { customSchemas, externalSchemas, type ListSchemas, type Schema } from './openapi-schemas.ts';
import { customGroup, customVersions, externalGroup } from './paths.ts';

interface Operation {
  /** Path parameters are in braces. */
  readonly path: string;
  /** The end of the operation's id. */
  readonly id: string;
}

/** One version of a group: its paths and the types of its answers. */
interface Api {
  readonly group: string;
  readonly version: string;
  readonly operations: readonly Operation[];
  readonly types: ListSchemas;
}

const references = { v2: '#/definitions/', v3: '#/components/schemas/' } as const;
type Dialect = keyof typeof references;

const parameterTexts: Readonly<Record<string, string>> = {
  namespace: 'Namespace of the objects.',
  resource: 'Kind of the objects in the plural, with its group: pods, deployments.apps, nodes.',
  name: 'Name of one object, or * for all.',
  metric: 'Name of the metric.',
  labelSelector: 'Selects objects by their labels; for external metrics, rows by theirs.',
  metricLabelSelector: 'Selects the series that values are made of.',
};

/** The document of an OpenAPI path; undefined for other paths. */
export function openApiDocument(path: string, version: string, external: boolean): unknown {
  const info = { title: 'svc-query metrics for autoscalers', version };
  if (path === '/openapi/v2') {
    const apis = apisOf('v2', external);
    return {
      swagger: '2.0',
      info,
      paths: Object.assign({}, ...apis.map((api) => pathsOf(api, 'v2'))) as unknown,
      definitions: Object.assign({}, ...apis.map(({ types }) => types.schemas)) as unknown,
    };
  }
  const documents = new Map(
    apisOf('v3', external).map((api) => [
      `apis/${api.group}/${api.version}`,
      { openapi: '3.0.0', info, paths: pathsOf(api, 'v3'), components: { schemas: api.types.schemas } },
    ]),
  );
  if (path === '/openapi/v3') {
    const entries = [...documents].map(([name, document]) => [
      name,
      { serverRelativeURL: `/openapi/v3/${name}?hash=${hashOf(document)}` },
    ]);
    return { paths: Object.fromEntries(entries) as unknown };
  }
  return documents.get(path.replace('/openapi/v3/', ''));
}

function apisOf(dialect: Dialect, external: boolean): Api[] {
  const refer = (name: string): Schema => ({ $ref: `${references[dialect]}${name}` });
  const custom = customVersions.map((version) => ({
    group: customGroup,
    version,
    types: customSchemas(version, refer),
    operations: [
      { path: '/{resource}/{name}/{metric}', id: 'Metric' },
      { path: '/namespaces/{namespace}/{resource}/{name}/{metric}', id: 'NamespacedMetric' },
      { path: '/namespaces/{namespace}/metrics/{metric}', id: 'NamespaceMetric' },
    ],
  }));
  const rows = {
    group: externalGroup,
    version: 'v1beta1',
    types: externalSchemas(refer),
    operations: [{ path: '/namespaces/{namespace}/{metric}', id: 'ExternalMetric' }],
  };
  return external ? [...custom, rows] : custom;
}

function pathsOf({ group, version, operations, types }: Api, dialect: Dialect): Record<string, unknown> {
  const schema = { $ref: `${references[dialect]}${types.list}` };
  const kind = { group, version, kind: types.list.split('.').at(-1)! };
  const ok = {
    description: 'OK',
    ...(dialect === 'v2' ? { schema } : { content: { 'application/json': { schema } } }),
  };
  const queries = group === customGroup ? ['labelSelector', 'metricLabelSelector'] : ['labelSelector'];
  const parameter = (name: string, place: 'path' | 'query'): Schema => ({
    name,
    in: place,
    description: parameterTexts[name],
    ...(place === 'path' ? { required: true } : {}),
    ...(dialect === 'v2' ? { type: 'string' } : { schema: { type: 'string' } }),
  });
  const operation = ({ path, id }: Operation): unknown => ({
    get: {
      description: 'Values of a metric.',
      operationId: `list${pascal(group)}${pascal(version)}${id}`,
      tags: [`${group.replace('.k8s.io', '').replaceAll('.', '_')}_${version}`],
      ...(dialect === 'v2' ? { produces: ['application/json'], schemes: ['https'] } : {}),
      parameters: [
        ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => parameter(name!, 'path')),
        ...queries.map((name) => parameter(name, 'query')),
      ],
      responses: { '200': ok, '401': { description: 'Unauthorized' } },
      'x-kubernetes-action': 'list',
      'x-kubernetes-group-version-kind': kind,
    },
  });
  return Object.fromEntries(operations.map((one) => [`/apis/${group}/${version}${one.path}`, operation(one)]));
}

/** `custom.metrics.k8s.io` → `CustomMetrics`. */
function pascal(name: string): string {
  const parts = name.replace(/\.k8s\.io$/, '').split('.');
  return parts.map((part) => part[0]!.toUpperCase() + part.slice(1)).join('');
}

/** Changes with the document, so that a client with a cached copy fetches it again. */
function hashOf(document: unknown): string {
  return createHash('sha256').update(JSON.stringify(document)).digest('hex').toUpperCase();
}
