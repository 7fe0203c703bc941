import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { aMonitor, aPolicy, aWorld } from '../../../testing/capture/world.ts';
import { faultText, readDocuments } from './documents.ts';
import { objectFaults } from './judge.ts';

describe('files', () => {
  const environment = aWorld().environment;
  const faultsOf = (yaml: string): string[] => {
    const { objects, faults } = readDocuments([{ file: 'm.yaml', text: yaml }], 'shop');
    return [...faults, ...objects.flatMap((o) => objectFaults(o, { policies: [], environment }))].map(faultText);
  };
  const checkout = { selector: { matchLabels: { app: 'checkout' } }, ports: [{ port: 8080 }] };
  const of = (spec: string, kind = 'TrafficMonitor'): string =>
    `apiVersion: svc.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: m}\nspec: ${spec}\n`;

  test.each([
    ['a YAML error with line and column', 'a: [', /^m.yaml document 1: line 1, column \d+: /],
    ['an alias without its anchor', of('*a'), /^m.yaml document 1: Unresolved alias .*: a$/],
    ['a merge of what is no map', of('{<<: 1}'), /^m.yaml document 1: Merge sources must be maps/],
    ['a document that is not an object', '- 1', /^m.yaml document 1: is no object$/],
    ['a missing kind', 'apiVersion: v1', /^m.yaml document 1: kind: is missing$/],
    ['a missing name', 'apiVersion: svc.dev/v1alpha1\nkind: TrafficMonitor', /document 1: metadata.name: is missing$/],
    ['another version', of('{}').replace('v1alpha1', 'v1'), /apiVersion: is svc.dev\/v1; served is svc.dev\/v1alpha1$/],
    ['a missing spec', of('').trimEnd(), /TrafficMonitor shop\/m: spec: is required$/],
    [
      'an unknown field, with what may be meant',
      of('{selector: {}, port: []}'),
      /spec.port: is unknown; is ports meant\?$/,
    ],
    ['a wrong type', of('{selector: {}, ports: 8080}'), /spec.ports: must be a list, is 8080$/],
    [
      'a value out of range',
      of('{ports: [{port: 8080}, {port: 70000}]}'),
      /spec.ports\[1\].port: 70000 is more than 65535$/,
    ],
    [
      'a number out of range where a text may stand too',
      of('{rollout: {maxUnavailable: 0}}', 'ClusterTrafficPolicy'),
      /spec.rollout.maxUnavailable: 0 is less than 1$/,
    ],
    [
      'a word that is not allowed',
      of('{selector: {}, mode: Kapture}'),
      /spec.mode: "Kapture" is none of Capture, Exclude$/,
    ],
    ['a malformed string', of('{selector: {}, sampling: {ratio: "2"}}'), /spec.sampling.ratio: "2" does not match/],
    [
      'a number that is not whole',
      of('{priority: high}', 'ClusterTrafficPolicy'),
      /spec.priority: must be a whole number, is "high"$/,
    ],
    [
      'a spec that the controller refuses',
      of('{selector: {matchLabels: {app: "*"}}}'),
      /TrafficMonitor shop\/m: .*spec.selector/,
    ],
  ])('are refused for %s', (_what, yaml, expected) => {
    const [first] = faultsOf(yaml);
    expect(first).toMatch(expected);
  });

  test('may hold several documents and lists, and objects of other kinds', () => {
    const list = stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: [aMonitor('shop/checkout', checkout), aPolicy('default', {})],
    });
    const other = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n';
    const found = readDocuments([{ file: 'a', text: `${list}---\n---\n${other}---\n${of('{selector: {}}')}` }], 'shop');
    expect(found.objects.map(({ document, object }) => [document, object.kind, object.metadata.namespace])).toEqual([
      [1, 'TrafficMonitor', 'shop'],
      [1, 'ClusterTrafficPolicy', undefined],
      [4, 'TrafficMonitor', 'shop'],
    ]);
    expect(found).toMatchObject({ others: 1, faults: [] });
  });

  test('are read by the rules of kubectl: merge keys, booleans and numbers', () => {
    const read = (yaml: string): unknown =>
      readDocuments([{ file: 'a', text: of(yaml) }], 'shop').objects[0]!.object['spec'];
    expect(read('{a: &a {x: 1, w: 2}, b: {<<: *a, x: 3}, c: {<<: [*a, {z: 4}]}}')).toEqual({
      a: { x: 1, w: 2 },
      b: { x: 3, w: 2 },
      c: { x: 1, w: 2, z: 4 },
    });
    expect(read('[yes, Yes, YES, on, On, ON, y, Y, true, True]')).toEqual(Array.from({ length: 10 }, () => true));
    expect(read('[no, No, NO, off, Off, OFF, n, N, false, False]')).toEqual(Array.from({ length: 10 }, () => false));
    expect(read('{on: 1, n: 2}')).toEqual({ true: 1, false: 2 });
    expect(read('[yES, "yes", \'n\', !!str no, yesterday, 1:30, 2026-06-01, 0x_, 0z1]')).toEqual([
      'yES',
      'yes',
      'n',
      'no',
      'yesterday',
      '1:30',
      '2026-06-01',
      '0x_',
      '0z1',
    ]);
    expect(read('[50_000, 0x1F90, 010, -010, 0o10, +0b101, 089, 0, 1_, 1.5, 1e3]')).toEqual([
      50_000, 8080, 8, -8, 8, 5, 89, 0, 1, 1.5, 1000,
    ]);
  });

  test('that are valid have no fault', () => {
    expect(
      faultsOf(
        of(
          '{capture: {mode: ByPort, ports: [{port: 80}]}, limits: {onLimit: Drop}, rollout: {maxUnavailable: "10%"}}',
          'ClusterTrafficPolicy',
        ),
      ),
    ).toEqual([]);
  });

  test('from the golden cases of src/capture are accepted, except those that are wrong on purpose', () => {
    const folder = join(import.meta.dirname, '../../../capture/testdata/cases');
    const cases = readdirSync(folder);
    expect(cases.length).toBeGreaterThan(39);
    const faults = cases.flatMap((name) => {
      const text = readFileSync(join(folder, name), 'utf8').replaceAll(/^apiVersion: .*\n/gm, '');
      const { objects, faults: unread } = readDocuments(
        [{ file: name, text: text.replaceAll(/^kind:/gm, 'apiVersion: svc.dev/v1alpha1\nkind:') }],
        'shop',
      );
      expect(objects).not.toHaveLength(0);
      const found = [
        ...unread,
        ...objects.flatMap((o) =>
          objectFaults(o, { policies: [], environment: { ...environment, allowExtraConfig: true } }),
        ),
      ];
      return found.map((fault) => faultText(fault).replace(/ document \d+, \w+ /, ' '));
    });
    expect(faults.map((fault) => fault.split(': ')[0])).toEqual([
      'exponential-histograms-in-policy-buckets.yaml bad-bounds',
      'extra-config-refused.yaml misspelt',
      'extra-config-refused.yaml ours',
      'extra-config-refused.yaml too-small-a-queue',
      'hostile-strings.yaml shop/a',
      'hostile-strings.yaml shop/b',
      'hostile-strings.yaml shop/c',
      'hostile-strings.yaml p',
    ]);
  });
});
