/** What the page asks beside PromQL: topology, services and objects. */
import type {
  Objects,
  ObjectKind,
  ServiceSummary,
  Topology,
  TopologyGrouping,
  WorkloadExplanation,
} from '../../src/api/page/types.ts';
import { ask, type Answer, type AskOptions } from './client.ts';

export type {
  EdgePromql,
  ExplainStep,
  ObjectCondition,
  ObjectItem,
  ObjectKind,
  Objects,
  NodeReport,
  PodExplanation,
  ServiceSummary,
  Stats,
  Topology,
  TopologyEdge,
  TopologyGrouping,
  TopologyNode,
  WorkloadExplanation,
} from '../../src/api/page/types.ts';

export interface TopologyRequest {
  readonly by: TopologyGrouping;
  /** A PromQL duration. */
  readonly window: string;
  /** Only what concerns it. */
  readonly namespace?: string;
}

export function topology({ by, window, namespace }: TopologyRequest, options?: AskOptions): Promise<Answer<Topology>> {
  return ask('topology', { by, window, ...(namespace ? { namespace } : {}) }, options);
}

export function services(window: string, options?: AskOptions): Promise<Answer<ServiceSummary[]>> {
  return ask('services', { window }, options);
}

export function objects(kind: ObjectKind, options?: AskOptions): Promise<Answer<Objects>> {
  return ask('objects', { kind }, options);
}

/** Why the pods of a workload are captured or not. */
export function explain(
  { namespace, workload, kind }: { readonly namespace: string; readonly workload: string; readonly kind: string },
  options?: AskOptions,
): Promise<Answer<WorkloadExplanation>> {
  return ask('explain', { namespace, workload, kind }, options);
}
