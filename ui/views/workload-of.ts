/** Finds the workload that the page's URL names in the answers of the API. Pure. */
import type { ServiceSummary, TopologyNode } from '../../src/api/page/types.ts';

export interface Workload {
  readonly namespace: string;
  readonly name: string;
  /** Empty if the URL has no kind, which means the first workload of any kind. */
  readonly kind: string;
}

export function summaryOf(services: readonly ServiceSummary[], own: Workload): ServiceSummary | undefined {
  return services.find((each) =>
    isIt(own, { namespace: each.namespace, name: each.workload, kind: each.workloadKind }),
  );
}

/** The node of the workload. Only workload nodes count: a Service or an external node may have the same name. */
export function workloadNodeOf(nodes: readonly TopologyNode[], own: Workload): TopologyNode | undefined {
  return nodes.find(
    ({ kind, namespace, name, workloadKind }) =>
      kind === 'workload' && isIt(own, { namespace, name, kind: workloadKind }),
  );
}

const isIt = (own: Workload, other: Workload): boolean =>
  own.namespace === other.namespace && own.name === other.name && (own.kind === '' || own.kind === other.kind);
