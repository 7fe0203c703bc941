import type { KubeObject } from '../../api/meta.ts';
import type { NodeReport, ObjectCondition, ObjectItem } from '../../api/page/types.ts';

/** An object as the page gets it. Pure. */
export function objectItem(object: KubeObject, node?: NodeReport): ObjectItem {
  const { name = '', namespace = '', generation = 0, creationTimestamp } = object.metadata;
  const { conditions, ...status } = (object['status'] ?? {}) as { conditions?: readonly Partial<ObjectCondition>[] };
  return {
    metadata: { name, namespace, generation, ...(creationTimestamp ? { creationTimestamp } : {}) },
    spec: (node ? {} : (object['spec'] ?? {})) as Record<string, unknown>,
    conditions: (conditions ?? []).map(condition),
    status: node ? {} : status,
    ...(node ? { node } : {}),
  };
}

function condition(given: Partial<ObjectCondition>): ObjectCondition {
  const { type = '', status = 'Unknown', reason = '', message = '', lastTransitionTime, observedGeneration } = given;
  return {
    ...{ type, status, reason, message },
    ...(lastTransitionTime ? { lastTransitionTime } : {}),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  };
}

/** One element of the answer to `nodesQuery`. */
interface StoredSelf {
  readonly labels: Readonly<Record<string, string>>;
}

/** What agents keep of themselves in their stores: version, and the capture configuration with its phase. */
export const nodesQuery =
  'label_replace(svc_agent_up, "svc_part", "up", "", "") or ' +
  'label_replace(svc_instrument_config_hash_info == 1, "svc_part", "config", "", "")';

/** How a node fares, from its own series; what those do not tell is null. Pure. */
export function nodeReport(node: string, samples: readonly StoredSelf[], missing: string | null): NodeReport {
  const of = (part: string): Readonly<Record<string, string>> | undefined =>
    samples.find(({ labels }) => labels['k8s_node_name'] === node && labels['svc_part'] === part)?.labels;
  const config = of('config');
  return {
    missing,
    agentVersion: of('up')?.['version'] ?? null,
    phase: config?.['phase'] ?? null,
    configHash: config?.['hash'] ?? null,
    instrumentVersion: null,
    ...{ instrumentUp: null, instrumentRestarts: null, instrumentMemoryBytes: null, agentMemoryBytes: null },
    ...{ seriesActive: null, seriesLimit: null, seriesLimitHits: null, clockOffsetMs: null, certificateEndMs: null },
    notCaptured: [],
  };
}
