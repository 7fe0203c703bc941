import { Type } from '@sinclair/typebox';
import type { SchemaOptions, Static, TObject, TProperties, TSchema, TUnsafe } from '@sinclair/typebox';

/**
 * Builders for structural OpenAPI v3 schemas that are TypeBox schemas at the same time, so that one definition gives
 * the CRD and the static type.
 *
 * Guarantees: every string, list and map is bounded (the API server's CEL cost estimate needs it); every field has a
 * description (`kubectl explain` shows it); no `$ref`, no `anyOf` of types, no `additionalProperties: false`, so the
 * result is structural.
 */

/** A CEL rule of the API server, and the message that the user gets when it fails. */
export interface CelRule {
  rule: string;
  message: string;
}

/** Attaches CEL rules to a schema. Rules see the value as `self`. */
export function rules(...list: CelRule[]): { 'x-kubernetes-validations': CelRule[] } {
  return { 'x-kubernetes-validations': list };
}

/** Bounds of a string. The caller has to anchor a pattern. */
export interface TextOptions {
  maxLength: number;
  minLength?: number;
  pattern?: string;
  default?: string;
  'x-kubernetes-validations'?: CelRule[];
}

/** A bounded string. */
export function text(description: string, options: TextOptions) {
  return Type.String({ description, ...options });
}

/** A choice between fixed words: an enum in the schema, a union of strings in TypeScript. */
export function choice<const T extends readonly string[]>(
  description: string,
  values: T,
  options: { default?: T[number] } = {},
): TUnsafe<T[number]> {
  return Type.Unsafe<T[number]>(Type.String({ description, enum: [...values], ...options }));
}

/** A whole number in a closed range. Fractions are never stored as numbers: they are strings or percentages. */
export function integer(
  description: string,
  options: { minimum: number; maximum: number; default?: number; format?: 'int32' | 'int64' },
) {
  return Type.Integer({ description, format: options.maximum > 2_147_483_647 ? 'int64' : 'int32', ...options });
}

/**
 * A boolean. Only for fields that the API reference lists as booleans; other fields use `choice`, because a choice
 * between two words can be extended later.
 */
export function flag(description: string, options: { default?: boolean } = {}) {
  return Type.Boolean({ description, ...options });
}

/**
 * A number or a string such as `2Gi` or `10%`. `pattern` applies only to the string form, `minimum` and `maximum` only
 * to the number.
 */
export function intOrString(description: string, pattern: string, options: SchemaOptions = {}) {
  return Type.Unsafe<number | string>({
    description,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    'x-kubernetes-int-or-string': true,
    maxLength: 32,
    pattern,
    ...options,
  });
}

/** Bounds of a list, and how server-side apply merges it. */
export interface ListBounds {
  maxItems: number;
  minItems?: number;
  /** How server-side apply merges the list: as a whole, as a set of scalars, or by the key members. */
  type?: 'atomic' | 'set' | 'map';
  keys?: string[];
  'x-kubernetes-validations'?: CelRule[];
}

/** A bounded list. */
export function list<T extends TSchema>(description: string, items: T, options: ListBounds) {
  const { type = 'atomic', keys, ...rest } = options;
  return Type.Array(items, {
    description,
    'x-kubernetes-list-type': type,
    ...(keys ? { 'x-kubernetes-list-map-keys': keys } : {}),
    ...rest,
  });
}

/** A bounded map from strings to one kind of value. */
export function map<T extends TSchema>(
  description: string,
  values: T,
  options: { maxProperties: number; minProperties?: number; 'x-kubernetes-validations'?: CelRule[] },
): TUnsafe<Record<string, Static<T>>> {
  return Type.Unsafe<Record<string, Static<T>>>({
    type: 'object',
    description,
    additionalProperties: values,
    ...options,
  });
}

/** An object with named members. A member with a `default` is required in the type, for readers, but not in the CRD. */
export function object<P extends TProperties>(
  description: string,
  properties: P,
  options: SchemaOptions = {},
): TObject<P> {
  return Type.Object(properties, { description, ...options });
}

/** An object whose content the API server stores unchanged. `T` is the type that the writer promises. */
export function opaque<T>(description: string): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'object', description, 'x-kubernetes-preserve-unknown-fields': true });
}

/** A member that may be absent. */
export const optional = Type.Optional;
