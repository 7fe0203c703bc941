import fc from 'fast-check';
import type { ClusterTrafficPolicySpec, TrafficMonitor, TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { aMonitor, aNamespace, aPod, aPolicy, aWorld } from '../../testing/capture/world.ts';
import { fileChanges } from '../instrument-yaml/changes.ts';
import { compile, Compiler } from './compile.ts';
import type { CompileInput, CompileResult } from './types.ts';

const copyOf = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Every part of a result that a caller can observe. */
function visible(result: CompileResult): unknown {
  const sorted = <V>(map: ReadonlyMap<string, V>): [string, V][] => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [
    [...result.nodes].map(([name, n]) => [name, n.hash, n.json(), n.config, n.yamlHash, n.rollout]),
    sorted(result.monitors),
    sorted(result.policies),
  ];
}

const specs: TrafficMonitorSpec[] = [
  { mode: 'Capture', selector: { matchLabels: { app: 'checkout' } } },
  {
    mode: 'Capture',
    selector: { matchLabels: { app: 'checkout' } },
    sampling: { ratio: '0.1' },
    ports: [{ port: 80 }],
  },
  { mode: 'Capture', selector: {}, http: { routes: ['/a/{id}'] }, priority: 3, limits: { maxSeries: 99_999 } },
  { mode: 'Capture', selector: {}, metrics: { interval: '30s', families: ['TCPStats'] }, suspend: true },
  { mode: 'Capture', workloads: [{ kind: 'Pod', name: 'cart*' }], metrics: { interval: '5s', families: ['TCPStats'] } },
  { mode: 'Exclude', selector: { matchLabels: { app: 'cart' } } },
  { mode: 'Capture', selector: { matchLabels: { app: '*' } } },
  { mode: 'Capture', selector: {}, http: { headers: { capture: ['x-team'] } } },
];
const policySpecs: ClusterTrafficPolicySpec[] = [
  { exclusions: [{ podLabels: { app: 'cart' } }] },
  { paused: true },
  { nodeSelector: { matchLabels: { pool: 'edge' } }, overrides: { sampling: { ratio: '0.5' } } },
  { namespaceSelector: { matchLabels: { tier: 'critical' } }, capture: { mode: 'AllowList' } },
  { monitorNamespaces: { matchLabels: { tier: 'critical' } } },
  { limits: { maxMonitorsPerNamespace: 2, maxSeriesPerMonitor: 50 }, redaction: { headers: { allow: ['x-team'] } } },
  { defaults: { protocols: ['HTTP'] }, rollout: { canaryNodes: { matchLabels: { pool: 'edge' } } }, priority: 4 },
  { instrument: { exportInterval: '5s', extraConfig: { a: 1 } } },
];
const small = fc.nat({ max: 7 });
/**
 * One change of the compiler's input. Objects that the change does not touch may come as they were or as equal copies.
 */
const edit = fc.record({
  what: fc.constantFrom('monitor', 'monitor', 'policy', 'pod', 'labels', 'node', 'status', 'environment'),
  which: fc.nat({ max: 4 }),
  to: fc.option(small, { nil: null, freq: 4 }),
  anew: fc.boolean(),
});

function applied(
  world: CompileInput,
  { what, which, to, anew }: typeof edit extends fc.Arbitrary<infer E> ? E : never,
) {
  const replaced = <T>(list: readonly T[], same: (item: T) => boolean, item: T | null): T[] => [
    ...list.filter((i) => !same(i)),
    ...(item === null ? [] : [item]),
  ];
  const next = { ...world };
  const namespace = which % 2 === 0 ? 'shop' : 'pay';
  if (what === 'monitor') {
    const generation = 2 + world.monitors.length;
    const item = to === null ? null : aMonitor(`${namespace}/m${which}`, specs[to]!, { generation });
    next.monitors = replaced(world.monitors, (m) => m.metadata.name === `m${which}`, item);
  } else if (what === 'policy') {
    const item = to === null ? null : aPolicy(`p${which}`, policySpecs[to]!);
    next.policies = replaced(world.policies, (p) => p.metadata.name === `p${which}`, item);
  } else if (what === 'pod') {
    const labels = { app: (to ?? 0) % 2 === 0 ? 'checkout' : 'cart' };
    const item = to === null ? null : aPod(`${namespace}/cart-${which}`, `node-${1 + (to % 3)}`, { labels });
    next.pods = replaced(world.pods, (p) => p.name === `cart-${which}`, item);
    next.departed = world.pods.filter((p) => !next.pods.includes(p));
  } else if (what === 'labels') {
    const item = aNamespace(namespace, (to ?? 1) % 2 === 0 ? {} : { tier: 'critical' });
    next.namespaces = replaced(world.namespaces, (n) => n.name === namespace, item);
  } else if (what === 'node') {
    const name = `node-${1 + which}`;
    const item = to === null ? null : { name, labels: { pool: to % 2 === 0 ? 'core' : 'edge' } };
    next.nodes = replaced(world.nodes, (n) => n.name === name, item);
  } else if (what === 'environment') {
    const instrumentVersion = (to ?? 0) % 2 === 0 ? 'v0.10.0' : 'v0.9.0';
    next.environment = { instrumentVersion, ports: which === 0 ? '80' : '80,443', allowExtraConfig: which === 1 };
  } else {
    const status = { lastAcceptedSpec: specs[to ?? 0]! };
    next.monitors = world.monitors.map((m) => (m.metadata.name === `m${which}` ? { ...m, status } : m));
  }
  return anew ? copyOf(next) : next;
}

test('after any edits an incremental compile gives the same as one from scratch', () => {
  const reached = { refusedMonitors: 0, refusedPolicies: 0, conflicts: 0, matched: 0, excluded: 0, kept: 0 };
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 12 }), (edits) => {
      const compiler = new Compiler();
      // The last policy is refused: whether one is does not depend on the edits alone.
      let world: CompileInput = aWorld({
        policies: [aPolicy('p9', policySpecs[7]!)],
        monitors: [aMonitor('shop/m9', specs[4]!), aMonitor('shop/m7', specs[1]!), aMonitor('pay/m8', specs[2]!)],
      });
      let before = compiler.compile(world);
      for (const e of edits) {
        world = applied(world, e);
        const remembered = compiler.compile(world);
        expect(visible(remembered)).toEqual(visible(compile(world)));
        for (const [key, outcome] of remembered.monitors) {
          if (!outcome.accepted.ok) reached.refusedMonitors++;
          if (outcome.conflicts.length > 0) reached.conflicts++;
          if (outcome.matchedPods > 0) reached.matched++;
          if (outcome.excluded) reached.excluded++;
          if (outcome === before.monitors.get(key)) reached.kept++;
        }
        for (const { accepted } of remembered.policies.values()) if (!accepted.ok) reached.refusedPolicies++;
        before = remembered;
      }
    }),
    { numRuns: 60 },
  );
  expect(Object.entries(reached).filter(([, times]) => times === 0)).toEqual([]);
});

/** A copy of every object, as after a new list, with changes that a compile does not read. */
function relisted(world: CompileInput): CompileInput {
  const copy = copyOf(world);
  for (const { metadata } of [...copy.monitors, ...copy.policies]) {
    Object.assign(metadata, { resourceVersion: '7', annotations: { note: 'new' } });
  }
  return copy;
}

test('parts that an edit does not touch stay the same objects, also when every input comes as a copy', () => {
  const compiler = new Compiler();
  const many = (port: number): CompileInput =>
    aWorld({
      policies: [aPolicy('edge', { nodeSelector: { matchLabels: { pool: 'edge' } } })],
      monitors: [
        aMonitor('shop/a', { selector: {}, ports: [{ port }] }, { generation: port }),
        aMonitor('shop/b', { workloads: [{ kind: 'Pod', name: 'cart-1' }] }),
        aMonitor('pay/c', { selector: {} }),
      ],
    });
  const first = compiler.compile(many(1));
  const same = compiler.compile(relisted(many(1)));
  for (const [key, outcome] of first.monitors) expect(same.monitors.get(key)).toBe(outcome);
  expect(first.nodes.size).toBeGreaterThan(1);
  for (const [name, config] of first.nodes) expect(same.nodes.get(name)).toBe(config);
  const edited = compiler.compile(relisted(many(2)));
  expect(edited.monitors.get('shop/a')).not.toBe(first.monitors.get('shop/a'));
  expect(edited.monitors.get('shop/b')).toBe(first.monitors.get('shop/b'));
  expect(edited.monitors.get('pay/c')).toBe(first.monitors.get('pay/c'));
});

/** Ten monitors with a pod each in each of 200 namespaces; pod `p-<i>` runs on node `i % 100`. */
function largeWorld(): CompileInput {
  const [monitors, namespaces, nodes] = [2_000, 200, 100];
  return {
    ...aWorld(),
    namespaces: Array.from({ length: namespaces }, (_, i) => aNamespace(`team-${i}`)),
    monitors: Array.from({ length: monitors }, (_, i) => ownMonitor(i, 1)),
    nodes: Array.from({ length: nodes }, (_, i) => ({ name: `node-${i}`, labels: {} })),
    pods: Array.from({ length: monitors }, (_, i) =>
      aPod(`team-${i % namespaces}/p-${i}`, `node-${i % nodes}`, { labels: { app: `a${i}` } }),
    ),
  };
}

function ownMonitor(i: number, port: number): TrafficMonitor {
  const spec = { selector: { matchLabels: { app: `a${i}` } }, ports: [{ port }] };
  return aMonitor(`team-${i % 200}/m${i}`, spec, { generation: port });
}

test('an edit of one monitor among 2,000 reads one namespace, and changes the rules of the nodes with its pods', () => {
  const world = largeWorld();
  const read = new Set<string>();
  const monitors = world.monitors.map((m): TrafficMonitor => {
    const spec = new Proxy(m.spec, {
      get: (target, member) => {
        read.add(m.metadata.namespace!);
        return Reflect.get(target, member) as unknown;
      },
    });
    return { ...m, spec };
  });
  const compiler = new Compiler();
  const before = compiler.compile({ ...world, monitors });
  expect(read.size).toBe(200);
  read.clear();
  const after = compiler.compile({ ...world, monitors: monitors.with(7, ownMonitor(7, 2)) });
  expect([...read]).toEqual(['team-7']);

  const outcomes = [...after.monitors].filter(([key, o]) => before.monitors.get(key) !== o).map(([key]) => key);
  expect(outcomes).toEqual(['team-7/m7']);
  const file = (result: CompileResult, node: string): string => result.nodes.get(node)!.config.instrument.yaml;
  const changes = fileChanges(file(before, 'node-0'), file(after, 'node-0'));
  expect(changes).toEqual({ general: false, namespaces: new Set(['team-7']) });
  const rules = (result: CompileResult, node: string) => result.nodes.get(node)!.config.monitors;
  const touched = [...after.nodes.keys()].filter((n) =>
    rules(before, n).some((rule, i) => rule !== rules(after, n)[i]),
  );
  expect(touched).toEqual(['node-7']);
  expect(after.nodes.get('node-7')!.config.generations['TrafficMonitor/team-7/m7@uid-m7']).toBe(2);
});

test('a pod that moves changes the configs of its two nodes and the outcome of its monitor, and nothing else', () => {
  const world = largeWorld();
  const compiler = new Compiler();
  const before = compiler.compile(world);
  const pods = world.pods.with(7, { ...world.pods[7]!, nodeName: 'node-9' });
  const after = compiler.compile({ ...world, pods });
  const changed = (list: 'nodes' | 'monitors'): string[] =>
    [...after[list].keys()].filter((key) => after[list].get(key) !== before[list].get(key));
  expect(changed('nodes')).toEqual(['node-7', 'node-9']);
  expect(changed('monitors')).toEqual(['team-7/m7']);
});
