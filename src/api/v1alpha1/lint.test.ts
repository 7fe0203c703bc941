import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { customResourceDefinition, type JsonSchema } from '../schema/crd.ts';
import { schemasOf } from '../../testing/schema-walk.ts';
import { kinds } from './index.ts';

/** Rules for the API as a whole. A mistake here would last for years, so every field is checked. */

const all = kinds.flatMap((kind) =>
  [...schemasOf(kind)].map(({ path, schema }) => ({
    path: `${kind.resource.kind}${path}`,
    name: path.split('.').at(-1) ?? '',
    schema,
  })),
);
const ofType = (type: string) => all.filter(({ schema }) => schema['type'] === type);
const pathsOf = (list: { path: string }[]) => list.map(({ path }) => path);
const isChoice = (schema: JsonSchema) => Array.isArray(schema['enum']);
const isEnvelope = (path: string) => /^[A-Za-z]+(\.apiVersion|\.kind|\.metadata)?$/.test(path);

/** The only boolean fields, as the API reference lists them. Every other choice of two is an enum. */
const switches = new Set([
  'parentBased',
  'keepErrors',
  'suspend',
  'containersOnly',
  'enabled',
  'acknowledgeCiliumConflict',
  'dropExternal',
  'dropClientAddress',
  'pauseOnFailure',
  'paused',
  'create',
  'podDisruptionBudget',
  'trustGitOpsState',
]);

describe('every kind', () => {
  test.each(kinds.map((kind) => [`${kind.resource.group}_${kind.resource.plural}.yaml`, kind] as const))(
    'is the same in the code as in the CRD file %s',
    (file, kind) => {
      const text = readFileSync(join(import.meta.dirname, '../../../crds', file), 'utf8');
      expect(parse(text)).toEqual(customResourceDefinition(kind));
    },
  );

  // The rules below list the fields that break them. An empty list proves something only if fields were looked at.
  test.each([
    ['string', 200],
    ['integer', 40],
    ['boolean', 10],
    ['array', 30],
    ['object', 50],
  ])('has many fields of type %s for the rules to check', (type, number) => {
    expect(ofType(type).length).toBeGreaterThan(number);
  });

  test('has maps and choices for the rules to check', () => {
    const maps = all.filter(({ schema }) => schema['additionalProperties'] !== undefined);
    expect([maps.length > 5, all.filter(({ schema }) => isChoice(schema)).length > 20]).toEqual([true, true]);
  });

  test('has no fractions: ratios are strings, amounts are whole numbers', () => {
    expect(pathsOf(ofType('number'))).toEqual([]);
  });

  test('has no member named phase or state: conditions report that', () => {
    expect(pathsOf(all.filter(({ name }) => /^(phase|state)$/i.test(name)))).toEqual([]);
  });

  test('has booleans only where the API reference names them', () => {
    expect(pathsOf(ofType('boolean').filter(({ name }) => !switches.has(name)))).toEqual([]);
  });

  test('bounds every list', () => {
    expect(pathsOf(ofType('array').filter(({ schema }) => schema['maxItems'] === undefined))).toEqual([]);
  });

  test('states for every list how it is merged', () => {
    expect(pathsOf(ofType('array').filter(({ schema }) => !schema['x-kubernetes-list-type']))).toEqual([]);
  });

  test('bounds every string', () => {
    const free = ofType('string').filter(
      ({ path, schema }) => !isChoice(schema) && !isEnvelope(path) && !schema['maxLength'],
    );
    expect(pathsOf(free)).toEqual([]);
  });

  test('bounds every number of a spec', () => {
    const free = ofType('integer').filter(
      ({ path, schema }) =>
        path.includes('.spec') && (schema['minimum'] === undefined || schema['maximum'] === undefined),
    );
    expect(pathsOf(free)).toEqual([]);
  });

  test('bounds every number that may also be a text from below', () => {
    const either = all.filter(({ schema }) => schema['x-kubernetes-int-or-string'] === true);
    expect(either.length).toBeGreaterThan(4);
    expect(pathsOf(either.filter(({ schema }) => schema['minimum'] === undefined))).toEqual([]);
  });

  test('bounds every map', () => {
    expect(
      pathsOf(all.filter(({ schema }) => schema['additionalProperties'] !== undefined && !schema['maxProperties'])),
    ).toEqual([]);
  });

  test('explains every field in a sentence', () => {
    const mute = all.filter(
      ({ path, schema }) => !isEnvelope(path) && !/^[A-Z].*[.]$/s.test(String(schema['description'] ?? '')),
    );
    expect(pathsOf(mute)).toEqual([]);
  });

  test('writes the words of a choice in CamelCase, except those that another system defines', () => {
    const given = /(\.provider|\.permissions\{\})$/;
    const odd = all.filter(
      ({ path, schema }) =>
        isChoice(schema) &&
        !given.test(path) &&
        (schema['enum'] as string[]).some((word) => !/^[A-Z][A-Za-z0-9]*$/.test(word)),
    );
    expect(pathsOf(odd)).toEqual([]);
  });

  test('is structural: uses no keyword that the API server cannot prune or convert', () => {
    const keywords = ['$ref', 'oneOf', 'allOf', 'not', 'patternProperties', 'const', 'definitions'];
    const loose = all.filter(
      ({ schema }) => keywords.some((keyword) => keyword in schema) || schema['additionalProperties'] === false,
    );
    expect(pathsOf(loose)).toEqual([]);
    const union = all.filter(({ schema }) => 'anyOf' in schema && schema['x-kubernetes-int-or-string'] !== true);
    expect(pathsOf(union)).toEqual([]);
  });

  test('says what to do in the message of every rule', () => {
    const rules = all.flatMap(({ path, schema }) =>
      ((schema['x-kubernetes-validations'] ?? []) as { rule: string; message: string }[]).map((r) => ({ path, ...r })),
    );
    expect(rules.length).toBeGreaterThan(20);
    for (const { path, rule, message } of rules) {
      expect({ path, message }).toEqual({ path, message: expect.stringMatching(/^.{15,200}$/s) as string });
      expect(rule).not.toMatch(/isCIDR|\bip\(/);
    }
  });

  test('has no default for a field that a policy can default or override: a field is there only if it was set', () => {
    const traffic = all.filter(({ path }) => !path.startsWith('MinterDeployment'));
    const specs = traffic.filter(({ path }) => path.includes('.spec'));
    expect(pathsOf(specs.filter(({ schema }) => 'default' in schema))).toEqual(['TrafficMonitor.spec.mode']);
  });

  test('begins with observedGeneration -1, so that tools wait for the first reconcile', () => {
    const statuses = all.filter(({ path }) => /^[A-Za-z]+\.status$/.test(path));
    expect(statuses.map(({ schema }) => schema['default'])).toEqual(kinds.map(() => ({ observedGeneration: -1 })));
    expect(all.filter(({ path, schema }) => path.includes('.status.') && 'default' in schema)).toEqual([]);
  });
});
