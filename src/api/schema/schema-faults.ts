import { isObject } from '../../base/text/texts.ts';
import type { JsonSchema } from './crd.ts';

/** One value that a schema refuses. */
export interface SchemaFault {
  readonly field: string;
  readonly reason: string;
}

/**
 * The violations of a schema by a value, and the unknown members of the value, by field. Pure.
 * Shape: `schema` is the structural OpenAPI schema of a CRD. Only the API server checks CEL rules. Members of a list or
 * an object that has too many of them are not checked.
 */
export function schemaFaults(schema: JsonSchema, value: unknown, field: string): SchemaFault[] {
  return [...faultsOf(schema, value, field)];
}

/** The first of the `schemaFaults`. The rest of the value is not looked at. Pure. */
export function firstSchemaFault(schema: JsonSchema, value: unknown, field: string): SchemaFault | undefined {
  const [first] = faultsOf(schema, value, field);
  return first;
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

type Faults = Generator<SchemaFault, void, undefined>;

function* faultsOf(schema: JsonSchema, value: unknown, field: string): Faults {
  if (schema['type'] === 'object' && isObject(value)) yield* objectFaults(schema, value, field);
  else if (schema['type'] === 'array' && Array.isArray(value)) yield* listFaults(schema, value, field);
  else {
    const reason = scalarFault(schema, value);
    if (reason !== null) yield { field, reason };
  }
}

function scalarFault(schema: JsonSchema, value: unknown): string | null {
  if (schema['x-kubernetes-int-or-string'] === true) {
    if (Number.isInteger(value)) return rangeFault(schema, value as number);
    return typeof value === 'string' ? textFault(schema, value) : 'is neither a whole number nor a text';
  }
  switch (schema['type']) {
    case 'object':
      return `must be an object, is ${nameOf(value)}`;
    case 'array':
      return `must be a list, is ${nameOf(value)}`;
    case 'string':
      return typeof value === 'string' ? textFault(schema, value) : `must be a text, is ${nameOf(value)}`;
    case 'integer':
      return Number.isInteger(value)
        ? rangeFault(schema, value as number)
        : `must be a whole number, is ${nameOf(value)}`;
    case 'number':
      return typeof value === 'number' ? rangeFault(schema, value) : `must be a number, is ${nameOf(value)}`;
    case 'boolean':
      return typeof value === 'boolean' ? null : `must be true or false, is ${nameOf(value)}`;
    default:
      return null;
  }
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return quoted(value);
  return typeof value === 'object' ? 'an object' : JSON.stringify(value);
}

/** A text in a message; of a long one only the beginning. */
const quoted = (text: string): string => JSON.stringify(text.length > 256 ? `${text.slice(0, 256)}…` : text);

const numberOf = (schema: JsonSchema, key: string): number | undefined => schema[key] as number | undefined;

function* objectFaults(schema: JsonSchema, value: Record<string, unknown>, field: string): Faults {
  const properties = schema['properties'] as Record<string, JsonSchema> | undefined;
  const members = schema['additionalProperties'];
  for (const name of (schema['required'] ?? []) as string[])
    if (value[name] === undefined) yield { field: `${field}.${name}`, reason: 'is required' };
  const count = Object.keys(value).length;
  const [most, least] = [numberOf(schema, 'maxProperties'), numberOf(schema, 'minProperties')];
  if (most !== undefined && count > most) return yield { field, reason: tooMany(count, most) };
  if (least !== undefined && count < least) yield { field, reason: tooFew(count, least) };
  for (const [name, member] of Object.entries(value)) {
    const path = `${field}.${name}`;
    const own = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (own) {
      if (member !== null) yield* faultsOf(own, member, path);
    } else if (isObject(members)) yield* faultsOf(members, member, path);
    else if (schema['x-kubernetes-preserve-unknown-fields'] !== true) yield unknownField(path, name, properties ?? {});
  }
}

const tooMany = (count: number, most: number): string => `has ${count} members, at most ${most} are allowed`;
const tooFew = (count: number, least: number): string => `has ${count} members, at least ${least} are needed`;

function unknownField(field: string, name: string, known: Record<string, JsonSchema>): SchemaFault {
  const near = Object.keys(known).find(
    (other) => other.toLowerCase() === name.toLowerCase() || `${other}s` === name || `${name}s` === other,
  );
  return {
    field,
    reason: near ? `is unknown; is ${near} meant?` : `is unknown; known are ${Object.keys(known).join(', ')}`,
  };
}

function* listFaults(schema: JsonSchema, value: readonly unknown[], field: string): Faults {
  const [most, least] = [numberOf(schema, 'maxItems'), numberOf(schema, 'minItems')];
  if (most !== undefined && value.length > most) return yield { field, reason: tooMany(value.length, most) };
  if (least !== undefined && value.length < least) yield { field, reason: tooFew(value.length, least) };
  for (const [i, member] of value.entries()) yield* faultsOf(schema['items'] as JsonSchema, member, `${field}[${i}]`);
}

function textFault(schema: JsonSchema, value: string): string | null {
  const allowed = schema['enum'] as string[] | undefined;
  if (allowed && !allowed.includes(value)) return `${quoted(value)} is none of ${allowed.join(', ')}`;
  const [most, least, pattern] = [
    numberOf(schema, 'maxLength'),
    numberOf(schema, 'minLength'),
    schema['pattern'] as string | undefined,
  ];
  if (most !== undefined && value.length > most) {
    // The API server counts code points, of which a text has at least half its length.
    const length = value.length > 2 * most ? value.length : [...value].length;
    if (length > most) return `has ${length} characters, at most ${most} are allowed`;
  }
  if (least !== undefined && value.length < least) return 'must not be empty';
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value))
    return `${quoted(value)} does not match ${pattern}`;
  return null;
}

function rangeFault(schema: JsonSchema, value: number): string | null {
  const [least, most] = [numberOf(schema, 'minimum'), numberOf(schema, 'maximum')];
  if (least !== undefined && value < least) return `${value} is less than ${least}`;
  return most !== undefined && value > most ? `${value} is more than ${most}` : null;
}
