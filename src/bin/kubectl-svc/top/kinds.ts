import type { TopKindName } from './top-flags.ts';
import { describedResource, namespaceLabel, type DescribedResource } from '../../../query/custom-metrics/resources.ts';

/** How the query server is asked for one kind of thing. */
export interface TopKind {
  readonly name: TopKindName;
  /** Labels that name a row, the namespace first where there is one. */
  readonly by: readonly string[];
  /** Series without it do not count: what has no such object is no row. */
  readonly required: string | undefined;
  readonly namespaced: boolean;
  /** Label that `-l` narrows: the names of the selected objects stand in it. */
  readonly selected: { readonly label: string; readonly kind: 'pods' | 'nodes' | 'namespaces' };
  /** The kinds by which flows name such objects; empty where they name none. */
  readonly flows: readonly DescribedResource[];
}

const pods = describedResource('pods')!;
const nodes = describedResource('nodes')!;
const namespaces = describedResource('namespaces')!;

/** Owners that a pod's series names one of. What a CronJob starts is listed by Job. */
export const workloadKinds = ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'jobs.batch'].map((name) =>
  describedResource(name)!,
);

export const topKinds: Readonly<Record<TopKindName, TopKind>> = {
  workloads: {
    name: 'workloads',
    by: [namespaceLabel, ...workloadKinds.map(({ label }) => label)],
    required: undefined,
    namespaced: true,
    selected: { label: pods.label, kind: 'pods' },
    flows: workloadKinds,
  },
  pods: {
    name: 'pods',
    by: [namespaceLabel, pods.label],
    required: pods.label,
    namespaced: true,
    selected: { label: pods.label, kind: 'pods' },
    flows: [pods],
  },
  services: {
    name: 'services',
    by: [namespaceLabel, 'service_name'],
    required: 'service_name',
    namespaced: true,
    selected: { label: pods.label, kind: 'pods' },
    flows: [],
  },
  namespaces: {
    name: 'namespaces',
    by: [namespaceLabel],
    required: namespaceLabel,
    namespaced: false,
    selected: { label: namespaceLabel, kind: 'namespaces' },
    flows: [namespaces],
  },
  nodes: {
    name: 'nodes',
    by: [nodes.label],
    required: nodes.label,
    namespaced: false,
    selected: { label: nodes.label, kind: 'nodes' },
    flows: [nodes],
  },
};
