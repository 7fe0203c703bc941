import { namespaceLabel } from '../../../api/labels.ts';
import type { TopKindName } from './top-flags.ts';
import { describedResource, type DescribedResource } from '../../../api/described-resources.ts';

/** How `kubectl svc top` queries one kind of object. */
export interface TopKind {
  readonly name: TopKindName;
  /** Labels that identify a row, the namespace first if there is one. */
  readonly by: readonly string[];
  /** Series without this label are ignored: they belong to no such object. */
  readonly required: string | undefined;
  readonly namespaced: boolean;
  /** Label that `-l` restricts to the names of the selected objects. */
  readonly selected: { readonly label: string; readonly kind: 'pods' | 'nodes' | 'namespaces' };
  /** The kinds under which flows name such objects; empty when flows do not name them. */
  readonly flows: readonly DescribedResource[];
}

const pods = describedResource('pods')!;
const nodes = describedResource('nodes')!;
const namespaces = describedResource('namespaces')!;

/** Kinds of owners: a pod's series name at most one of them. Pods of a CronJob are listed by Job. */
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
