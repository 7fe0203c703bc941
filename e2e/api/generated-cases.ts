import type { KindDefinition } from '../../src/api/schema/kind.ts';
import { objectSchema, type JsonSchema } from '../../src/api/schema/crd.ts';
import { merge, type Case } from './case.ts';

/**
 * Test documents made from the schema itself. For every field of a spec there is a value just outside its bounds
 * (refused; the refusal names the field) and one just inside (accepted), a value of another type, and a misspelt field
 * beside it. For patterns, and for rules between fields, the cases are in the hand-written tables beside this file.
 */
export function generatedCases(kind: KindDefinition): Case[] {
  const spec = (objectSchema(kind)['properties'] as Record<string, JsonSchema>)['spec']!;
  return [...leaves(spec, 'spec', (value) => value as object)].flatMap(({ path, schema, wrap }) => [
    ...misspelt(path, schema, wrap),
    ...outside(path, schema, wrap),
    ...inside(path, schema, wrap),
  ]);
}

interface Leaf {
  /** The path as the API server writes it. */
  path: string;
  schema: JsonSchema;
  /** Makes a spec in which the field has this value and its parents have their required members. */
  wrap: (value: unknown) => object;
}

function* leaves(schema: JsonSchema, path: string, wrap: Leaf['wrap']): Generator<Leaf> {
  yield { path, schema, wrap };
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  for (const [name, member] of Object.entries(properties)) {
    // The top level is merged over a base document; deeper objects must bring their own required members.
    const rest = path === 'spec' ? {} : sample(schema);
    yield* leaves(member, `${path}.${name}`, (value) => wrap(merge(rest, { [name]: value })));
  }
  if (schema['items']) yield* leaves(schema['items'] as JsonSchema, `${path}[0]`, (value) => wrap([value]));
  const values = schema['additionalProperties'];
  if (typeof values === 'object') yield* leaves(values as JsonSchema, `${path}.key`, (value) => wrap({ key: value }));
}

function misspelt(path: string, schema: JsonSchema, wrap: Leaf['wrap']): Case[] {
  if (!schema['properties']) return [];
  const spec = wrap(merge(sample(schema), { nonsense: 1 }));
  return [refusal(`an unknown field in ${path}`, spec, `unknown field "${literally(path)}\\.nonsense"`)];
}

function outside(path: string, schema: JsonSchema, wrap: Leaf['wrap']): Case[] {
  const { type, minimum, maximum, maxLength, minLength, maxItems, minItems, maxProperties } = schema as {
    [keyword: string]: number | undefined;
  } & { type?: string };
  const cases: Case[] = [];
  const add = (what: string, value: unknown, says: string): void => {
    cases.push(refusal(`${path} ${what}`, wrap(value), says, path));
  };
  const isInt = schema['x-kubernetes-int-or-string'] === true;
  if (Array.isArray(schema['enum'])) add('of another word', 'Nonsense', 'Unsupported value: "Nonsense"');
  if (type === 'integer') {
    if (minimum !== undefined) add(`below ${minimum}`, minimum - 1, 'greater than or equal to');
    if (maximum !== undefined) add(`above ${maximum}`, maximum + 1, 'less than or equal to');
    add('as text', 'one', 'must be of type integer');
    add('with a fraction', 1.5, 'must be of type integer');
  }
  if (type === 'boolean') add('as text', 'true', 'must be of type boolean');
  if (type === 'string' && !isInt) {
    add('as a number', 7, 'must be of type string');
    if (maxLength !== undefined && !Array.isArray(schema['enum'])) {
      add(`of ${maxLength + 1} characters`, 'x'.repeat(maxLength + 1), 'Too long|may not be more than');
    }
    if (minLength !== undefined && minLength > 0) add('empty', '', 'at least \\d+ chars|should match');
  }
  if (type === 'array') {
    const item = sample(schema['items'] as JsonSchema);
    if (maxItems !== undefined) {
      add(
        `of ${maxItems + 1}`,
        Array.from({ length: maxItems + 1 }, () => item),
        'Too many|at most \\d+ items',
      );
    }
    if (minItems !== undefined) add('of none', [], 'at least \\d+ items');
    add('as an object', {}, 'must be of type array');
  }
  if (type === 'object' && maxProperties !== undefined) {
    const value = sample(schema['additionalProperties'] as JsonSchema);
    const many = Object.fromEntries(Array.from({ length: maxProperties + 1 }, (_, i) => [`k${i}`, value]));
    add(`of ${maxProperties + 1} entries`, many, 'Too many|at most \\d+ (items|properties)');
  }
  if (type === 'object' && path !== 'spec') add('as text', 'x', 'must be of type object');
  return cases;
}

/** Fields whose other values need further fields, which a schema does not say; the hand-written tables have them. */
const needsCompany =
  /\.(network\.source|capture\.mode|spec\.mode|autoscaling\.metrics\[0\]\.(preset|expr)|operator)$|Selector\.|selector\.|endPort$|^spec\.mode$/;

function inside(path: string, schema: JsonSchema, wrap: Leaf['wrap']): Case[] {
  if (needsCompany.test(path)) return [];
  const values: unknown[] = [];
  if (Array.isArray(schema['enum'])) values.push(...(schema['enum'] as unknown[]));
  else if (schema['type'] === 'integer') {
    for (const bound of ['minimum', 'maximum']) if (schema[bound] !== undefined) values.push(schema[bound]);
  } else if (schema['type'] === 'boolean') values.push(true, false);
  return values.map((value) => ({ does: `accepts ${path} ${JSON.stringify(value)}`, spec: wrap(value) }));
}

function refusal(what: string, spec: object, says: string, path?: string): Case {
  const where = path === undefined ? '' : `${literally(path)}.*`;
  return { does: `refuses ${what}`, spec, says: new RegExp(`${where}(${says})`, 's') };
}

const literally = (path: string): string => path.replaceAll(/[[\].]/g, '\\$&');

/** Strings of which one satisfies each pattern. */
const texts = [
  'a',
  '10s',
  '1m',
  '0.5',
  '/a',
  'https://a.example',
  'pods',
  'main',
  '10.0.0.0/8',
  'agent@proj.iam.gserviceaccount.com',
  'a:80',
  '2Gi',
  '10%',
];

/** The smallest value that a schema accepts, as far as the schema says. */
function sample(schema: JsonSchema): unknown {
  if ('default' in schema) return schema['default'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  if (schema['x-kubernetes-int-or-string'] === true) return schema['minimum'] ?? 1;
  switch (schema['type']) {
    case 'integer':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return schema['minItems'] ? [sample(schema['items'] as JsonSchema)] : [];
    case 'object': {
      const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
      const required = (schema['required'] ?? []) as string[];
      const members = required.map((name) => [name, bySense[name] ?? sample(properties[name]!)]);
      const filled = Object.fromEntries(members) as Record<string, unknown>;
      if (schema['minProperties']) filled['key'] = sample(schema['additionalProperties'] as JsonSchema);
      return filled;
    }
    default: {
      const pattern = new RegExp(typeof schema['pattern'] === 'string' ? schema['pattern'] : '');
      return texts.find((text) => pattern.test(text)) ?? 'a';
    }
  }
}

/** Values for members that have CEL rules, because `sample` does not read the rules. */
const bySense: Readonly<Record<string, unknown>> = {
  keyVersion: 'projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1',
  endpoint: 'https://a.example',
  cidr: '10.0.0.0/8',
  emails: ['agent@proj.iam.gserviceaccount.com'],
  permissions: { contents: 'read' },
  podSelector: { matchLabels: { app: 'x' } },
};
