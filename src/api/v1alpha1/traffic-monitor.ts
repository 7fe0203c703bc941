import type { Static } from '@sinclair/typebox';
import type { ObjectMeta } from '../meta.ts';
import { choice, flag, integer, list, object, opaque, optional, rules, text } from '../schema/build.ts';
import {
  conditions,
  count,
  duration,
  observedGeneration,
  glob,
  hash,
  labelSelector,
  timestamp,
} from '../schema/common.ts';
import type { KindDefinition } from '../schema/kind.ts';
import type { groupVersion } from './group.ts';
import { category, product, trafficMonitors } from './group.ts';
import { exporters, metrics, portRange, protocols, routes, sampling, signals, workloads } from './traffic-fields.ts';
import { failedNodes } from './traffic-status.ts';

const selector = labelSelector(
  'The pods to match, by label. An empty selector matches every pod of the namespace.',
  rules({
    rule: "!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In','Exists'])",
    message: 'NotIn/DoesNotExist unsupported; use a second monitor with mode: Exclude',
  }),
);

const http = object('HTTP details.', {
  routes: optional(routes),
  ignorePaths: optional(
    list(
      'Paths whose requests are neither counted nor kept, such as /healthz.',
      text('A path; * is a wildcard.', {
        maxLength: 256,
        ...rules({
          rule: "self.matches('^/[^\\\\s$]*$')",
          message: 'a path starts with / and has no space and no $',
        }),
      }),
      { maxItems: 64 },
    ),
  ),
  headers: optional(
    object('HTTP headers.', {
      capture: optional(
        list(
          'Headers to keep on spans. A policy must list each in redaction.headers.allow, else the monitor is refused.',
          text('A header name.', { minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' }),
          { maxItems: 16 },
        ),
      ),
    }),
  ),
});

export const autoscalingPresets = [
  'RequestsPerSecond',
  'ErrorRatio',
  'LatencyP50',
  'LatencyP90',
  'LatencyP99',
  'BytesPerSecond',
] as const;

const autoscaling = object('Metrics for HorizontalPodAutoscalers.', {
  metrics: optional(
    list(
      'The metrics to offer through custom.metrics.k8s.io.',
      object(
        'One metric.',
        {
          name: text('The name an autoscaler asks for.', { maxLength: 63, pattern: '^[a-z][a-z0-9_]{0,62}$' }),
          expr: optional(
            text('A PromQL expression, limited to the series of this namespace.', { minLength: 1, maxLength: 4096 }),
          ),
          preset: optional(choice('A ready-made expression.', autoscalingPresets)),
          resource: text('What the metric describes: pods, deployments.apps, ...', {
            maxLength: 128,
            pattern: '^[a-z]+(\\.[a-z0-9.-]+)?$',
          }),
          window: optional(duration('The time the expression looks back; 1m unless set.', '1s')),
        },
        rules({ rule: 'has(self.expr) != has(self.preset)', message: 'set exactly one of expr and preset' }),
      ),
      { maxItems: 20, type: 'map', keys: ['name'] },
    ),
  ),
});

/** Fields that say how to capture. They have no meaning where nothing is captured. */
const captureFields = [
  'priority',
  'signals',
  'protocols',
  'metrics',
  'http',
  'sampling',
  'limits',
  'export',
  'autoscaling',
] as const;

export const trafficMonitorSpec = object(
  'What to capture.',
  {
    mode: choice(
      'Capture the matched pods, or exclude them from all capture in this namespace.',
      ['Capture', 'Exclude'],
      {
        default: 'Capture',
      },
    ),
    selector: optional(selector),
    workloads: optional(workloads),
    containers: optional(
      object('Which containers of the matched pods.', {
        include: optional(
          list('Container names; any container unless set.', glob('A container name; * and ? are wildcards.'), {
            minItems: 1,
            maxItems: 16,
          }),
        ),
      }),
    ),
    ports: optional(
      list('Ports the matched processes listen on; any port unless set.', portRange, { minItems: 1, maxItems: 64 }),
    ),
    priority: optional(
      integer('Decides between monitors that match one pod: the higher number wins; 0 unless set.', {
        minimum: -1000,
        maximum: 1000,
      }),
    ),
    signals: optional(signals),
    protocols: optional(protocols),
    metrics: optional(metrics),
    http: optional(http),
    sampling: optional(sampling),
    limits: optional(
      object('Ceilings for this monitor. The policy may set lower ones.', {
        maxSeries: optional(
          integer('The most series this monitor may have on one node.', { minimum: 1, maximum: 1_000_000 }),
        ),
        maxSpansPerSecond: optional(
          integer('The most spans each second on one node.', { minimum: 1, maximum: 1_000_000 }),
        ),
      }),
    ),
    export: optional(exporters),
    autoscaling: optional(autoscaling),
    suspend: optional(flag('Stop capturing for this monitor. What was captured stays.')),
  },
  rules(
    {
      rule: `self.mode != 'Exclude' || (${captureFields.map((name) => `!has(self.${name})`).join(' && ')})`,
      message: `Exclude takes only selection fields; remove ${captureFields.join(', ')}`,
    },
    {
      rule: 'has(self.selector) || has(self.workloads) || has(self.ports)',
      message: 'select something; use selector: {} for the whole namespace',
    },
  ),
);
export type TrafficMonitorSpec = Static<typeof trafficMonitorSpec>;

const status = object('What the controller has found out.', {
  observedGeneration: optional(observedGeneration),
  conditions: optional(conditions),
  matchedPods: optional(count('Pods that the monitor matches.')),
  nodes: optional(
    object('How many nodes carry this monitor.', {
      desired: count('Ready nodes that have a matched pod and should have an agent.'),
      updated: count('Nodes that run this generation.'),
      capturing: count('Nodes with recent data.'),
      failed: count('Nodes that could not run it.'),
    }),
  ),
  configHash: optional(hash('The hash of the configuration compiled from the spec in force; absent when none is.')),
  activeSeries: optional(count('Series with recent samples, over all nodes.')),
  droppedSeries: optional(count('Series refused or folded by a limit, over all nodes.')),
  lastSampleTime: optional(timestamp('When the newest sample arrived; moves at most once a minute.')),
  lastAcceptedSpec: optional(
    opaque<TrafficMonitorSpec>('The newest spec that was accepted. It stays in force while a newer one is not.'),
  ),
  effective: optional(
    object('What policies made of this monitor.', {
      policyRefs: optional(
        list('The policies that apply, the strongest first.', text('A policy name.', { maxLength: 253 }), {
          maxItems: 16,
        }),
      ),
      overriddenFields: optional(
        list('Fields whose value comes from a policy.', text('A field path.', { maxLength: 256 }), { maxItems: 32 }),
      ),
    }),
  ),
  conflicts: optional(
    list(
      'Objects that decided a field instead of this one, at most 16.',
      object('One such object.', {
        with: text('Kind and name of the object.', { maxLength: 512 }),
        fields: list('The fields.', text('A field path.', { maxLength: 256 }), { maxItems: 32 }),
        resolution: text('Which one won, and by what rule.', { maxLength: 512 }),
      }),
      { maxItems: 16 },
    ),
  ),
  failedNodes: optional(failedNodes),
});
export type TrafficMonitorStatus = Static<typeof status>;

/** A TrafficMonitor as the API server returns it: defaults are filled in. */
export interface TrafficMonitor {
  apiVersion: typeof groupVersion;
  kind: 'TrafficMonitor';
  metadata: ObjectMeta;
  spec: TrafficMonitorSpec;
  status?: TrafficMonitorStatus;
}

export const trafficMonitorKind: KindDefinition = {
  resource: trafficMonitors,
  listKind: 'TrafficMonitorList',
  singular: 'trafficmonitor',
  shortNames: ['tm'],
  categories: [category],
  product,
  description: 'TrafficMonitor says what HTTP, RPC and TCP traffic of the pods in its namespace is captured.',
  spec: trafficMonitorSpec,
  status,
  columns: [
    { name: 'Mode', type: 'string', path: '.spec.mode' },
    { name: 'Priority', type: 'integer', path: '.spec.priority', wide: true },
    { name: 'Pods', type: 'integer', path: '.status.matchedPods', description: 'Matched pods' },
    { name: 'Nodes', type: 'integer', path: '.status.nodes.capturing', description: 'Nodes with recent data' },
    { name: 'Desired', type: 'integer', path: '.status.nodes.desired', description: 'Nodes that should have it' },
    { name: 'Series', type: 'integer', path: '.status.activeSeries', description: 'Series with recent samples' },
    { name: 'Ready', type: 'string', condition: 'Ready' },
    { name: 'Accepted', type: 'string', condition: 'Accepted', wide: true },
    { name: 'Capturing', type: 'string', condition: 'Capturing' },
    { name: 'Conflicted', type: 'string', condition: 'Conflicted', wide: true },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp' },
  ],
};
