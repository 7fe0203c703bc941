import { zeroConfig } from '../../capture/index.ts';
import { parseInstrumentConfig, type Selector } from './config.ts';
import { matches, sampled, select, type Workload } from './discovery.ts';
import { globMatches } from './glob.ts';

const checkout: Workload = {
  namespace: 'shop',
  pod: 'checkout-7d9-x1',
  container: 'app',
  labels: { app: 'checkout', tier: 'web' },
  owners: { k8s_replicaset_name: 'checkout-7d9', k8s_deployment_name: 'checkout' },
  port: 8080,
};

test.each([
  ['shop', 'shop', true],
  ['shop', 'shop2', false],
  ['check*', 'checkout', true],
  ['{api,web}', 'web', true],
  ['{api,web}', 'db', false],
  ['istio-*', 'istio-', true],
  ['?[a-c]x', 'qbx', true],
  ['[!a]b', 'ab', false],
  ['a.b', 'axb', false],
  ['a\\*', 'a*', true],
])('glob %s matches %s: %s', (pattern, text, expected) => {
  expect(globMatches(pattern, text)).toBe(expected);
});

test.each([
  ['a port of the workload in a list', { open_ports: '80,8080' }, true],
  ['a port of the workload in a range', { open_ports: '8000-8999' }, true],
  ['another port', { open_ports: '80,443' }, false],
  [
    'namespace and labels together',
    { k8s_namespace: 'shop', k8s_pod_labels: { app: 'check*', tier: '{api,web}' } },
    true,
  ],
  ['one label that differs', { k8s_namespace: 'shop', k8s_pod_labels: { app: 'cart' } }, false],
  ['a label that is absent', { k8s_pod_labels: { team: '*' } }, false],
  ['the deployment of the workload', { k8s_deployment_name: 'checkout' }, true],
  ['an owner kind that the workload lacks', { k8s_statefulset_name: '*' }, false],
  ['the name of an owner of any kind', { k8s_owner_name: 'checkout-7d9' }, true],
  ['nothing but containers_only', { containers_only: true }, false],
  ['a field that the stand-in does not know', { exe_path: '*' }, false],
] as [string, Selector, boolean][])('whether an entry with %s matches', (_what, entry, expected) => {
  expect(matches(entry, checkout)).toBe(expected);
});

const file = (include: string, exclude = '[]'): ReturnType<typeof parseInstrumentConfig> =>
  parseInstrumentConfig(
    `metrics: {features: [application]}
otel_metrics_export: {endpoint: "http://127.0.0.1:4318"}
discovery: {instrument: ${include}, exclude_instrument: ${exclude}}`,
    {},
  );

test('the last matching entry that sets a field wins, field by field', () => {
  const config = file(`[
    {open_ports: "8080", exports: [metrics], sampler: {name: always_off}},
    {k8s_namespace: shop, exports: [metrics, traces]},
    {k8s_namespace: other, exports: []}]`);
  expect(select(config, checkout)).toEqual({ metrics: true, traces: true, sampler: { name: 'always_off' } });
});

test('an empty list of exports turns metrics and traces off; without a list both stay on', () => {
  expect(select(file('[{open_ports: "8080", exports: []}]'), checkout)).toMatchObject({
    metrics: false,
    traces: false,
  });
  expect(select(file('[{open_ports: "8080"}]'), checkout)).toMatchObject({ metrics: true, traces: true });
});

test('exclusion beats every inclusion, and system namespaces are excluded by default', () => {
  const inclusions = '[{open_ports: "8080"}, {k8s_namespace: "*"}, {k8s_pod_labels: {tier: web}, exports: [metrics]}]';
  expect(select(file(inclusions, '[{k8s_pod_labels: {tier: other}}]'), checkout)).not.toBeNull();
  expect(select(file(inclusions, '[{k8s_pod_labels: {tier: web}}]'), checkout)).toBeNull();
  const system = ['kube-system', 'kube-node-lease', 'monitoring', 'cert-manager', 'gke-managed-system'];
  expect(system.filter((namespace) => select(file(inclusions), { ...checkout, namespace }) !== null)).toEqual([]);
});

test('the zero-config file of the product selects its ports and leaves svc-system out', () => {
  const seed = zeroConfig({ node: 'node-1', ports: '80,443,8080,8443', instrumentVersion: 'v0.10.0' });
  const config = parseInstrumentConfig(seed.instrument.yaml, {});
  expect(select(config, checkout)).not.toBeNull();
  expect(select(config, { ...checkout, port: 9999 })).toBeNull();
  expect(select(config, { ...checkout, namespace: 'svc-system' })).toBeNull();
});

test('the ratio sampler decides the same for all spans of a trace, and keeps about its ratio of many traces', () => {
  const id = (n: number): string => (BigInt(n) * 0x9e3779b97f4a7c15n).toString(16).slice(-16).padStart(32, '0');
  const look = () =>
    Array.from({ length: 2_000 }, (_, n) => id(n + 1)).filter((t) =>
      sampled({ name: 'parentbased_traceidratio', arg: '0.25' }, t),
    );
  const kept = look();
  expect(look()).toEqual(kept);
  expect(kept.length).toBeGreaterThan(400);
  expect(kept.length).toBeLessThan(600);
  expect(sampled({ name: 'always_off' }, id(1))).toBe(false);
  expect(sampled({}, id(1))).toBe(true);
});
