import { monitorSettingLeaves } from '../../src/api/v1alpha1/index.ts';
import { accepts, many, refuses } from './case.ts';
import type { Case } from './case.ts';
import { selectorRefusals } from './selector-cases.ts';

/** Each case is merged into the empty spec of a ClusterTrafficPolicy. */

const leafValues: Record<string, unknown> = {
  'signals.metrics': 'Enabled',
  'signals.spans': 'Disabled',
  protocols: ['HTTP'],
  'sampling.ratio': '0.5',
  'sampling.parentBased': true,
  'sampling.keepErrors': true,
  'sampling.keepSlowerThan': '1s',
  'metrics.families': ['RPC'],
  'metrics.labels.exclude': ['url_scheme'],
  'metrics.labels.podLabels': ['app'],
  'metrics.interval': '10s',
  'http.routes': ['/a'],
};

/** For the path `a.b`: `{a: {b: value}}`. */
const nested = (path: readonly string[]): object =>
  path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), leafValues[path.join('.')]) as object;

const defaultsAndOverrides: Case[] = [
  ...monitorSettingLeaves.flatMap((leaf) => {
    const name = leaf.join('.');
    return [
      refuses(
        `${name} in both defaults and overrides`,
        { defaults: nested(leaf), overrides: nested(leaf) },
        new RegExp(`${name.replaceAll('.', '\\.')} is set in both defaults and overrides; keep one`),
      ),
      accepts(`${name} in defaults alone`, { defaults: nested(leaf) }),
    ];
  }),
  accepts('different leaves of one branch', {
    defaults: { sampling: { ratio: '0.5' } },
    overrides: { sampling: { keepErrors: true } },
  }),
  refuses('a default with a wrong route', { defaults: { http: { routes: ['a'] } } }, /a route starts with \//),
  refuses('an interval override below the minimum', { overrides: { metrics: { interval: '1s' } } }, /at least 5s/),
  refuses('a default keepSlowerThan of 0ms', { defaults: { sampling: { keepSlowerThan: '0ms' } } }, /at least 1ms/),
  refuses('a default ratio above 1', { defaults: { sampling: { ratio: '1.5' } } }, /ratio.* should match/),
  refuses(
    'a default label name with a dash',
    { defaults: { metrics: { labels: { exclude: ['a-b'] } } } },
    /should match/,
  ),
];

const scope: Case[] = [
  accepts('an empty spec', {}),
  accepts('scope by node and namespace', {
    priority: -5,
    nodeSelector: { matchExpressions: [{ key: 'pool', operator: 'NotIn', values: ['gpu'] }] },
    namespaceSelector: { matchLabels: { team: 'shop' } },
    monitorNamespaces: {},
  }),
  refuses('a node label value with $', { nodeSelector: { matchLabels: { a: '$b' } } }, /must not contain \$/),
  refuses(
    'a selector key with a space',
    { nodeSelector: { matchExpressions: [{ key: 'a b', operator: 'Exists' }] } },
    /should match/,
  ),
  accepts('a requirement of each operator, with keys and values as long as Kubernetes allows', {
    nodeSelector: {
      matchLabels: { [`${'a'.repeat(253)}/${'b'.repeat(63)}`]: 'c'.repeat(63), d: '' },
      matchExpressions: [
        { key: `${'a'.repeat(253)}/${'b'.repeat(63)}`, operator: 'In', values: ['c'.repeat(63), '', 'A_b.c-d'] },
        { key: 'a', operator: 'NotIn', values: ['b'] },
        { key: 'a', operator: 'Exists' },
        { key: 'a', operator: 'DoesNotExist', values: [] },
      ],
    },
  }),
  ...selectorRefusals('of nodes', (nodeSelector) => ({ nodeSelector })),
  ...selectorRefusals('of canary nodes', (canaryNodes) => ({ rollout: { canaryNodes } })),
  ...selectorRefusals('of namespaces', (namespaceSelector) => ({ namespaceSelector })),
  ...selectorRefusals('of namespaces with monitors', (monitorNamespaces) => ({ monitorNamespaces })),
  accepts('ByPort with ports', { capture: { mode: 'ByPort', ports: [{ port: 80 }, { port: 9000, endPort: 9010 }] } }),
  accepts('ports without a mode', { capture: { ports: [{ port: 80 }] } }),
  accepts('AllowList', { capture: { mode: 'AllowList', containersOnly: false } }),
  refuses('All with ports', { capture: { mode: 'All', ports: [{ port: 80 }] } }, /ports belong to ByPort/),
  refuses('AllowList with ports', { capture: { mode: 'AllowList', ports: [{ port: 80 }] } }, /ports belong to ByPort/),
  refuses('an unknown capture mode', { capture: { mode: 'None' } }, /Unsupported value: "None"/),
  refuses(
    'a port range that runs backwards',
    { capture: { ports: [{ port: 2, endPort: 1 }] } },
    /endPort must not be below/,
  ),
  refuses('an unknown treatment of system namespaces', { systemNamespaces: 'Keep' }, /Unsupported value/),
  accepts('every kind of exclusion', {
    exclusions: [
      { namespaces: ['istio-*'] },
      { podLabels: { 'svc.dev/capture': 'off' } },
      { workloads: [{ kind: 'DaemonSet', name: '*' }], ports: [{ port: 22 }] },
      { executables: ['/usr/bin/*', '*/envoy'] },
    ],
  }),
  refuses('an empty exclusion', { exclusions: [{}] }, /an exclusion names something/),
  refuses('an exclusion with an empty list', { exclusions: [{ namespaces: [] }] }, /at least 1 items/),
  refuses('a namespace with braces', { exclusions: [{ namespaces: ['{a,b}'] }] }, /wildcards \* and \? are allowed/),
  refuses('a label key with $', { exclusions: [{ podLabels: { $a: 'b' } }] }, /a label key has only/),
  refuses('a label value with a bracket', { exclusions: [{ podLabels: { a: '[b]' } }] }, /wildcards \* and \?/),
  refuses('an executable with a space', { exclusions: [{ executables: ['/bin/a b'] }] }, /slash and the wildcards/),
  refuses('65 exclusions', { exclusions: many(65, () => ({ namespaces: ['a'] })) }, /at most 64|Too many/),
  accepts('paused', { paused: true }),
];

const flows: Case[] = [
  accepts('flows by socket filter', {
    network: {
      enabled: true,
      source: 'SocketFilter',
      direction: 'Ingress',
      protocols: ['TCP', 'UDP'],
      excludeInterfaces: ['lo', 'veth0'],
      cidrs: [
        { cidr: '10.0.0.0/8' },
        { cidr: '0.0.0.0/0', name: 'internet' },
        ...['fd00::/8', '::/0', '2001:DB8:0:1:2:3:4:5/128', '::ffff:10.0.0.0/104'].map((cidr) => ({ cidr })),
      ],
      sampling: 50,
      dropExternal: true,
      attributes: ['dst.port', 'k8s.src.*'],
      deduper: 'FirstCome',
    },
  }),
  accepts('TC with the acknowledgement', { network: { source: 'TC', acknowledgeCiliumConflict: true } }),
  refuses('TC without the acknowledgement', { network: { source: 'TC' } }, /set acknowledgeCiliumConflict: true/),
  refuses(
    'TC with the acknowledgement false',
    { network: { source: 'TC', acknowledgeCiliumConflict: false } },
    /TC conflicts with Cilium/,
  ),
  ...[
    ...['10.0.0.0', '10.0.0.0/33', '10.0.0/8', '999.1.1.1/8', '10.0.0.0/08', 'internet', '10.0.0.0/8 '],
    ...['fd00::/129', '1::2::3/8', ':::/8', '1:2:3:4:5:6:7:8:9/8', '12345::/8', '::1.2.3.256/96'],
  ].map((cidr) =>
    refuses(`"${cidr}" as an address range`, { network: { cidrs: [{ cidr }] } }, /cidr is an address range/),
  ),
  refuses('a range name with $', { network: { cidrs: [{ cidr: '::/0', name: '$a' }] } }, /name.* should match/),
  refuses(
    'an interface name with a slash',
    { network: { excludeInterfaces: ['a/b'] } },
    /excludeInterfaces.* should match/,
  ),
  refuses('an attribute in capitals', { network: { attributes: ['Dst'] } }, /attributes.* should match/),
  refuses('an unknown transport protocol', { network: { protocols: ['QUIC'] } }, /Unsupported value: "QUIC"/),
];

const ceilings: Case[] = [
  accepts('all limits', {
    limits: {
      maxSeriesPerNode: 100000,
      maxSeriesPerNamespace: 20000,
      maxSeriesPerMonitor: 10000,
      maxLabelValueLength: 256,
      maxSpansPerSecondPerNode: 1000,
      maxMonitorsPerNamespace: 20,
      onLimit: 'Drop',
    },
  }),
  refuses(
    'a limit of 15 characters for label values',
    { limits: { maxLabelValueLength: 15 } },
    /greater than or equal to 16/,
  ),
  accepts('sizes as numbers and as strings', {
    retention: { metrics: { time: '24h', size: '2Gi' }, spans: { time: '15m', size: 1048576 } },
  }),
  refuses('a size with a wrong unit', { retention: { metrics: { size: '2GB' } } }, /size.* should match/),
  refuses('a negative size', { retention: { metrics: { size: '-1' } } }, /size.* should match/),
  refuses(
    'a negative number as a size on disk',
    { retention: { metrics: { size: -1 } } },
    /metrics\.size.* greater than or equal to 0/,
  ),
  refuses(
    'a negative number as a size in memory',
    { retention: { spans: { size: -1 } } },
    /spans\.size.* greater than or equal to 0/,
  ),
  accepts('the least sizes', { retention: { metrics: { size: '1024Ki' }, spans: { size: '1Mi' } } }),
  accepts('a size beyond every disk', { retention: { metrics: { size: '99999999999Ti' } } }),
  refuses(
    'a size of 0 on disk',
    { retention: { metrics: { size: 0 } } },
    /metrics\.size.* must be at least 1Mi; 0 does/,
  ),
  refuses('a size without its unit', { retention: { metrics: { size: '2' } } }, /metrics\.size.* must be at least 1Mi/),
  refuses('1023Ki of spans', { retention: { spans: { size: '1023Ki' } } }, /spans\.size.* must be at least 1Mi/),
  refuses('a size of 0 in memory', { retention: { spans: { size: '0Gi' } } }, /spans\.size.* must be at least 1Mi/),
  refuses('a retention of five minutes', { retention: { metrics: { time: '5m' } } }, /must be at least 10m/),
  refuses('a span retention of 0s', { retention: { spans: { time: '0s' } } }, /must be at least 1s/),
  refuses('a retention in days', { retention: { metrics: { time: '7d' } } }, /time.* should match/),
  accepts('histogram bounds', {
    http: {
      unmatched: 'Wildcard',
      maxPathSegmentCardinality: 20,
      histogram: { type: 'Explicit', durationBuckets: ['5ms', '1s'], sizeBuckets: [0, '1Ki'] },
    },
  }),
  refuses(
    'a histogram bound as a number',
    { http: { histogram: { durationBuckets: [0.5] } } },
    /must be of type string/,
  ),
  accepts('query limits', {
    query: {
      timeout: '2m',
      perAgentTimeout: '10s',
      maxSamples: 50000000,
      maxSeries: 1000,
      partialResponse: 'Fail',
      maxConcurrency: 4,
    },
  }),
  refuses('a query timeout of 0s', { query: { timeout: '0s' } }, /must be at least 1s/),
  refuses('a timeout per agent of 99ms', { query: { perAgentTimeout: '99ms' } }, /must be at least 100ms/),
];

const redactionAndInstrument: Case[] = [
  accepts('redaction', {
    redaction: {
      queryParams: { add: ['token'], remove: ['sig'] },
      headers: { allow: ['X-Tenant'], obfuscate: ['X-Tenant'] },
      paths: [{ pattern: '/users/[0-9]+', replacement: '/users/*' }],
      labels: [{ name: 'url_path', action: 'Hash' }],
      dropClientAddress: true,
      dbQueryText: 'Drop',
    },
  }),
  refuses(
    'the redaction of a label that identifies the owner of a series',
    { redaction: { labels: [{ name: 'k8s_pod_name', action: 'Hash' }] } },
    /says which namespace, pod or node a series belongs to, and cannot be removed/,
  ),
  refuses('a query parameter with $', { redaction: { queryParams: { add: ['$a'] } } }, /must not contain \$/),
  refuses('a header with a space', { redaction: { headers: { allow: ['X Tenant'] } } }, /allow\[0\].* should match/),
  refuses(
    'two actions for one label',
    {
      redaction: {
        labels: [
          { name: 'a', action: 'Hash' },
          { name: 'a', action: 'Drop' },
        ],
      },
    },
    /a label is named twice; give each one action/,
  ),
  accepts('instrument settings', {
    instrument: {
      exportInterval: '10s',
      pollInterval: '5s',
      clusterName: 'prod',
      kubeMetaCache: 'k8s-cache.svc-system.svc:50055',
      logLevel: 'Debug',
      injection: { node: 'Disabled', java: 'Enabled' },
      extraConfig: { ebpf: { wakeup_len: 10 } },
    },
  }),
  refuses('an export interval of one second', { instrument: { exportInterval: '1s' } }, /must be at least 5s/),
  refuses('a poll interval of zero', { instrument: { pollInterval: '0s' } }, /must be at least 1s/),
  refuses('a cluster name with $', { instrument: { clusterName: '$HOME' } }, /must not contain \$/),
  ...['cache', 'cache:0', 'cache:65536'].map((kubeMetaCache) =>
    refuses(`${kubeMetaCache} as a cache address`, { instrument: { kubeMetaCache } }, /kubeMetaCache.* should match/),
  ),
  accepts('rollout settings', {
    rollout: {
      maxUnavailable: 2,
      minInterval: '60s',
      pauseOnFailure: false,
      canaryNodes: { matchLabels: { canary: 'yes' } },
    },
  }),
  accepts('a rollout to all nodes at the same time', { rollout: { maxUnavailable: '100%' } }),
  refuses('a rollout to 101% of the nodes', { rollout: { maxUnavailable: '101%' } }, /maxUnavailable.* should match/),
  refuses('a rollout to 0 nodes at a time', { rollout: { maxUnavailable: 0 } }, /greater than or equal to 1/),
  refuses(
    'a rollout to more nodes at a time than a DaemonSet can take',
    { rollout: { maxUnavailable: 2_147_483_648 } },
    /maxUnavailable.* less than or equal to 2\.?147483647/,
  ),
  refuses('a rollout to 0% of nodes at a time', { rollout: { maxUnavailable: '0%' } }, /maxUnavailable.* should match/),
  refuses('a rollout interval of 0s', { rollout: { minInterval: '0s' } }, /must be at least 1s/),
  accepts('an export allow list', { exportAllowList: ['*.metrics.example', 'mimir.metrics.svc'] }),
  refuses('a URL in the export allow list', { exportAllowList: ['https://a'] }, /exportAllowList.* should match/),
  refuses(
    'an export with a password in its URL',
    { export: [{ name: 'a', type: 'OTLP', endpoint: 'https://a:b@metrics.example' }] },
    /must not hold a user or a password/,
  ),
  refuses(
    'an http exporter outside the cluster',
    { export: [{ name: 'a', type: 'OTLP', endpoint: 'http://a.example' }] },
    /must be https/,
  ),
  refuses(
    'an exporter with $',
    { export: [{ name: 'a', type: 'OTLP', endpoint: 'https://$a' }] },
    /must not contain \$ or a line break/,
  ),
  refuses(
    'an exporter name in capitals',
    { export: [{ name: 'A', type: 'OTLP', endpoint: 'https://a' }] },
    /name.* should match/,
  ),
  refuses(
    'an exporter with a bad Secret name',
    { export: [{ name: 'a', type: 'OTLP', endpoint: 'https://a', secretRef: { name: 'A/', key: 'k' } }] },
    /should match/,
  ),
  refuses(
    'an exporter with a bad Secret key',
    { export: [{ name: 'a', type: 'OTLP', endpoint: 'https://a', secretRef: { name: 'a', key: ' ' } }] },
    /should match/,
  ),
  refuses('an unknown field', { limit: {} }, /unknown field "spec.limit"/),
];

export const policyCases: readonly Case[] = [
  ...defaultsAndOverrides,
  ...scope,
  ...flows,
  ...ceilings,
  ...redactionAndInstrument,
];
