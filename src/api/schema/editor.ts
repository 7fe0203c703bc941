import { objectSchema } from './crd.ts';
import type { JsonSchema } from './crd.ts';
import type { KindDefinition } from './kind.ts';

/**
 * A JSON Schema (draft-07) of a whole object, for editors and for linters in CI. It refuses what the API server would
 * refuse by schema, unknown members included. CEL rules have no counterpart in it: only the API server checks them.
 */
export function editorSchema(kind: KindDefinition): JsonSchema {
  const { resource } = kind;
  const schema = close(objectSchema(kind));
  const properties = schema['properties'] as Record<string, JsonSchema>;
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: resource.kind,
    ...schema,
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    properties: {
      ...properties,
      apiVersion: { ...properties['apiVersion'], const: resource.apiVersion },
      kind: { ...properties['kind'], const: resource.kind },
      metadata: metadataSchema(resource.namespaced),
    },
  };
}

/** Drops keywords that only the API server reads, and forbids unknown members. */
function close(schema: JsonSchema): JsonSchema {
  const result: JsonSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword.startsWith('x-kubernetes-') || keyword === 'format') continue;
    result[keyword] = value;
  }
  const properties = schema['properties'] as Record<string, JsonSchema> | undefined;
  if (properties) {
    result['properties'] = Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, close(inner)]));
    result['additionalProperties'] = false;
  }
  for (const keyword of ['items', 'additionalProperties']) {
    const inner = schema[keyword];
    if (typeof inner === 'object' && inner !== null) result[keyword] = close(inner as JsonSchema);
  }
  return result;
}

function metadataSchema(namespaced: boolean): JsonSchema {
  return {
    type: 'object',
    description: `Name${namespaced ? ', namespace' : ''}, labels and annotations, as of every Kubernetes object.`,
    anyOf: [{ required: ['name'] }, { required: ['generateName'] }],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 253 },
      generateName: { type: 'string' },
      ...(namespaced ? { namespace: { type: 'string', minLength: 1, maxLength: 63 } } : {}),
      labels: { type: 'object', additionalProperties: { type: 'string', maxLength: 63 } },
      annotations: { type: 'object', additionalProperties: { type: 'string' } },
    },
  };
}
