import type { Static } from '@sinclair/typebox';
import type { ObjectMeta } from '../meta.ts';
import type { CelRule } from '../schema/build.ts';
import { choice, flag, integer, list, object, opaque, optional, rules, text } from '../schema/build.ts';
import { conditions, count, observedGeneration, hash, labelSelector } from '../schema/common.ts';
import type { KindDefinition } from '../schema/kind.ts';
import type { groupVersion } from './group.ts';
import { category, product, clusterTrafficPolicies } from './group.ts';
import {
  httpGlobals,
  instrument,
  limits,
  network,
  queryLimits,
  redaction,
  retention,
  rollout,
} from './policy-fields.ts';
import { capture, exclusions } from './policy-scope.ts';
import { exporters, monitorSettingLeaves, monitorSettings } from './traffic-fields.ts';
import { failedNodes } from './traffic-status.ts';

/** `defaults` and `overrides` never set the same field: the override would make the default meaningless. */
const eachLeafOnce: CelRule[] = monitorSettingLeaves.map((leaf) => {
  const present = (root: string) =>
    leaf.map((_, depth) => `has(self.${root}.${leaf.slice(0, depth + 1).join('.')})`).join(' && ');
  const path = leaf.join('.');
  return {
    rule: `!has(self.defaults) || !has(self.overrides) || !(${present('defaults')} && ${present('overrides')})`,
    message: `${path} is set in both defaults and overrides; keep one`,
  };
});

export const clusterTrafficPolicySpec = object(
  'Scope, ceilings, exclusions, retention and rollout for the whole cluster or a part of it.',
  {
    priority: optional(
      integer('Orders policies that cover one node: the higher number first; 0 unless set.', {
        minimum: -1000,
        maximum: 1000,
      }),
    ),
    nodeSelector: optional(labelSelector('The nodes this policy covers; all unless set.')),
    namespaceSelector: optional(labelSelector('The namespaces this policy covers; all unless set.')),
    capture: optional(capture),
    exclusions: optional(exclusions),
    systemNamespaces: optional(
      choice(
        "Inherit keeps the instrument's own list of excluded system namespaces; None captures them too, except the operator's own.",
        ['Inherit', 'None'],
      ),
    ),
    monitorNamespaces: optional(labelSelector('The namespaces whose TrafficMonitors are accepted; all unless set.')),
    defaults: optional(monitorSettings('Values for what a monitor leaves out.')),
    overrides: optional(monitorSettings('Values that no monitor can change.')),
    http: optional(httpGlobals),
    network: optional(network),
    limits: optional(limits),
    retention: optional(retention),
    redaction: optional(redaction),
    query: optional(queryLimits),
    instrument: optional(instrument),
    rollout: optional(rollout),
    export: optional(exporters),
    exportAllowList: optional(
      list(
        'Hosts that monitors may send to. None unless set, so that no tenant can reach into the network.',
        text('A host name; * is a wildcard.', { minLength: 1, maxLength: 253, pattern: '^[A-Za-z0-9.*?-]+$' }),
        { maxItems: 32 },
      ),
    ),
    paused: optional(flag('Emergency stop: no capture of requests in the scope of this policy.')),
  },
  rules(...eachLeafOnce),
);
export type ClusterTrafficPolicySpec = Static<typeof clusterTrafficPolicySpec>;

const status = object('What the controller has found out.', {
  observedGeneration: optional(observedGeneration),
  conditions: optional(conditions),
  nodes: optional(
    object('How many nodes are in scope.', {
      desired: count('Nodes in scope that should have an agent.'),
      updated: count('Nodes that run this generation.'),
      ready: count('Nodes that run their configuration and answer.'),
      failed: count('Nodes that could not run it.'),
      outdated: count('Nodes that still run an older configuration.'),
    }),
  ),
  configHash: optional(hash('A hash of all that the agents in its scope are sent, without names of nodes and pods.')),
  lastKnownGoodHash: optional(hash('The hash that nodes go back to when a new configuration fails.')),
  lastAcceptedSpec: optional(
    opaque<ClusterTrafficPolicySpec>('The newest spec that was accepted. It stays in force while a newer one is not.'),
  ),
  monitors: optional(
    object('TrafficMonitors in scope.', {
      accepted: count('Accepted ones.'),
      rejected: count('Refused ones.'),
      conflicted: count('Those that lost a field to another object.'),
    }),
  ),
  failedNodes: optional(failedNodes),
});
export type ClusterTrafficPolicyStatus = Static<typeof status>;

/** A ClusterTrafficPolicy as the API server returns it. */
export interface ClusterTrafficPolicy {
  apiVersion: typeof groupVersion;
  kind: 'ClusterTrafficPolicy';
  metadata: ObjectMeta;
  spec: ClusterTrafficPolicySpec;
  status?: ClusterTrafficPolicyStatus;
}

export const clusterTrafficPolicyKind: KindDefinition = {
  resource: clusterTrafficPolicies,
  listKind: 'ClusterTrafficPolicyList',
  singular: 'clustertrafficpolicy',
  shortNames: ['ctp'],
  categories: [category],
  product,
  description: 'ClusterTrafficPolicy sets what may be captured in a cluster, and within which limits.',
  spec: clusterTrafficPolicySpec,
  status,
  columns: [
    { name: 'Priority', type: 'integer', path: '.spec.priority' },
    { name: 'Mode', type: 'string', path: '.spec.capture.mode' },
    { name: 'Nodes', type: 'integer', path: '.status.nodes.ready', description: 'Nodes that run their configuration' },
    { name: 'Desired', type: 'integer', path: '.status.nodes.desired', description: 'Nodes in scope' },
    { name: 'Monitors', type: 'integer', path: '.status.monitors.accepted', description: 'Accepted monitors' },
    { name: 'Ready', type: 'string', condition: 'Ready' },
    { name: 'Programmed', type: 'string', condition: 'Programmed', wide: true },
    { name: 'Degraded', type: 'string', condition: 'Degraded' },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp' },
  ],
};
