import type { Static } from '@sinclair/typebox';
import { namespaceLabel, nodeLabel } from '../labels.ts';
import { choice, flag, integer, list, map, object, optional, rules, text } from '../schema/build.ts';
import { duration, glob, noUserInfo, patterns, ratio, secretKeyRef } from '../schema/common.ts';

/** Fields that TrafficMonitor and ClusterTrafficPolicy share: what a policy may default or override in a monitor. */

export const protocolNames = [
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
] as const;
export type Protocol = (typeof protocolNames)[number];

export const familyNames = ['HTTPServer', 'HTTPClient', 'RPC', 'DB', 'Messaging', 'NetworkFlow', 'TCPStats'] as const;
export type MetricFamily = (typeof familyNames)[number];

export const workloadKinds = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob', 'Pod'] as const;
export type WorkloadKind = (typeof workloadKinds)[number];

export const workloads = list(
  'Workloads by kind and name. One match is enough.',
  object('One workload, or several by a name pattern.', {
    kind: choice('The kind of the workload.', workloadKinds),
    name: glob('The name; * and ? are wildcards.'),
  }),
  { minItems: 1, maxItems: 32 },
);

export const portRange = object(
  'A port, or a closed range of ports.',
  {
    port: integer('The port, or the first port of the range.', { minimum: 1, maximum: 65_535 }),
    endPort: optional(integer('The last port of the range, itself included.', { minimum: 1, maximum: 65_535 })),
  },
  rules({ rule: '!has(self.endPort) || self.endPort >= self.port', message: 'endPort must not be below port' }),
);

export const signals = object('Which signals are kept. Both are, unless switched off.', {
  metrics: optional(choice('Metrics of the captured requests.', ['Enabled', 'Disabled'])),
  spans: optional(choice('One span for each captured request.', ['Enabled', 'Disabled'])),
});

export const protocols = list(
  'The application protocols to recognise. If neither monitor nor policy sets them: those that the instrument recognises by default.',
  choice('A protocol.', protocolNames),
  { minItems: 1, maxItems: 16, type: 'atomic' },
);

const familyList = (description: string) =>
  list(description, choice('A metric family.', familyNames), { minItems: 1, maxItems: 8 });

export const families = familyList(
  'The metric families to keep. If neither monitor nor policy sets them: all but TCPStats, because a failure to set up TCPStats ends capture on the node.',
);

/** Labels that say whose a series is: limits, rights, redaction and autoscalers need them, so nothing removes them. */
export const namingLabels: readonly string[] = [
  namespaceLabel,
  'k8s_pod_name',
  nodeLabel,
  'k8s_src_namespace',
  'k8s_dst_namespace',
];
/** `namingLabels` as a CEL list. */
export const namingLabelsText = `[${namingLabels.map((name) => `'${name}'`).join(', ')}]`;
export const namingLabelFault = 'says which namespace, pod or node a series belongs to, and cannot be removed';

export const metrics = object('Which metrics are kept, with which labels, and how often they are exported.', {
  families: optional(families),
  labels: optional(
    object('Changes to the labels of the metrics.', {
      exclude: optional(
        list(
          'Labels to leave out. Series that differ only in these are added up. Namespace, pod and node always stay.',
          text('A label name.', { maxLength: 128, pattern: patterns.metricLabel }),
          {
            maxItems: 32,
            ...rules({
              rule: `self.all(l, !(l in ${namingLabelsText}))`,
              message: `a label of ${namingLabels.join(', ')} ${namingLabelFault}`,
            }),
          },
        ),
      ),
      podLabels: optional(
        list(
          'Pod labels to add, each as label_<key> with other characters turned into underscores.',
          text('A pod label key.', { minLength: 1, maxLength: 317, pattern: patterns.labelKey }),
          { maxItems: 10 },
        ),
      ),
    }),
  ),
  interval: optional(duration('How often values are exported; 10s unless set. At least 5s.', '5s')),
});

const routePattern = "self.matches('^/[^\\\\s$!,\\\\[\\\\]\\\\\\\\?]*$')";

export const routes = list(
  'Path patterns that become the http_route label, such as /users/{id}. Without them paths are grouped by heuristics.',
  text('A path pattern: literal segments, {parameters} and the wildcard *.', {
    maxLength: 256,
    ...rules({
      rule: routePattern,
      message: 'a route starts with / and has no space and none of $ ! , [ ] \\ ?',
    }),
  }),
  { maxItems: 200 },
);

export const sampling = object('Which spans are kept. Metrics count every request whatever this says.', {
  ratio: optional(ratio('The share of traces to keep, from "0" to "1"; "1" unless set.')),
  parentBased: optional(flag('Follow the decision of the caller where it made one; true unless set.')),
  keepErrors: optional(flag('Keep every span that failed. The agent then decides, after the request is over.')),
  keepSlowerThan: optional(
    duration('Keep every span that took longer. The agent then decides, after the request is over.', '1ms'),
  ),
});

/** The part of a monitor that a policy can default or override. Presence means "set": nothing here has a default. */
export const monitorSettings = (description: string) =>
  object(description, {
    signals: optional(signals),
    protocols: optional(protocols),
    sampling: optional(sampling),
    metrics: optional(metrics),
    http: optional(object('HTTP details.', { routes: optional(routes) })),
  });
export type MonitorSettings = Static<ReturnType<typeof monitorSettings>>;

/** Every leaf of `MonitorSettings`, as a path of member names. */
export const monitorSettingLeaves = [
  ['signals', 'metrics'],
  ['signals', 'spans'],
  ['protocols'],
  ['sampling', 'ratio'],
  ['sampling', 'parentBased'],
  ['sampling', 'keepErrors'],
  ['sampling', 'keepSlowerThan'],
  ['metrics', 'families'],
  ['metrics', 'labels', 'exclude'],
  ['metrics', 'labels', 'podLabels'],
  ['metrics', 'interval'],
  ['http', 'routes'],
] as const satisfies readonly (readonly string[])[];

export const exporters = list(
  'Where to send the captured data besides the store on the node.',
  object('One destination.', {
    name: text('A name for the destination, unique in this list.', {
      minLength: 1,
      maxLength: 63,
      pattern: patterns.dnsLabel,
    }),
    type: choice('The protocol of the destination.', ['RemoteWrite', 'OTLP']),
    endpoint: text('The URL: https, or http to a Service of this cluster.', {
      minLength: 1,
      maxLength: 512,
      ...rules(
        {
          rule: "self.startsWith('https://') || self.matches('^http://[a-z0-9-]+\\\\.[a-z0-9-]+\\\\.svc(\\\\.cluster\\\\.local)?(:[0-9]+)?(/.*)?$')",
          message: 'must be https, or http to an in-cluster Service (http://name.namespace.svc)',
        },
        { rule: "!self.contains('$') && !self.contains('\\n')", message: 'must not contain $ or a line break' },
        noUserInfo,
      ),
    }),
    secretRef: optional(secretKeyRef('A bearer token in a Secret of the same namespace.')),
    families: optional(familyList('The metric families to send; all unless set.')),
    labels: optional(
      map('Labels to add to everything sent.', text('The value.', { maxLength: 256 }), { maxProperties: 16 }),
    ),
  }),
  { maxItems: 4, type: 'map', keys: ['name'] },
);
