import type { KindDefinition } from '../api/schema/kind.ts';
import { objectSchema } from '../api/schema/crd.ts';
import type { JsonSchema } from '../api/schema/crd.ts';

/** The schema of a kind and every schema inside it, each with its path; the root comes first. */
export function* schemasOf(kind: KindDefinition): Generator<{ path: string; schema: JsonSchema }> {
  yield* walk('', objectSchema(kind));
}

function* walk(path: string, schema: JsonSchema): Generator<{ path: string; schema: JsonSchema }> {
  yield { path, schema };
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  for (const [name, member] of Object.entries(properties)) yield* walk(`${path}.${name}`, member);
  if (schema['items']) yield* walk(`${path}[]`, schema['items'] as JsonSchema);
  if (typeof schema['additionalProperties'] === 'object') {
    yield* walk(`${path}{}`, schema['additionalProperties'] as JsonSchema);
  }
}

/** The messages of all CEL rules in the schema of a kind. */
export function ruleMessages(kind: KindDefinition): Set<string> {
  const messages = new Set<string>();
  for (const { schema } of schemasOf(kind)) {
    for (const rule of (schema['x-kubernetes-validations'] ?? []) as { message: string }[]) messages.add(rule.message);
  }
  return messages;
}

/** The patterns of all strings in the spec of a kind. */
export function specPatterns(kind: KindDefinition): Set<string> {
  const patterns = new Set<string>();
  for (const { path, schema } of schemasOf(kind)) {
    if (path.startsWith('.spec') && typeof schema['pattern'] === 'string') patterns.add(schema['pattern']);
  }
  return patterns;
}
