import { accepts, many, refuses } from './case.ts';
import type { Case } from './case.ts';
import { selectorRefusals } from './selector-cases.ts';

/**
 * Each case is merged into the spec of one base document, a TrafficMonitor with `selector: {matchLabels: {app:
 * checkout}}`; null removes a member.
 */

const metric = { name: 'rps', preset: 'RequestsPerSecond', resource: 'pods' };
const destination = { name: 'central', type: 'RemoteWrite', endpoint: 'https://metrics.example/api/v1/push' };
const longText = 'x'.repeat(5000);

const selection: Case[] = [
  accepts('an empty selector: the whole namespace', { selector: { matchLabels: null } }),
  accepts('workloads instead of a selector', { selector: null, workloads: [{ kind: 'Deployment', name: 'check*' }] }),
  accepts('ports instead of a selector', { selector: null, ports: [{ port: 8080 }] }),
  refuses('a monitor that selects nothing', { selector: null }, /select something; use selector: \{\}/),
  refuses('a priority without a selection', { selector: null, priority: 5 }, /select something/),
  accepts('the selector operators In and Exists', {
    selector: {
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['web', 'api'] },
        { key: 'app', operator: 'Exists' },
      ],
    },
  }),
  accepts('a label prefix of 253 characters', { selector: { matchLabels: { [`${'a.'.repeat(126)}a/b-c_d.E`]: 'f' } } }),
  refuses(
    'the selector operator NotIn',
    { selector: { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['web'] }] } },
    /use a second monitor with mode: Exclude/,
  ),
  refuses(
    'the selector operator DoesNotExist',
    { selector: { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] } },
    /NotIn\/DoesNotExist unsupported/,
  ),
  refuses(
    'an unknown operator',
    { selector: { matchExpressions: [{ key: 'a', operator: 'Gt' }] } },
    /supported values/,
  ),
  refuses(
    'a label key with a space',
    { selector: { matchExpressions: [{ key: 'a b', operator: 'Exists' }] } },
    /key.* should match/,
  ),
  refuses(
    'a label value with $',
    { selector: { matchLabels: { app: '${HOME}' } } },
    /must not contain \$ or a line break/,
  ),
  refuses('a label value with a line break', { selector: { matchLabels: { app: 'a\nb' } } }, /must not contain \$/),
  refuses(
    'a label value of 64 characters',
    { selector: { matchLabels: { app: 'x'.repeat(64) } } },
    /may not be more than 63|Too long/,
  ),
  ...selectorRefusals('of pods', (selector) => ({ selector })),
  refuses('an unknown workload kind', { workloads: [{ kind: 'Service', name: 'a' }] }, /Unsupported value: "Service"/),
  refuses('a workload without a name', { workloads: [{ kind: 'Pod' }] }, /name: Required value/),
  refuses(
    'a workload name with braces',
    { workloads: [{ kind: 'Pod', name: '{a,b}' }] },
    /wildcards \* and \? are allowed/,
  ),
  refuses(
    'a workload name with a slash',
    { workloads: [{ kind: 'Pod', name: 'a/b' }] },
    /wildcards \* and \? are allowed/,
  ),
  refuses('an empty workload name', { workloads: [{ kind: 'Pod', name: '' }] }, /at least 1 chars/),
  refuses('an empty list of workloads', { workloads: [] }, /at least 1 items/),
  refuses(
    '33 workloads',
    { workloads: many(33, (i) => ({ kind: 'Pod', name: `p${i}` })) },
    /at most 32 items|Too many/,
  ),
  accepts('container globs', { containers: { include: ['app-*', 'side?ar'] } }),
  refuses('a container name with an exclamation mark', { containers: { include: ['!app'] } }, /wildcards \* and \?/),
  refuses('17 container globs', { containers: { include: many(17, (i) => `c${i}`) } }, /at most 16|Too many/),
  accepts('a port range', { ports: [{ port: 9000, endPort: 9010 }] }),
  accepts('a range of one port', { ports: [{ port: 9000, endPort: 9000 }] }),
  refuses('a range that runs backwards', { ports: [{ port: 9010, endPort: 9000 }] }, /endPort must not be below port/),
  refuses('port 0', { ports: [{ port: 0 }] }, /greater than or equal to 1/),
  refuses('port 65536', { ports: [{ port: 65536 }] }, /less than or equal to 65535/),
  refuses('a port as a string', { ports: [{ port: '8080' }] }, /must be of type integer/),
  refuses('a fraction as a port', { ports: [{ port: 80.5 }] }, /must be of type integer/),
  refuses('an unknown mode', { mode: 'Watch' }, /Unsupported value: "Watch"/),
  refuses('a priority of 1001', { priority: 1001 }, /less than or equal to 1000/),
];

const exclude: Case[] = [
  accepts('Exclude with selection alone', { mode: 'Exclude', workloads: [{ kind: 'Pod', name: 'noisy-*' }] }),
  refuses(
    'Exclude with sampling',
    { mode: 'Exclude', sampling: { ratio: '1' } },
    /Exclude takes only selection fields/,
  ),
  ...[
    { priority: 1 },
    { signals: { spans: 'Disabled' } },
    { protocols: ['HTTP'] },
    { metrics: { families: ['RPC'] } },
    { http: { routes: ['/a'] } },
    { limits: { maxSeries: 7 } },
  ].map((spec) =>
    refuses(
      `Exclude with ${Object.keys(spec)[0]}`,
      { mode: 'Exclude', ...spec },
      /Exclude takes only selection fields/,
    ),
  ),
  refuses('Exclude with export', { mode: 'Exclude', export: [destination] }, /Exclude takes only selection fields/),
  refuses('Exclude with autoscaling', { mode: 'Exclude', autoscaling: { metrics: [metric] } }, /Exclude takes only/),
];

const content: Case[] = [
  accepts('signals', { signals: { metrics: 'Enabled', spans: 'Disabled' } }),
  refuses('a signal as a boolean', { signals: { metrics: true } }, /must be of type string/),
  accepts('every protocol', {
    protocols: [
      'HTTP',
      'GRPC',
      'SQL',
      'Redis',
      'Kafka',
      'MQTT',
      'NATS',
      'AMQP',
      'Mongo',
      'DNS',
      'Couchbase',
      'Memcached',
      'GenAI',
    ],
  }),
  refuses('a protocol in lower case', { protocols: ['http'] }, /Unsupported value: "http"/),
  accepts('every metric family', {
    metrics: { families: ['HTTPServer', 'HTTPClient', 'RPC', 'DB', 'Messaging', 'NetworkFlow', 'TCPStats'] },
  }),
  refuses('an unknown metric family', { metrics: { families: ['UDP'] } }, /Unsupported value: "UDP"/),
  accepts('label changes', {
    metrics: { labels: { exclude: ['url_scheme'], podLabels: ['app.kubernetes.io/part-of'] } },
  }),
  refuses(
    'the exclusion of a label that identifies the owner of a series',
    { metrics: { labels: { exclude: ['url_scheme', 'k8s_namespace_name'] } } },
    /says which namespace, pod or node a series belongs to, and cannot be removed/,
  ),
  refuses(
    'a label name with a dash',
    { metrics: { labels: { exclude: ['url-scheme'] } } },
    /exclude\[0\].* should match/,
  ),
  refuses(
    'a pod label key with two slashes',
    { metrics: { labels: { podLabels: ['a/b/c'] } } },
    /podLabels\[0\].* should match/,
  ),
  refuses('11 pod labels', { metrics: { labels: { podLabels: many(11, (i) => `k${i}`) } } }, /at most 10|Too many/),
  accepts('an export interval of 5s', { metrics: { interval: '5s' } }),
  accepts('an export interval of 1m30s', { metrics: { interval: '1m30s' } }),
  refuses('an export interval of 4999ms', { metrics: { interval: '4999ms' } }, /must be at least 5s/),
  refuses('an export interval in days', { metrics: { interval: '1d' } }, /interval.* should match/),
  refuses('an export interval without a unit', { metrics: { interval: '30' } }, /interval.* should match/),
  accepts('routes with parameters and wildcards', { http: { routes: ['/users/{id}', '/static/**', '/'] } }),
  refuses('a route without a slash', { http: { routes: ['users/{id}'] } }, /a route starts with \//),
  refuses('a route with $', { http: { routes: ['/a/${HOME}'] } }, /a route starts with \//),
  refuses('a route with a space', { http: { routes: ['/a b'] } }, /a route starts with \//),
  refuses('a route with brackets', { http: { routes: ['/a[0]'] } }, /a route starts with \//),
  refuses('a route with a backslash', { http: { routes: ['/a\\b'] } }, /a route starts with \//),
  refuses('a route with a comma', { http: { routes: ['/a,b'] } }, /a route starts with \//),
  refuses('a route with a line break', { http: { routes: ['/a\n/b'] } }, /a route starts with \//),
  refuses(
    'a route of 257 characters',
    { http: { routes: [`/${'x'.repeat(256)}`] } },
    /may not be more than 256|Too long/,
  ),
  refuses('201 routes', { http: { routes: many(201, (i) => `/r${i}`) } }, /at most 200|Too many/),
  accepts('ignored paths', { http: { ignorePaths: ['/healthz', '/static/*'] } }),
  refuses('an ignored path without a slash', { http: { ignorePaths: ['healthz'] } }, /a path starts with \//),
  refuses('an ignored path with $', { http: { ignorePaths: ['/$HOME'] } }, /a path starts with \//),
  accepts('captured headers', { http: { headers: { capture: ['X-Tenant', 'x_request_id'] } } }),
  refuses(
    'a header name with a colon',
    { http: { headers: { capture: ['X-Tenant:'] } } },
    /capture\[0\].* should match/,
  ),
];

const samplingAndLimits: Case[] = [
  ...['0', '1', '0.05', '1.0', '0.123456'].map((ratio) => accepts(`a ratio of ${ratio}`, { sampling: { ratio } })),
  ...['1.1', '2', '-0.1', '.5', '0.1234567', '10%', ''].map((ratio) =>
    refuses(`a ratio of "${ratio}"`, { sampling: { ratio } }, /ratio.* should match/),
  ),
  refuses('a ratio as a number', { sampling: { ratio: 0.5 } }, /must be of type string/),
  accepts('tail sampling', { sampling: { keepErrors: true, keepSlowerThan: '1ms', parentBased: false } }),
  refuses('keepSlowerThan of 0s', { sampling: { keepSlowerThan: '0s' } }, /must be at least 1ms/),
  refuses('keepSlowerThan in nanoseconds', { sampling: { keepSlowerThan: '5ns' } }, /keepSlowerThan.* should match/),
  accepts('the largest limits', { limits: { maxSeries: 1_000_000, maxSpansPerSecond: 1_000_000 } }),
  refuses('maxSeries of 0', { limits: { maxSeries: 0 } }, /greater than or equal to 1/),
  refuses('maxSeries above a million', { limits: { maxSeries: 1_000_001 } }, /less than or equal to 1e\+06|1000000/),
  refuses('maxSpansPerSecond of 0', { limits: { maxSpansPerSecond: 0 } }, /greater than or equal to 1/),
  accepts('suspend', { suspend: true }),
];

const exportAndAutoscaling: Case[] = [
  accepts('an https destination with a Secret', {
    export: [{ ...destination, secretRef: { name: 'token', key: 'token' } }],
  }),
  refuses(
    'a destination with a password in its URL',
    { export: [{ ...destination, endpoint: 'https://a:b@metrics.example/push' }] },
    /must not hold a user or a password/,
  ),
  accepts('an http destination in the cluster', {
    export: [
      { ...destination, endpoint: 'http://mimir.metrics.svc:8080/api/v1/push' },
      { ...destination, name: 'b', endpoint: 'http://otel.metrics.svc.cluster.local:4318', labels: { cluster: 'a' } },
    ],
  }),
  refuses(
    'an http destination outside the cluster',
    { export: [{ ...destination, endpoint: 'http://metrics.example/' }] },
    /must be https, or http to an in-cluster Service/,
  ),
  refuses(
    'an http destination that only looks like a Service',
    { export: [{ ...destination, endpoint: 'http://a.b.svc.evil.example/' }] },
    /must be https, or http/,
  ),
  refuses(
    'a file URL as a destination',
    { export: [{ ...destination, endpoint: 'file:///etc/passwd' }] },
    /must be https, or http/,
  ),
  refuses(
    'a destination with $',
    { export: [{ ...destination, endpoint: 'https://${HOST}/' }] },
    /must not contain \$/,
  ),
  refuses('two destinations of one name', { export: [destination, destination] }, /Duplicate value/),
  refuses('a destination name in capitals', { export: [{ ...destination, name: 'Central' }] }, /name.* should match/),
  refuses('a destination without a type', { export: [{ name: 'a', endpoint: 'https://a' }] }, /type: Required value/),
  refuses('five destinations', { export: many(5, (i) => ({ ...destination, name: `d${i}` })) }, /at most 4|Too many/),
  refuses(
    'a Secret name with a slash',
    { export: [{ ...destination, secretRef: { name: 'a/b', key: 'k' } }] },
    /secretRef.name.* should match/,
  ),
  refuses(
    'a Secret key with a space',
    { export: [{ ...destination, secretRef: { name: 'a', key: 'a b' } }] },
    /secretRef.key.* should match/,
  ),
  accepts('autoscaling by preset and by expression', {
    autoscaling: {
      metrics: [metric, { name: 'busy', expr: 'sum(rate(x[1m]))', resource: 'deployments.apps', window: '2m' }],
    },
  }),
  refuses(
    'neither expression nor preset',
    { autoscaling: { metrics: [{ name: 'a', resource: 'pods' }] } },
    /set exactly one of expr and preset/,
  ),
  refuses(
    'both expression and preset',
    { autoscaling: { metrics: [{ ...metric, expr: '1' }] } },
    /set exactly one of expr and preset/,
  ),
  refuses(
    'an unknown preset',
    { autoscaling: { metrics: [{ ...metric, preset: 'P42' }] } },
    /Unsupported value: "P42"/,
  ),
  refuses(
    'a metric name with a dash',
    { autoscaling: { metrics: [{ ...metric, name: 'a-b' }] } },
    /name.* should match/,
  ),
  refuses('two metrics of one name', { autoscaling: { metrics: [metric, metric] } }, /Duplicate value/),
  refuses(
    'a resource in capitals',
    { autoscaling: { metrics: [{ ...metric, resource: 'Pods' }] } },
    /resource.* should match/,
  ),
  refuses('a window of 0s', { autoscaling: { metrics: [{ ...metric, window: '0s' }] } }, /must be at least 1s/),
  refuses(
    'an expression of 5000 characters',
    { autoscaling: { metrics: [{ name: 'a', expr: longText, resource: 'pods' }] } },
    /may not be more than 4096|Too long/,
  ),
];

const shape: Case[] = [
  refuses('an unknown field', { sample: {} }, /unknown field "spec.sample"/),
  refuses(
    'an unknown field deep inside',
    { http: { headers: { keep: [] } } },
    /unknown field "spec.http.headers.keep"/,
  ),
  refuses('a list where an object belongs', { sampling: [] }, /must be of type object/),
];

export const monitorCases: readonly Case[] = [
  ...selection,
  ...exclude,
  ...content,
  ...samplingAndLimits,
  ...exportAndAutoscaling,
  ...shape,
];
