import fc from 'fast-check';
import { parse } from 'yaml';
import type { ClusterTrafficPolicySpec, TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { anyText } from '../../testing/any-text.ts';
import { aMonitor, aNamespace, aPod, aPolicy, aWorld } from '../../testing/capture/world.ts';
import { validateInstrumentDocument } from '../instrument-yaml/validate.ts';
import { instrumentVersions } from '../instrument-yaml/version.ts';
import { compile } from './compile.ts';
import type { CompileInput } from './types.ts';

const word = fc.constantFrom('cart', 'checkout', 'x-1');
/** The name of a workload, or a glob. The name of a pod is such a word and a number, as in `cart-1`. */
const workload = fc.oneof(
  word,
  word.map((name) => `${name}-*`),
);
const ratio = fc.constantFrom('0', '0.1', '0.50', '1');
const ports = fc.array(
  fc
    .tuple(fc.integer({ min: 1, max: 65_000 }), fc.integer({ min: 0, max: 50 }))
    .map(([port, n]) => ({ port, endPort: port + n })),
  { minLength: 1, maxLength: 4 },
);
const some = <T>(arb: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arb, { nil: undefined });
/** The value without undefined members, as the API server returns it. */
const clean = <T extends object>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const settings = fc.record({
  protocols: some(fc.uniqueArray(fc.constantFrom('HTTP' as const, 'SQL' as const, 'DNS' as const), { minLength: 1 })),
  sampling: some(fc.record({ ratio: some(ratio), keepErrors: some(fc.boolean()) })),
  metrics: some(
    fc.record({ families: some(fc.constant(['HTTPServer', 'TCPStats'] as const)), interval: some(fc.constant('30s')) }),
  ),
  http: some(fc.record({ routes: some(fc.array(fc.constantFrom('/a', '/b/{id}', '/c/*'))) })),
  signals: some(fc.record({ spans: some(fc.constantFrom('Enabled' as const, 'Disabled' as const)) })),
});
const selector = fc.record({
  matchLabels: some(fc.dictionary(fc.constantFrom('app', 'app', 'a'), word, { maxKeys: 1 })),
});
const workloads = fc.array(
  fc.record({ kind: fc.constantFrom('Pod' as const, 'Deployment' as const), name: workload }),
  {
    minLength: 1,
    maxLength: 2,
  },
);
/** What a monitor selects: existing pods more often than not, and sometimes nothing, which is refused. */
const target = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ selector: {} }) },
  { weight: 4, arbitrary: fc.record({ selector }) },
  { weight: 3, arbitrary: fc.record({ workloads }) },
  { weight: 2, arbitrary: fc.record({ selector, workloads }) },
  { weight: 2, arbitrary: fc.constant({}) },
);
const monitorSpec = fc
  .record({
    mode: fc.constantFrom('Capture' as const, 'Capture' as const, 'Exclude' as const),
    target,
    ports: some(ports),
    priority: some(fc.integer({ min: -2, max: 2 })),
    suspend: some(fc.boolean()),
    rest: settings,
  })
  .map(
    ({ rest, target: selected, ...spec }) => clean({ ...spec, ...selected, ...rest }) as unknown as TrafficMonitorSpec,
  );
const policySpec = fc
  .record({
    priority: some(fc.integer({ min: -1, max: 1 })),
    namespaceSelector: some(fc.constantFrom({ matchLabels: { tier: 'critical' } }, {})),
    nodeSelector: some(fc.constant({ matchLabels: { pool: 'edge' } })),
    capture: some(
      fc.record({
        mode: some(fc.constantFrom('ByPort' as const, 'All' as const, 'AllowList' as const)),
        ports: some(ports),
      }),
    ),
    exclusions: some(
      fc.array(fc.record({ namespaces: some(fc.constant(['pay*'])), ports: some(ports) }), { maxLength: 2 }),
    ),
    defaults: some(settings),
    paused: some(fc.boolean()),
    network: some(fc.record({ enabled: some(fc.boolean()) })),
  })
  .map((spec) => clean(spec) as unknown as ClusterTrafficPolicySpec);

const worlds = fc
  .record({
    monitors: fc.array(fc.tuple(fc.constantFrom('shop', 'shop', 'pay'), monitorSpec), { minLength: 2, maxLength: 8 }),
    policies: fc.array(policySpec, { maxLength: 4 }),
    pods: fc.array(fc.tuple(fc.constantFrom('shop', 'shop', 'pay'), word, fc.constantFrom('node-1', 'node-3')), {
      minLength: 3,
      maxLength: 8,
    }),
  })
  .map(({ monitors, policies, pods }) =>
    aWorld({
      monitors: monitors.map(([ns, spec], i) => aMonitor(`${ns}/m${i}`, spec)),
      policies: policies.map((spec, i) => aPolicy(`p${i}`, spec)),
      pods: pods.map(([ns, app, node], i) => aPod(`${ns}/${app}-${i}`, node, { labels: { app } })),
    }),
  );

test('the same objects in any order give the same bytes and the same verdicts', () => {
  const shuffled = worlds.chain((world) =>
    fc
      .tuple(
        fc.shuffledSubarray([...world.monitors], { minLength: world.monitors.length }),
        fc.shuffledSubarray([...world.policies], { minLength: world.policies.length }),
        fc.shuffledSubarray([...world.pods], { minLength: world.pods.length }),
        fc.shuffledSubarray([...world.nodes], { minLength: world.nodes.length }),
        fc.shuffledSubarray([...world.namespaces], { minLength: world.namespaces.length }),
      )
      .map(([monitors, policies, pods, nodes, namespaces]): [CompileInput, CompileInput] => [
        world,
        { ...world, monitors, policies, pods, nodes, namespaces },
      ]),
  );
  const sorted = <V>(map: ReadonlyMap<string, V>): [string, V][] => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const reached = { byLabels: 0, byNames: 0, conflicts: 0, refused: 0 };
  fc.assert(
    fc.property(shuffled, ([a, b]) => {
      const [x, y] = [compile(a), compile(b)];
      const bytes = (r: typeof x): unknown => [...r.nodes].map(([name, n]) => [name, n.hash, n.json(), n.rollout]);
      expect(bytes(y)).toEqual(bytes(x));
      expect(sorted(y.monitors)).toEqual(sorted(x.monitors));
      expect(sorted(y.policies)).toEqual(sorted(x.policies));
      for (const { spec, metadata } of a.monitors) {
        const { matchedPods, conflicts, accepted } = x.monitors.get(`${metadata.namespace}/${metadata.name}`)!;
        if (matchedPods > 0 && 'app' in (spec.selector?.matchLabels ?? {})) reached.byLabels++;
        if (matchedPods > 0 && spec.workloads !== undefined) reached.byNames++;
        if (conflicts.length > 0) reached.conflicts++;
        if (!accepted.ok) reached.refused++;
      }
    }),
    { numRuns: 100 },
  );
  expect(Object.entries(reached).filter(([, times]) => times === 0)).toEqual([]);
});

test('each version of the instrument accepts every compiled file', () => {
  fc.assert(
    fc.property(worlds, fc.constantFrom(...instrumentVersions), (world, version) => {
      const result = compile({ ...world, environment: { ...world.environment, instrumentVersion: version } });
      for (const { config } of result.nodes.values()) {
        expect(validateInstrumentDocument(version, parse(config.instrument.yaml))).toEqual([]);
      }
    }),
    { numRuns: 60 },
  );
});

test('svc-system is excluded whatever the objects say', () => {
  fc.assert(
    fc.property(worlds, (world) => {
      for (const { config } of compile(world).nodes.values()) {
        const file = parse(config.instrument.yaml) as { discovery: { exclude_instrument: unknown[] } };
        expect(file.discovery.exclude_instrument[0]).toEqual({ k8s_namespace: 'svc-system' });
      }
    }),
    { numRuns: 30 },
  );
});

describe('hostile strings', () => {
  const hostile = fc.oneof(
    anyText({ maxLength: 40 }),
    fc.constantFrom(
      '${OTEL_EBPF_CONFIG_PATH}',
      '$(HOME)',
      '${env:A:-b}',
      '*',
      '**',
      '{a,b}',
      '{*}',
      '{,*}',
      '*,*',
      '[a-z]',
      '!x',
      'a\nb: c',
      'a"b',
      "a'b",
      'a: b',
      '- a',
      '# x',
      '&a',
      '*a',
      '%TAG',
      '\u0085',
      '\u2028',
      '\ud800',
      'null',
      'true',
      '~',
      '1e3',
      '0x1f',
      '__proto__',
      'constructor',
      ' a',
      'a ',
      '',
      '\\',
      'a,b',
      'a}',
      '|',
      '>',
      '?',
      '@a',
      '`a`',
      '\u0000',
      '\ufeff',
      '--- a',
      '...',
    ),
  );
  const plainWord = fc.constantFrom('app', 'tier', 'team');
  /** Whether the instrument would expand a part of the file before it parses the file. */
  const expands = (yaml: string): boolean => /\$[{(]/.test(yaml);
  const matchesEverything = (value: unknown): boolean =>
    typeof value === 'string' && /^[*?{},]*\*[*?{},]*$/.test(value) && !/[A-Za-z0-9]/.test(value);

  test('in a label selector are refused, or select exactly that value', () => {
    const outcomes = new Set<boolean>();
    fc.assert(
      fc.property(fc.oneof(hostile, plainWord), fc.oneof(hostile, plainWord), (key, value) => {
        const matchLabels = Object.fromEntries([[key, value]]);
        const result = compile(aWorld({ monitors: [aMonitor('shop/m', { selector: { matchLabels } })] }));
        const { yaml } = result.nodes.get('node-1')!.config.instrument;
        expect(expands(yaml)).toBe(false);
        const file = parse(yaml) as { discovery: { instrument: { k8s_pod_labels?: Record<string, string> }[] } };
        const entry = file.discovery.instrument[1];
        outcomes.add(result.monitors.get('shop/m')!.accepted.ok);
        if (!result.monitors.get('shop/m')!.accepted.ok) expect(entry).toBeUndefined();
        else expect(entry).toMatchObject({ k8s_namespace: 'shop', k8s_pod_labels: { [key]: value } });
      }),
      { numRuns: 200 },
    );
    expect(outcomes).toEqual(new Set([true, false]));
  });

  test('anywhere in a monitor never leave its namespace, never expand and never change another entry', () => {
    const outcomes = new Set<boolean>();
    const clean = compile(aWorld()).nodes.get('node-1')!.config.instrument.yaml;
    fc.assert(
      fc.property(hostile, fc.integer({ min: 0, max: 8 }), (text, where) => {
        const specs = (text: string): Partial<TrafficMonitorSpec>[] => [
          { workloads: [{ kind: 'Deployment', name: text }] },
          { selector: {}, containers: { include: [text] } },
          { selector: {}, http: { routes: [text] } },
          { selector: { matchExpressions: [{ key: 'app', operator: 'In', values: [text] }] } },
          { selector: { matchExpressions: [{ key: text, operator: 'Exists' }] } },
          { mode: 'Exclude', selector: {}, workloads: [{ kind: 'Pod', name: text }] },
          { selector: {}, http: { headers: { capture: [text] } } },
          { selector: {}, http: { ignorePaths: [text] } },
          { selector: {}, metrics: { labels: { podLabels: [text], exclude: [text] } } },
        ];
        const compiled = (word: string) => compile(aWorld({ monitors: [aMonitor('shop/m', specs(word)[where]!)] }));
        const result = compiled(text);
        const { yaml } = result.nodes.get('node-1')!.config.instrument;
        expect(expands(yaml)).toBe(false);
        outcomes.add(result.monitors.get('shop/m')!.accepted.ok);
        if (!result.monitors.get('shop/m')!.accepted.ok) return expect(yaml).toBe(clean);
        const discoveryOf = (file: string) =>
          (parse(file) as { discovery: Record<'instrument' | 'exclude_instrument', Record<string, unknown>[]> })
            .discovery;
        const discovery = discoveryOf(yaml);
        // All other entries of the file are as they are with a harmless word instead of the hostile one. A text that begins
        // with a slash is accepted as a route or path only, and so must its harmless word be.
        const word = text.startsWith('/') ? '/plain' : 'plain';
        const harmless = discoveryOf(compiled(word).nodes.get('node-1')!.config.instrument.yaml);
        expect(discovery.instrument[0]).toEqual(harmless.instrument[0]);
        expect(discovery.exclude_instrument[0]).toEqual(harmless.exclude_instrument[0]);
        const own = [...discovery.instrument.slice(1), ...discovery.exclude_instrument.slice(1)];
        expect(own).toHaveLength(1);
        expect(own[0]!['k8s_namespace']).toBe('shop');
        return expect(validateInstrumentDocument('v0.10', parse(yaml))).toEqual([]);
      }),
      { numRuns: 200, examples: [['/', 2]] },
    );
    expect(outcomes).toEqual(new Set([true, false]));
  });

  test('in the exclusions of a policy are refused, or are in the file unchanged; only * and ? match everything', () => {
    const outcomes = new Set<boolean>();
    fc.assert(
      fc.property(hostile, (text) => {
        const result = compile(aWorld({ policies: [aPolicy('p', { exclusions: [{ podLabels: { app: text } }] })] }));
        const { yaml } = result.nodes.get('node-1')!.config.instrument;
        expect(expands(yaml)).toBe(false);
        const accepted = result.policies.get('p')!.accepted.ok;
        const file = parse(yaml) as { discovery: { exclude_instrument: { k8s_pod_labels?: { app: string } }[] } };
        expect(file.discovery.exclude_instrument[1]?.k8s_pod_labels?.app).toBe(accepted ? text : undefined);
        outcomes.add(accepted);
        if (accepted && matchesEverything(text)) expect(text).toMatch(/^[*?]+$/);
      }),
      { numRuns: 60 },
    );
    expect(outcomes).toEqual(new Set([true, false]));
  });

  /** The instrument's file if namespace `name` has a pod and a monitor, and a policy selects its label `tier`. */
  const fileOf = (name: string, tier: string): string => {
    const monitor = aMonitor('shop/m', { selector: {} });
    const world = aWorld({
      namespaces: [aNamespace('shop'), { name, labels: { tier } }],
      policies: [aPolicy('p', { namespaceSelector: { matchLabels: { tier } }, capture: { ports: [{ port: 1 }] } })],
      monitors: [{ ...monitor, metadata: { ...monitor.metadata, namespace: name } }],
      pods: [{ ...aPod('shop/web-1', 'node-1'), namespace: name }],
    });
    return compile(world).nodes.get('node-1')!.config.instrument.yaml;
  };
  const namespaceName = fc.oneof(
    fc.constantFrom('null', 'true', 'yes', 'on', 'y', '1e3', '0x1f', '007', '1-2', '2026-01-01', '12'),
    fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/),
  );

  test('as labels of a namespace never break the file, whatever the namespace is called', () => {
    fc.assert(
      fc.property(namespaceName, hostile, (name, tier) => {
        const yaml = fileOf(name, tier);
        expect(expands(yaml)).toBe(false);
        const file = parse(yaml) as { discovery: { instrument: { k8s_namespace?: unknown }[] } };
        expect(validateInstrumentDocument('v0.10', file)).toEqual([]);
        expect(file.discovery.instrument.map((entry) => entry.k8s_namespace)).toContain(name);
      }),
      { numRuns: 200 },
    );
  });

  test('as the name of a namespace, which the API server refuses, never expand: the file is valid or none is made', () => {
    let made = 0;
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof(hostile, fc.constantFrom('${A}', '$(HOME)', '\ud800')), (name) => {
        let yaml = '';
        try {
          yaml = fileOf(name, 'gold');
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_CAPTURE_INVALID' });
          refused++;
          return;
        }
        expect(expands(yaml)).toBe(false);
        expect(validateInstrumentDocument('v0.10', parse(yaml))).toEqual([]);
        made++;
      }),
      { numRuns: 60 },
    );
    expect([made > 0, refused > 0]).toEqual([true, true]);
  });
});
