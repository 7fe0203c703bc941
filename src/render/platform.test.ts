import type { KubeObject } from '../api/meta.ts';
import { shouldRunOn, type PodForScheduling } from '../api/agents/scheduling.ts';
import { expectGolden } from '../testing/golden.ts';
import { yamlStream } from '../testing/yaml.ts';
import {
  names,
  platformDefaults,
  renderDataRemoval,
  renderPlatform,
  selectorLabels,
  withUserChanges,
} from './index.ts';
import type { PlatformInput } from './index.ts';

const withSettings: PlatformInput = {
  ...platformDefaults,
  instrumentImage: 'registry.example/otel/ebpf-instrument@sha256:abc',
  instrumentVersion: 'v0.9.0',
  instrumentPrivileges: 'sys-admin',
  imagePullPolicy: 'IfNotPresent',
  agentDataHostPath: '',
  hostNetwork: true,
  queryReplicas: 1,
  logLevel: 'debug',
  collector: { namespace: 'monitoring', name: 'prometheus' },
};

const withEverything: PlatformInput = {
  ...platformDefaults,
  caBundle: '-----BEGIN CERTIFICATE-----\nbmV3\n-----END CERTIFICATE-----\n',
  customMetrics: { register: true },
  externalMetrics: { register: true },
  query: {
    tenancy: 'true',
    queryLog: 'true',
    longTermUrl: 'https://mimir.example/prometheus',
    longTermSecret: 'mimir',
    customMetricsFallback: 'https://prometheus-adapter.monitoring.svc',
    customMetricsFallbackSecret: 'adapter-ca',
    maxSamples: '100000000',
  },
  apiServerCidrs: ['10.0.0.0/28'],
  monitors: { pod: true, service: true },
  instrumentPrivileges: 'privileged',
  imagePullSecrets: ['registry'],
  agentMaxUnavailable: 3,
};

const named = (objects: KubeObject[], kind: string, name: string): KubeObject => {
  const object = objects.find((o) => o.kind === kind && o.metadata.name === name);
  if (!object) throw new Error(`no ${kind} ${name}`);
  return object;
};

describe('renderPlatform', () => {
  test.each([
    ['platform-defaults', platformDefaults],
    ['platform-with-settings', withSettings],
    ['platform-with-everything', withEverything],
  ])('renders %s as in its golden file', (name, input) => {
    expectGolden(import.meta.dirname, `${name}.golden.yaml`, yamlStream(renderPlatform(input)));
  });

  test("mounts the kernel's trace points only into the instrument, which exits if they are missing", () => {
    const { spec } = named(renderPlatform(platformDefaults), 'DaemonSet', 'svc-agent') as unknown as {
      spec: { template: { spec: { containers: { name: string; volumeMounts: object[] }[]; volumes: object[] } } };
    };
    const { containers, volumes } = spec.template.spec;
    expect(volumes).toContainEqual({ name: 'tracing', hostPath: { path: '/sys/kernel/tracing' } });
    const seenBy = containers.filter(({ volumeMounts }) => JSON.stringify(volumeMounts).includes('tracing'));
    expect(seenBy.map(({ name }) => name)).toEqual(['instrument']);
    expect(seenBy[0]!.volumeMounts).toContainEqual({
      ...{ name: 'tracing', mountPath: '/sys/kernel/tracing', readOnly: true },
    });
  });

  test("gives the instrument its node's address, so that it does not look for one on the internet", () => {
    const { spec } = named(renderPlatform(platformDefaults), 'DaemonSet', 'svc-agent') as unknown as {
      spec: { template: { spec: { containers: { name: string; env?: object[] }[] } } };
    };
    const { env } = spec.template.spec.containers.find(({ name }) => name === 'instrument')!;
    for (const name of ['OTEL_EBPF_NETWORK_AGENT_IP', 'OTEL_EBPF_STATS_AGENT_IP']) {
      expect(env).toContainEqual({ name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.hostIP' } } });
    }
  });

  test('gives equal objects for equal inputs', () => {
    expect(renderPlatform(platformDefaults)).toEqual(renderPlatform(structuredClone(platformDefaults)));
  });

  test('leaves the number of query servers to an autoscaler when none is set', () => {
    const { queryReplicas: _, ...input } = platformDefaults;
    const { spec } = named(renderPlatform(input), 'Deployment', 'svc-query') as unknown as { spec: object };
    expect(spec).not.toHaveProperty('replicas');
    const set = named(renderPlatform({ ...input, queryReplicas: 4 }), 'Deployment', 'svc-query');
    expect(set['spec']).toMatchObject({ replicas: 4 });
  });

  test('names every label of the agents to the query servers, so that no pod of another product counts as one', () => {
    const args = yamlStream(renderPlatform(platformDefaults));
    const [, selector] = /--agent-selector=(\S+)/.exec(args)!;
    const labels = Object.entries(selectorLabels('agent')).map((pair) => pair.join('='));
    expect(selector!.split(',')).toEqual(labels);
  });

  test('takes the instrument version from the image tag', () => {
    const yaml = yamlStream(renderPlatform({ ...platformDefaults, instrumentImage: 'host:5000/obi:v0.9.0@sha256:1' }));
    expect(yaml).toContain('--instrument-version=v0.9.0');
  });

  test('sets no pull policy unless a setting names one', () => {
    const policies = (input: PlatformInput) => yamlStream(renderPlatform(input)).match(/imagePullPolicy: \w+/g);
    expect(policies(platformDefaults)).toBeNull();
    const set = policies({ ...platformDefaults, imagePullPolicy: 'Never' })!;
    const images = yamlStream(renderPlatform(platformDefaults)).match(/^ +image: /gm)!;
    expect(set).toEqual(Array<string>(images.length).fill('imagePullPolicy: Never'));
  });
});

describe('the custom metrics API', () => {
  const register = { ...withEverything, apiServerCidrs: [] };
  const kinds = (input: PlatformInput) => renderPlatform(input).map((o) => `${o.kind}/${o.metadata.name}`);

  test('is registered in all its versions, with the CA and never with insecureSkipTLSVerify', () => {
    const apis = renderPlatform(register).filter((o) => o.kind === 'APIService');
    expect(apis.map((o) => o.metadata.name)).toEqual([
      'v1beta1.custom.metrics.k8s.io',
      'v1beta2.custom.metrics.k8s.io',
      'v1beta1.external.metrics.k8s.io',
    ]);
    for (const api of apis) {
      const spec = api['spec'] as { caBundle: string; service: object };
      expect(Buffer.from(spec.caBundle, 'base64').toString()).toBe(register.caBundle);
      expect(spec.service).toEqual({ name: 'svc-query', namespace: 'svc-system', port: 6443 });
      expect(spec).not.toHaveProperty('insecureSkipTLSVerify');
    }
    expect(apis.map((o) => (o['spec'] as { versionPriority: number }).versionPriority)).toEqual([100, 200, 100]);
  });

  test('grants autoscalers the groups that are registered, and no others', () => {
    const groups = (input: PlatformInput): unknown =>
      (named(renderPlatform(input), 'ClusterRole', 'custom-metrics-server-resources')['rules'] as object[])[0];
    const only = { ...register, customMetrics: { register: false } };
    expect(groups(register)).toMatchObject({ apiGroups: ['custom.metrics.k8s.io', 'external.metrics.k8s.io'] });
    expect(groups(only)).toMatchObject({ apiGroups: ['external.metrics.k8s.io'] });
    expect(groups({ ...register, externalMetrics: { register: false } })).toMatchObject({
      apiGroups: ['custom.metrics.k8s.io'],
    });
  });

  test('is not registered before there is a CA, nor if it belongs to another server', () => {
    const { caBundle: _, ...withoutCa } = register;
    expect(kinds(withoutCa).filter((k) => k.startsWith('APIService'))).toEqual([]);
    const elsewhere = { customMetrics: { register: false }, externalMetrics: { register: false } };
    const foreign = kinds({ ...register, ...elsewhere });
    expect(foreign.filter((k) => k.startsWith('APIService') || k.includes('custom-metrics-server-resources'))).toEqual(
      [],
    );
  });

  test('appears in no object if it is off', () => {
    const { customMetrics: _, ...off } = register;
    const traces = ['6443', 'custom.metrics.k8s.io', 'external.metrics.k8s.io', 'system:auth-delegator'];
    const found = (input: PlatformInput) => traces.filter((trace) => yamlStream(renderPlatform(input)).includes(trace));
    expect(found(register)).toEqual(traces);
    expect(found(off)).toEqual([]);
  });
});

test.each([
  ['agents', named(renderPlatform(platformDefaults), 'DaemonSet', names.agent)],
  ['the removal of their data', renderDataRemoval({ ...platformDefaults, svcImage: 'svc:1' }, 'running')!],
])('%s run on every Linux node, whatever its taints, but not where no agent can run', (_what, daemonSet) => {
  const { spec } = (daemonSet['spec'] as { template: { spec: PodForScheduling } }).template;
  const runsOn = (labels: Record<string, string>): boolean =>
    shouldRunOn(spec, {
      metadata: { labels: { 'kubernetes.io/os': 'linux', ...labels } },
      spec: { taints: [{ key: 'virtual-kubelet.io/provider', value: 'azure', effect: 'NoSchedule' }] },
    });
  expect([
    runsOn({}),
    runsOn({ 'eks.amazonaws.com/compute-type': 'ec2', type: 'large' }),
    runsOn({ 'eks.amazonaws.com/compute-type': 'fargate' }),
    runsOn({ type: 'virtual-kubelet' }),
    runsOn({ 'kubernetes.io/os': 'windows' }),
  ]).toEqual([true, true, false, false, false]);
});

describe('withUserChanges', () => {
  const rendered = renderPlatform(platformDefaults);
  const ours = { kind: 'ServiceAccount', name: 'collector', namespace: 'gmp-system' };
  const added = { kind: 'ServiceAccount', name: 'prometheus', namespace: 'monitoring' };
  const former = { kind: 'ServiceAccount', name: 'scraper', namespace: 'old-system' };
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  type AgentDaemonSet = KubeObject & {
    spec: { template: { spec: { affinity?: { nodeAffinity?: { [required]?: unknown } } } } };
  };

  test('keeps a scraper that an administrator added to svc-metrics-reader, and puts ours back', () => {
    const binding = named(rendered, 'ClusterRoleBinding', 'svc-metrics-reader');
    expect(withUserChanges(binding, { ...binding, subjects: [added] })['subjects']).toEqual([ours, added]);
    expect(withUserChanges(binding, { ...binding, subjects: [ours, added] })['subjects']).toEqual([ours, added]);
  });

  test('takes the right from a former collector, and not from what an administrator added', () => {
    const binding = named(rendered, 'ClusterRoleBinding', 'svc-metrics-reader');
    const first = withUserChanges({ ...binding, subjects: [former] }, undefined);
    const edited = { ...first, subjects: [former, added] };
    expect(withUserChanges(binding, edited)['subjects']).toEqual([ours, added]);
    const policy = named(rendered, 'NetworkPolicy', 'svc-agent-scrape');
    const { ingress } = policy['spec'] as { ingress: unknown[] };
    const open = [{ from: [{ namespaceSelector: {} }] }];
    const old = withUserChanges({ ...policy, spec: { ...(policy['spec'] as object), ingress: open } }, undefined);
    expect(withUserChanges(policy, old)['spec']).toMatchObject({ ingress });
  });

  test.each(['{', 'null', '{"0":1}'])('goes on when its record of own entries is %s', (record) => {
    const binding = named(rendered, 'ClusterRoleBinding', 'svc-metrics-reader');
    const metadata = { ...binding.metadata, annotations: { 'svc.dev/own-entries': record } };
    expect(withUserChanges(binding, { ...binding, metadata, subjects: [added] })['subjects']).toEqual([ours, added]);
  });

  test('keeps an ingress rule that an administrator added for the scrape port', () => {
    const policy = named(rendered, 'NetworkPolicy', 'svc-agent-scrape');
    const rule = { from: [{ podSelector: {} }], ports: [{ port: 9090, protocol: 'TCP' }] };
    const live = { ...policy, spec: { ...(policy['spec'] as object), ingress: [rule] } };
    const { ingress } = withUserChanges(policy, live)['spec'] as { ingress: unknown[] };
    expect(ingress).toHaveLength(2);
    expect(ingress[1]).toEqual(rule);
  });

  test('leaves the nodes of the agents to an administrator who chose them, until nobody does', () => {
    const daemonSet = named(rendered, 'DaemonSet', names.agent);
    const withNodes = (object: KubeObject, value: unknown): KubeObject => {
      const result = structuredClone(object) as AgentDaemonSet;
      result.spec.template.spec.affinity = { nodeAffinity: { [required]: value } };
      return result;
    };
    const nodesOf = (object: KubeObject): unknown =>
      (object as AgentDaemonSet).spec.template.spec.affinity?.nodeAffinity?.[required];
    const theirs = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'pool', operator: 'NotIn', values: ['gpu'] }] }] };
    const former = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'old', operator: 'DoesNotExist' }] }] };
    const applied = withUserChanges(daemonSet, undefined);
    expect(nodesOf(applied)).toEqual(nodesOf(daemonSet));
    const edited = withUserChanges(daemonSet, withNodes(applied, theirs));
    expect(nodesOf(edited)).toBeUndefined();
    expect(edited.metadata).toEqual(applied.metadata);
    expect(nodesOf(withUserChanges(daemonSet, withNodes(daemonSet, theirs)))).toBeUndefined();
    for (const live of [
      applied,
      withNodes(applied, undefined),
      withUserChanges(withNodes(daemonSet, former), undefined),
    ])
      expect(withUserChanges(daemonSet, live)).toEqual(applied);
  });

  test('changes only svc-metrics-reader, svc-agent-scrape and the DaemonSet', () => {
    const open = ['ClusterRoleBinding/svc-metrics-reader', 'DaemonSet/svc-agent', 'NetworkPolicy/svc-agent-scrape'];
    const kept = rendered.filter((object) => {
      const live = { ...object, subjects: [added], spec: { ingress: [{ from: [] }] } };
      return withUserChanges(object, live) !== object;
    });
    expect(kept.map(({ kind, metadata }) => `${kind}/${metadata.name}`).sort()).toEqual(open);
  });
});
