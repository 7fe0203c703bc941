import type { Pacing } from '../../base/turns/turns.ts';
import { nodeLabel } from '../../api/labels.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { NodeReport, ObjectCondition, ObjectItem, ObjectKind } from '../../api/page/types.ts';
import {
  clusterTrafficPolicyConditions,
  commonConditions,
  minterDeploymentConditions,
  trafficMonitorConditions,
  type GoodStatus,
} from '../../api/v1alpha1/index.ts';
import type { Labels } from '../../tsdb/index.ts';

type ConditionTable = Readonly<Record<string, { readonly good: GoodStatus }>>;

/** The good status of each condition; a condition without an entry is good when True. */
const goodStatus: Readonly<Record<ObjectKind, (type: string) => GoodStatus>> = {
  TrafficMonitor: goodIn(trafficMonitorConditions),
  ClusterTrafficPolicy: goodIn(clusterTrafficPolicyConditions),
  MinterDeployment: goodIn(minterDeploymentConditions),
  // All conditions of a node except Ready report pressures and faults.
  Node: (type) => (type === 'Ready' ? 'True' : 'False'),
};

function goodIn(own: ConditionTable): (type: string) => GoodStatus {
  const table: ConditionTable = { ...commonConditions, ...own };
  return (type) => table[type]?.good ?? 'True';
}

/** An object in the form in which the web page reads it. Pure. */
export function objectItem(kind: ObjectKind, object: KubeObject, node?: NodeReport): ObjectItem {
  const { name = '', namespace = '', generation = 0, creationTimestamp } = object.metadata;
  const { conditions, ...status } = (object['status'] ?? {}) as { conditions?: readonly Partial<ObjectCondition>[] };
  return {
    metadata: { name, namespace, generation, ...(creationTimestamp ? { creationTimestamp } : {}) },
    spec: (node ? {} : (object['spec'] ?? {})) as Record<string, unknown>,
    conditions: (conditions ?? []).map((given) => condition(given, goodStatus[kind])),
    status: node ? {} : status,
    ...(node ? { node } : {}),
  };
}

function condition(given: Partial<ObjectCondition>, goodOf: (type: string) => GoodStatus): ObjectCondition {
  const { type = '', status = 'Unknown', reason = '', message = '', lastTransitionTime, observedGeneration } = given;
  return {
    ...{ type, status, reason, message, good: status === goodOf(type) },
    ...(lastTransitionTime ? { lastTransitionTime } : {}),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  };
}

/** One element of the answer to `nodesQuery`. */
export interface StoredSelf {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** For pacing: reading one label of an element costs as much as this many samples. */
const labelWork = 10;

/** The agents' own series that a node's report is made of. */
const stored = {
  up: 'svc_agent_up',
  config: 'svc_instrument_config_hash_info',
  instrument: 'svc_instrument_info',
  instrumentUp: 'svc_instrument_up',
  instrumentRestarts: 'svc_instrument_restarts_total',
  instrumentMemory: 'svc_instrument_memory_bytes',
  agentMemory: 'svc_agent_memory_bytes',
  series: 'svc_series_active',
  seriesLimit: 'svc_series_limit',
  limitHits: 'svc_series_limit_hits_total',
  certificateEnd: 'svc_cert_expiry_timestamp_seconds',
} as const;

/** One query for the whole report, so that all values are from the same moment. */
export const nodesQuery = `{__name__=~"${Object.values(stored).join('|')}"}`;

/** The inputs of a node's report other than the agent's own series. */
export interface NodeSurroundings {
  /** Why the node has no agent that answers; null when it has one. */
  readonly missing: string | null;
  /** Unit: ms. */
  readonly clockOffsetMs: number | null;
  readonly notCaptured: NodeReport['notCaptured'];
}

/** The elements of the answer to `nodesQuery`, by node. */
export async function selvesByNode(
  pacing: Pacing,
  elements: readonly { readonly labels: Labels; readonly value: number }[],
): Promise<Map<string, StoredSelf[]>> {
  const byNode = new Map<string, StoredSelf[]>();
  for (const { labels, value } of elements) {
    const own = new Map(labels);
    const node = own.get(nodeLabel) ?? '';
    const known = byNode.get(node);
    if (known === undefined) byNode.set(node, [{ labels: own, value }]);
    else known.push({ labels: own, value });
    if (pacing.spend(labels.length * labelWork)) await pacing.turn();
  }
  return byNode;
}

/** A node's report from its own series; values that the series lack are null. Pure. */
export function nodeReport(own: readonly StoredSelf[], around: NodeSurroundings): NodeReport {
  const of = (name: keyof typeof stored): StoredSelf[] =>
    own.filter(({ labels }) => labels.get('__name__') === stored[name]);
  const sum = (name: keyof typeof stored): number | null => {
    const found = of(name);
    return found.length === 0 ? null : found.reduce((total, { value }) => total + value, 0);
  };
  // 0 means that the gauge was never set, since no process has that size and no certificate expires at that time.
  const known = (name: keyof typeof stored): number | null => sum(name) || null;
  const up = sum('instrumentUp');
  const end = known('certificateEnd');
  const { labels: config } = of('config').find(({ value }) => value === 1) ?? {};
  return {
    ...around,
    agentVersion: of('up')[0]?.labels.get('version') ?? null,
    instrumentVersion: of('instrument')[0]?.labels.get('version') ?? null,
    phase: config?.get('phase') ?? null,
    configHash: config?.get('hash') ?? null,
    instrumentUp: up === null ? null : up === 1,
    instrumentRestarts: sum('instrumentRestarts'),
    instrumentMemoryBytes: known('instrumentMemory'),
    agentMemoryBytes: known('agentMemory'),
    seriesActive: sum('series'),
    seriesLimit: known('seriesLimit'),
    seriesLimitHits: sum('limitHits'),
    certificateEndMs: end === null ? null : end * 1_000,
  };
}
