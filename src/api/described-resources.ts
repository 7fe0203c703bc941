import { coreResources } from './core-resources.ts';
import { namespaceLabel, nodeLabel } from './labels.ts';
import type { ResourceRef } from './meta.ts';

/** A kind of object that a metric can describe. */
export interface DescribedResource {
  /** As in paths and in `TrafficMonitor.spec.autoscaling`: `pods`, `deployments.apps`. */
  readonly name: string;
  readonly ref: ResourceRef;
  /** The label of captured series that holds the object's name. */
  readonly label: string;
}

/** Every kind whose objects are named by a label of captured series. */
export const describedResources: readonly DescribedResource[] = [
  { name: 'pods', ref: coreResources.pods, label: 'k8s_pod_name' },
  { name: 'deployments.apps', ref: coreResources.deployments, label: 'k8s_deployment_name' },
  { name: 'replicasets.apps', ref: coreResources.replicaSets, label: 'k8s_replicaset_name' },
  { name: 'statefulsets.apps', ref: coreResources.statefulSets, label: 'k8s_statefulset_name' },
  { name: 'daemonsets.apps', ref: coreResources.daemonSets, label: 'k8s_daemonset_name' },
  { name: 'jobs.batch', ref: coreResources.jobs, label: 'k8s_job_name' },
  { name: 'cronjobs.batch', ref: coreResources.cronJobs, label: 'k8s_cronjob_name' },
  { name: 'nodes', ref: coreResources.nodes, label: nodeLabel },
  { name: 'namespaces', ref: coreResources.namespaces, label: namespaceLabel },
];

const byName = new Map(describedResources.map((resource) => [resource.name, resource]));

/** The kind with this name in a path; undefined for kinds that no captured series names. */
export const describedResource = (name: string): DescribedResource | undefined => byName.get(name);

/** The kinds that a monitor's metrics can describe: it covers one namespace. */
const ofMonitors = describedResources
  .filter(({ name, ref }) => ref.namespaced || name === 'namespaces')
  .map(({ name }) => name);

/** Why a monitor cannot offer metrics that describe the kind with this name; undefined if it can. */
export function unofferedKind(name: string): string | undefined {
  if (ofMonitors.includes(name)) return undefined;
  return byName.has(name)
    ? `a monitor covers one namespace, and ${name} are in none`
    : `no captured series names ${name}; a metric can describe ${ofMonitors.join(', ')}`;
}
