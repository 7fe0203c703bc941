import type { TSchema } from '@sinclair/typebox';
import { structuralSchema, type JsonSchema } from './crd.ts';
import { firstSchemaFault, pruned, type SchemaFault } from './schema-faults.ts';

/**
 * Makes the reader of a kind's specs that come from elsewhere than from the API server. It prunes and checks a spec as
 * the API server does, except for CEL rules. It returns the first fault of a spec that the schema does not admit.
 * Shape: a reading takes time in proportion to the value, whatever the value is.
 */
export function specReader<T extends object>(kind: TSchema): (value: unknown) => { spec: T } | { fault: SchemaFault } {
  let schema: JsonSchema | undefined;
  return (value) => {
    schema ??= structuralSchema(kind);
    const spec = pruned(schema, value);
    const fault = firstSchemaFault(schema, spec, 'spec');
    return fault ? { fault } : { spec: spec as T };
  };
}
