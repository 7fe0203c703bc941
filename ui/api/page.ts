/** Requests of the page other than PromQL: topology, services, objects and explanations. */
import type { Objects, ObjectKind, ServiceSummary, Topology, WorkloadExplanation } from '../../src/api/page/types.ts';
import { ask, askFor, type Answer, type AskOptions } from './client.ts';
import { servicesQuestion, topologyQuestion, type TopologyRequest } from './questions.ts';

export type {
  ExplainStep,
  ObjectCondition,
  ObjectItem,
  ObjectKind,
  NodeReport,
  PodExplanation,
  ServiceSummary,
  Topology,
} from '../../src/api/page/types.ts';

export function topology(request: TopologyRequest, options?: AskOptions): Promise<Answer<Topology>> {
  return askFor(topologyQuestion(request), options);
}

export function services(window: string, options?: AskOptions): Promise<Answer<ServiceSummary[]>> {
  return askFor(servicesQuestion(window), options);
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
