import { objectSchema, type JsonSchema } from '../api/schema/crd.ts';
import type { KindDefinition } from '../api/schema/kind.ts';

export type Spec = Record<string, unknown>;

/** One field of a spec, below which there are no further fields, and specs that set it. */
export interface Leaf {
  /** E.g. `exports[].endpoint`. */
  readonly path: string;
  /** One spec for each value of the leaf, with the objects around the leaf and the members that these objects need. */
  readonly specs: readonly Spec[];
  /** The same spec without the leaf; a required leaf keeps a valid value. */
  readonly without: Spec;
}

/** Strings to try. For each schema, those that match its pattern are used. */
const texts = [
  'a',
  'b.example',
  '7m',
  '7s',
  '3Ki',
  '0.3',
  '10.0.0.0/8',
  '/a/{id}',
  '/a',
  'https://b.example/x',
  'b.example:80',
  'dst.port',
  'shop',
  'http_route',
  'sum(up)',
  'In',
  '25%',
  'x_y',
  'X-Y',
  'eth0',
  'app',
  'a@p.iam.gserviceaccount.com',
  'projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/7',
];

/**
 * Every leaf of the spec of a kind. An object gets the members that its schema requires, with some valid value. `needs`
 * states, by the end of an object's path, which other members the object needs to have an effect.
 */
export function leavesOf(kind: KindDefinition, needs: Readonly<Record<string, Spec>> = {}): Leaf[] {
  const spec = (objectSchema(kind)['properties'] as Record<string, JsonSchema>)['spec']!;
  return [...walk(spec, '', (value) => value as Spec, {}, needs)];
}

/** `build` puts a value of this schema into a whole spec; `without` is the spec that lacks it. */
function* walk(
  schema: JsonSchema,
  path: string,
  build: (value: unknown) => Spec,
  without: Spec,
  needs: Readonly<Record<string, Spec>>,
): Generator<Leaf> {
  const properties = schema['properties'] as Record<string, JsonSchema> | undefined;
  if (properties) {
    const more = Object.keys(needs).find((end) => `.${path}`.endsWith(`.${end}`));
    const base = { ...(valuesOf(schema)[0] as Spec), ...(more === undefined ? {} : needs[more]) };
    for (const [name, member] of Object.entries(properties)) {
      const within = path === '' ? name : `${path}.${name}`;
      yield* walk(member, within, (value) => build({ ...base, [name]: value }), build(base), needs);
    }
  } else if (schema['type'] === 'array' && (schema['items'] as JsonSchema)['properties']) {
    yield* walk(schema['items'] as JsonSchema, `${path}[]`, (value) => build([value]), without, needs);
  } else {
    yield { path, specs: valuesOf(schema).map(build), without };
  }
}

/** Values that the schema accepts, apart from its CEL rules. */
function valuesOf(schema: JsonSchema): unknown[] {
  if (Array.isArray(schema['enum'])) return schema['enum'];
  if (schema['x-kubernetes-int-or-string']) return [3, ...textsOf(schema)];
  if (schema['x-kubernetes-preserve-unknown-fields']) return [{ ebpf: { batch_length: 7 } }];
  switch (schema['type']) {
    case 'boolean':
      return [true, false];
    case 'integer':
    case 'number': {
      const [least, most] = [Number(schema['minimum'] ?? 0), Number(schema['maximum'] ?? 1e6)];
      return [...new Set([3, least, most, Math.floor((least + most) / 2)])].filter((n) => n >= least && n <= most);
    }
    case 'array':
      return valuesOf(schema['items'] as JsonSchema).map((value) => [value]);
    case 'object':
      if (typeof schema['additionalProperties'] === 'object') {
        return valuesOf(schema['additionalProperties'] as JsonSchema).map((value) => ({ app: value }));
      }
      return [Object.fromEntries(required(schema).map(([name, member]) => [name, valuesOf(member)[0]]))];
    default:
      return textsOf(schema);
  }
}

function textsOf(schema: JsonSchema): string[] {
  const pattern = typeof schema['pattern'] === 'string' ? new RegExp(schema['pattern'], 'u') : /^/u;
  return texts.filter((text) => pattern.test(text));
}

function required(schema: JsonSchema): [string, JsonSchema][] {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  return ((schema['required'] ?? []) as string[]).map((name) => [name, properties[name]!]);
}
