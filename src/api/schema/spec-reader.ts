import type { TSchema } from '@sinclair/typebox';
import { isObject } from '../../base/text/texts.ts';
import { structuralSchema, type JsonSchema } from './crd.ts';
import { firstSchemaFault, pruned, type SchemaFault } from './schema-faults.ts';

/**
 * Makes the reader of a kind's specs that come from elsewhere than from the API server. It prunes a spec as the API
 * server does, and returns the first fault of a spec with other types, or with larger texts, lists or maps, than the
 * schema admits. Only the API server checks patterns, enums, ranges and CEL rules, because only it knows which values
 * were stored before a rule became stricter: these it lets pass.
 * Shape: a reading takes time in proportion to the value, whatever the value is.
 */
export function specReader<T extends object>(kind: TSchema): (value: unknown) => { spec: T } | { fault: SchemaFault } {
  let schema: JsonSchema | undefined;
  return (value) => {
    schema ??= typesAndSizes(structuralSchema(kind));
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
