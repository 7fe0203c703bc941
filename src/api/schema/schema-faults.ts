import { isObject } from '../../base/text/texts.ts';
import type { JsonSchema } from './crd.ts';

/** One value that a schema refuses. */
export interface SchemaFault {
  readonly field: string;
  readonly reason: string;
}

/**
 * The violations of a schema by a value, and the unknown members of the value, by field. Pure.
 * Shape: `schema` is the structural OpenAPI schema of a CRD. Only the API server checks CEL rules.
 */
export function schemaFaults(schema: JsonSchema, value: unknown, field: string): SchemaFault[] {
  const fault = (reason: string): SchemaFault[] => [{ field, reason }];
  if (schema['x-kubernetes-int-or-string'] === true) {
    if (Number.isInteger(value)) return rangeFaults(schema, value as number, fault);
    return typeof value === 'string' ? textFaults(schema, value, fault) : fault('is neither a whole number nor a text');
  }
  switch (schema['type']) {
    case 'object':
      return isObject(value) ? objectFaults(schema, value, field) : fault(`must be an object, is ${nameOf(value)}`);
    case 'array':
      return Array.isArray(value) ? listFaults(schema, value, field) : fault(`must be a list, is ${nameOf(value)}`);
    case 'string':
      return typeof value === 'string'
        ? textFaults(schema, value, fault)
        : fault(`must be a text, is ${nameOf(value)}`);
    case 'integer':
      if (!Number.isInteger(value)) return fault(`must be a whole number, is ${nameOf(value)}`);
      return rangeFaults(schema, value as number, fault);
    case 'number':
      return typeof value === 'number'
        ? rangeFaults(schema, value, fault)
        : fault(`must be a number, is ${nameOf(value)}`);
    case 'boolean':
      return typeof value === 'boolean' ? [] : fault(`must be true or false, is ${nameOf(value)}`);
    default:
      return [];
  }
}

/**
 * A value as the API server stores it: without members that the schema does not know, and without members that are null.
 * Pure.
 */
export function pruned(schema: JsonSchema, value: unknown): unknown {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return value;
  if (Array.isArray(value)) {
    const items = schema['items'] as JsonSchema | undefined;
    return items ? value.map((item) => pruned(items, item)) : value;
  }
  if (!isObject(value)) return value;
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  const members = schema['additionalProperties'] as JsonSchema | undefined;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : members;
      return own && member !== null ? [[name, pruned(own, member)]] : [];
    }),
  );
}

type Say = (reason: string) => SchemaFault[];

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : JSON.stringify(value);
}

const numberOf = (schema: JsonSchema, key: string): number | undefined => schema[key] as number | undefined;

function objectFaults(schema: JsonSchema, value: Record<string, unknown>, field: string): SchemaFault[] {
  const properties = schema['properties'] as Record<string, JsonSchema> | undefined;
  const members = schema['additionalProperties'];
  const [count, most, least] = [
    Object.keys(value).length,
    numberOf(schema, 'maxProperties'),
    numberOf(schema, 'minProperties'),
  ];
  const required = ((schema['required'] ?? []) as string[])
    .filter((name) => value[name] === undefined)
    .map((name) => ({ field: `${field}.${name}`, reason: 'is required' }));
  return [
    ...required,
    ...(most !== undefined && count > most
      ? [{ field, reason: `has ${count} members, at most ${most} are allowed` }]
      : []),
    ...(least !== undefined && count < least
      ? [{ field, reason: `has ${count} members, at least ${least} are needed` }]
      : []),
    ...Object.entries(value).flatMap(([name, member]) => {
      const path = `${field}.${name}`;
      const own = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (own) return member === null ? [] : schemaFaults(own, member, path);
      if (isObject(members)) return schemaFaults(members, member, path);
      return schema['x-kubernetes-preserve-unknown-fields'] === true
        ? []
        : [unknownField(path, name, properties ?? {})];
    }),
  ];
}

function unknownField(field: string, name: string, known: Record<string, JsonSchema>): SchemaFault {
  const near = Object.keys(known).find(
    (other) => other.toLowerCase() === name.toLowerCase() || `${other}s` === name || `${name}s` === other,
  );
  return {
    field,
    reason: near ? `is unknown; is ${near} meant?` : `is unknown; known are ${Object.keys(known).join(', ')}`,
  };
}

function listFaults(schema: JsonSchema, value: readonly unknown[], field: string): SchemaFault[] {
  const [most, least] = [numberOf(schema, 'maxItems'), numberOf(schema, 'minItems')];
  return [
    ...(most !== undefined && value.length > most
      ? [{ field, reason: `has ${value.length} members, at most ${most} are allowed` }]
      : []),
    ...(least !== undefined && value.length < least
      ? [{ field, reason: `has ${value.length} members, at least ${least} are needed` }]
      : []),
    ...value.flatMap((member, i) => schemaFaults(schema['items'] as JsonSchema, member, `${field}[${i}]`)),
  ];
}

function textFaults(schema: JsonSchema, value: string, fault: Say): SchemaFault[] {
  const allowed = schema['enum'] as string[] | undefined;
  if (allowed && !allowed.includes(value)) return fault(`${JSON.stringify(value)} is none of ${allowed.join(', ')}`);
  const [most, least, pattern] = [
    numberOf(schema, 'maxLength'),
    numberOf(schema, 'minLength'),
    schema['pattern'] as string | undefined,
  ];
  // The API server counts code points.
  const length = [...value].length;
  if (most !== undefined && length > most) return fault(`has ${length} characters, at most ${most} are allowed`);
  if (least !== undefined && value.length < least) return fault('must not be empty');
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value))
    return fault(`${JSON.stringify(value)} does not match ${pattern}`);
  return [];
}

function rangeFaults(schema: JsonSchema, value: number, fault: Say): SchemaFault[] {
  const [least, most] = [numberOf(schema, 'minimum'), numberOf(schema, 'maximum')];
  if (least !== undefined && value < least) return fault(`${value} is less than ${least}`);
  return most !== undefined && value > most ? fault(`${value} is more than ${most}`) : [];
}
