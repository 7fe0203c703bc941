import { OperatorError } from '../../base/errors.ts';
import type { KubeObject } from '../meta.ts';
import type { KindDefinition, PrinterColumn } from './kind.ts';

/** A JSON schema as plain data. */
export type JsonSchema = { [keyword: string]: unknown };

/**
 * The structural OpenAPI v3 schema of a TypeBox schema: symbols dropped, and members with a default no longer
 * required, because the API server fills them in before it validates.
 * Shape: pure; the result shares nothing with the input.
 */
export function structuralSchema(schema: object): JsonSchema {
  return relaxDefaults(JSON.parse(JSON.stringify(schema)) as JsonSchema);
}

function relaxDefaults(schema: JsonSchema): JsonSchema {
  const properties = schema['properties'] as Record<string, JsonSchema> | undefined;
  if (properties) {
    for (const member of Object.values(properties)) relaxDefaults(member);
    const required = ((schema['required'] as string[] | undefined) ?? []).filter(
      (name) => !('default' in properties[name]!),
    );
    delete schema['required'];
    if (required.length > 0) schema['required'] = required;
  }
  for (const keyword of ['items', 'additionalProperties']) {
    const inner = schema[keyword];
    if (typeof inner === 'object' && inner !== null) relaxDefaults(inner as JsonSchema);
  }
  return schema;
}

/**
 * The status schema with its default: no generation is observed until a controller has looked at the object. Without
 * the default, kstatus would take a new object as done. A status without an integer `observedGeneration` has none.
 */
function statusSchema({ resource, status }: KindDefinition): JsonSchema {
  const schema = structuralSchema(status);
  const { observedGeneration } = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  if (observedGeneration?.['type'] !== 'integer') return schema;
  const wrong = (text: string): OperatorError => new OperatorError('ERR_INPUT_INVALID', `${resource.kind}: ${text}`);
  if (((observedGeneration['minimum'] as number | undefined) ?? -1) > -1)
    throw wrong('status.observedGeneration does not admit -1, its default; `observedGeneration` of this package does');
  const required = (schema['required'] as string[] | undefined)?.find((name) => name !== 'observedGeneration');
  if (required !== undefined)
    throw wrong(`status.${required} is required, but a new object has no status yet; make the member optional`);
  return { ...schema, default: { observedGeneration: -1 } };
}

/**
 * The schema of a whole object of a kind, as a CRD holds it: the API server knows `metadata` itself.
 * Errors: ERR_INPUT_INVALID that names the member of a status with which no API server would take the definition.
 */
export function objectSchema(kind: KindDefinition): JsonSchema {
  return {
    type: 'object',
    description: kind.description,
    required: ['spec'],
    ...(kind.rules ? { 'x-kubernetes-validations': kind.rules } : {}),
    properties: {
      apiVersion: { type: 'string', description: `Always ${kind.resource.apiVersion}.` },
      kind: { type: 'string', description: `Always ${kind.resource.kind}.` },
      metadata: { type: 'object' },
      spec: structuralSchema(kind.spec),
      status: statusSchema(kind),
    },
  };
}

function printerColumn(column: PrinterColumn): object {
  return {
    name: column.name,
    type: column.type,
    ...(column.description ? { description: column.description } : {}),
    jsonPath: 'path' in column ? column.path : `.status.conditions[?(@.type=="${column.condition}")].status`,
    ...(column.wide ? { priority: 1 } : {}),
  };
}

/**
 * The CustomResourceDefinition of a kind: one version, served and stored, with a status subresource.
 * Errors: ERR_INPUT_INVALID that names a member of the status; see `KindDefinition.status`.
 */
export function customResourceDefinition(kind: KindDefinition): KubeObject {
  const { resource } = kind;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${resource.plural}.${resource.group}`,
      labels: { 'app.kubernetes.io/name': kind.product },
    },
    spec: {
      group: resource.group,
      names: {
        kind: resource.kind,
        listKind: kind.listKind,
        plural: resource.plural,
        singular: kind.singular,
        shortNames: kind.shortNames,
        categories: kind.categories,
      },
      scope: resource.namespaced ? 'Namespaced' : 'Cluster',
      versions: [
        {
          name: resource.version,
          served: true,
          storage: true,
          additionalPrinterColumns: kind.columns.map(printerColumn),
          schema: { openAPIV3Schema: objectSchema(kind) },
          subresources: { status: {} },
        },
      ],
    },
  };
}
