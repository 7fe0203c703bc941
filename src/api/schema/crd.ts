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

/** The schema of a whole object of a kind, as a CRD holds it: the API server knows `metadata` itself. */
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
      // Until a controller has looked at the object, no generation is observed. Without this default, kstatus would
      // take a new object as done.
      status: { ...structuralSchema(kind.status), default: { observedGeneration: -1 } },
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

/** The CustomResourceDefinition of a kind: one version, served and stored, with a status subresource. */
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
