import type { TSchema } from '@sinclair/typebox';
import { isObject } from '../../base/text/texts.ts';
import { structuralSchema, type JsonSchema } from './crd.ts';
import { firstSchemaFault, pruned, type SchemaFault } from './schema-faults.ts';

type Reading<T> = { spec: T } | { fault: SchemaFault };

/**
 * Makes a reader of a kind's specs that come from elsewhere than from the API server. It prunes a spec as the API server
 * does, and returns the first fault that the schema finds in it. Only the API server checks CEL rules.
 * Shape: a reading takes time in proportion to the value, whatever the value is.
 */
export function specReader<T extends object>(kind: TSchema): (value: unknown) => Reading<T> {
  return readerBy(() => structuralSchema(kind));
}

/**
 * Like `specReader`, for specs that the API server has admitted or is about to admit. It finds other types, and larger
 * texts, lists or maps, than the schema admits. Patterns, enums and ranges it lets pass, because only the API server
 * knows which values were stored before a rule became stricter.
 */
export function shapeReader<T extends object>(kind: TSchema): (value: unknown) => Reading<T> {
  return readerBy(() => typesAndSizes(structuralSchema(kind)));
}

function readerBy<T extends object>(make: () => JsonSchema): (value: unknown) => Reading<T> {
  let schema: JsonSchema | undefined;
  return (value) => {
    schema ??= make();
    const spec = pruned(schema, value);
    const fault = firstSchemaFault(schema, spec, 'spec');
    return fault ? { fault } : { spec: spec as T };
  };
}

const limits = ['pattern', 'enum', 'minimum', 'maximum', 'minLength', 'minItems', 'minProperties'];

/** Drops the limits on values from a schema; of sizes only the largest stays. */
function typesAndSizes(schema: JsonSchema): JsonSchema {
  for (const keyword of limits) delete schema[keyword];
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  for (const inner of [schema['items'], schema['additionalProperties'], ...Object.values(properties)]) {
    if (isObject(inner)) typesAndSizes(inner);
  }
  return schema;
}
