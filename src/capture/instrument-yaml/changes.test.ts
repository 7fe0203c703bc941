import fc from 'fast-check';
import type { TrafficMonitor } from '../../api/v1alpha1/index.ts';
import { aMonitor, aNamespace, aPolicy, aWorld } from '../../testing/capture/world.ts';
import { compile } from '../compile/compile.ts';
import { fileChanges } from './changes.ts';

const shop = aMonitor('shop/m', { selector: {}, ports: [{ port: 7000 }] });
const pay = aMonitor('pay/m', { selector: {}, http: { routes: ['/a/{id}'] } });
const file = (monitors: TrafficMonitor[], policy = {}): string =>
  compile(aWorld({ monitors, policies: [aPolicy('p', policy)] })).nodes.get('node-1')!.config.instrument.yaml;
const changes = (a: string, b: string): [boolean, string[]] => {
  const found = fileChanges(a, b);
  return [found.general, [...found.namespaces].sort()];
};
const edited = (spec: object): TrafficMonitor => aMonitor('shop/m', { selector: {}, ports: [{ port: 7000 }], ...spec });

test.each<[string, TrafficMonitor[], boolean, string[]]>([
  ['nothing', [shop, pay], false, []],
  ['a port', [edited({ ports: [{ port: 7001 }] }), pay], false, ['shop']],
  ['a deleted monitor', [pay], false, ['shop']],
  ['a new monitor', [shop, pay, aMonitor('shop/n', { workloads: [{ kind: 'Pod', name: 'a' }] })], false, ['shop']],
  ['a capture that becomes an exclusion', [edited({ mode: 'Exclude' }), pay], false, ['shop']],
  ['one monitor in each of two namespaces', [edited({ sampling: { ratio: '0.1' } })], false, ['pay', 'shop']],
  ['a setting that affects the whole node', [edited({ metrics: { families: ['TCPStats'] } }), pay], true, []],
])('a change belongs to its namespaces, or is general: %s', (_what, monitors, general, namespaces) => {
  expect(changes(file([shop, pay]), file(monitors))).toEqual([general, namespaces]);
});

test('if two monitors of one namespace swap their ranks, only that namespace changes', () => {
  const two = (priority: number): string =>
    file([edited({ sampling: { ratio: '0.1' } }), aMonitor('shop/n', { selector: {}, priority })]);
  expect(changes(two(1), two(-1))).toEqual([false, ['shop']]);
});

test('a setting of a policy is a general change; an exclusion of one namespace is not', () => {
  expect(changes(file([shop]), file([shop], { instrument: { exportInterval: '5s' } }))).toEqual([true, []]);
  expect(changes(file([]), file([], { exclusions: [{ namespaces: ['shop'] }] }))[0]).toBe(false);
  expect(changes(file([]), file([], { exclusions: [{ namespaces: ['sh*'] }] }))[0]).toBe(true);
});

describe('entries that list several namespaces', () => {
  const critical = { tier: 'critical' };
  /** The file where policies of critical namespaces have ports and exclusions of their own. */
  const divided = (namespaces: Record<string, object>, port = 7000, exclusions = [{ executables: ['a'] }]): string => {
    const spec = { namespaceSelector: { matchLabels: critical }, capture: { ports: [{ port }] }, exclusions };
    const all = Object.entries(namespaces).map(([name, labels]) => aNamespace(name, labels as Record<string, string>));
    const policies = [aPolicy('all', { exclusions: [{ executables: ['z'] }] }), aPolicy('critical', spec)];
    return compile(aWorld({ policies, namespaces: all })).nodes.get('node-1')!.config.instrument.yaml;
  };
  const before = divided({ b: critical, c: {}, d: critical, e: {} });

  test.each<[string, Record<string, object>, string[]]>([
    ['a new one', { b: critical, c: {}, d: critical, e: {}, new: {} }, ['new']],
    [
      'a new one that the policy selects, and that comes first',
      { a: critical, b: critical, c: {}, d: critical, e: {} },
      ['a'],
    ],
    ['one that goes', { b: critical, c: {}, d: critical }, ['e']],
    ['the last but one of a list', { b: critical, c: {}, e: {} }, ['d']],
    ['one that another policy selects by now', { b: {}, c: {}, d: critical, e: {} }, ['b']],
  ])('concern each of them: %s', (_what, namespaces, expected) => {
    expect(before).toContain('k8s_namespace: "{b,d}"');
    expect(changes(before, divided(namespaces))).toEqual([false, expected]);
  });

  test('concern all of them when the rest of the entry changes', () => {
    expect(changes(before, divided({ b: critical, c: {}, d: critical, e: {} }, 7001))).toEqual([false, ['b', 'd']]);
  });

  test('concern none when only their order changes, and everyone when a pattern stands among them', () => {
    const file = (first: string, second: string): string =>
      `discovery:\n  instrument:\n    - k8s_namespace: ${first}\n      a: 1\n    - k8s_namespace: ${second}\n      a: 1\n`;
    expect(changes(file('"{a,b}"', 'c'), file('c', '"{b,a}"'))).toEqual([false, []]);
    expect(changes(file('"{a,b}"', 'c'), file('"{a,b-*}"', 'c'))).toEqual([true, ['a', 'b', 'c']]);
  });

  test('their place among general entries counts', () => {
    const file = (...entries: string[]): string =>
      `discovery:\n  instrument:\n${entries.map((line) => `    - ${line}\n      a: 1\n`).join('')}`;
    const [own, general] = ['k8s_namespace: "{a,b}"', 'exe_path: "*"'];
    expect(changes(file(own, general), file(general, own))).toEqual([false, ['a', 'b']]);
    expect(changes(file(general), file(general, general))).toEqual([true, []]);
  });
});

test('files that differ never count as equal', () => {
  const port = fc.integer({ min: 1, max: 3 });
  const monitor = fc
    .record({ ns: fc.constantFrom('shop', 'pay'), name: fc.constantFrom('a', 'b'), port, priority: port })
    .map((m) => aMonitor(`${m.ns}/${m.name}`, { selector: {}, ports: [{ port: m.port }], priority: m.priority }));
  const monitors = fc.uniqueArray(monitor, {
    maxLength: 4,
    selector: (m) => `${m.metadata.namespace}/${m.metadata.name}`,
  });
  fc.assert(
    fc.property(monitors, monitors, (x, y) => {
      const [a, b] = [file(x), file(y)];
      const found = fileChanges(a, b);
      expect(found.general || found.namespaces.size > 0).toBe(a !== b);
    }),
    { numRuns: 100 },
  );
});
