import type { KubeObject } from '../../../api/meta.ts';
import { group } from '../../../api/v1alpha1/index.ts';
import { coreResources, type KubeClient } from '../../../kube/index.ts';
import { readWidest } from '../cluster/read-view.ts';
import type { ClusterView, Reading } from '../cluster/view.ts';
import { itemsOf, listedMonitors } from '../cluster/view.ts';
import { styles } from '../output/style.ts';
import { eventTime, type EventObject } from '../status/events.ts';
import { reportText } from '../status/render.ts';
import { statusReport } from '../status/report.ts';
import type { Bundle } from './bundle.ts';
import type { OwnPod } from './own-pods.ts';
import type { Redactor } from './redact/redactor.ts';
import { trimCrd, trimNode, trimObject } from './trim.ts';

/** Styles without colours. */
export const plain = styles({ isTerminal: false }, {});

/** Adds the state of the product as `kubectl svc status` shows it. */
export function addStatus(bundle: Bundle, view: ClusterView, redactor: Redactor): void {
  const report = statusReport(view);
  bundle.add('status.txt', 'kubectl svc status', redactor.text(reportText(report, plain)));
  bundle.addJson('status.json', 'the same as JSON', redactor.value(report));
}

/** Adds the objects from which the state of the product is read. */
export function addObjects(bundle: Bundle, view: ClusterView, pods: readonly OwnPod[], redactor: Redactor): void {
  const where = view.objectNamespace === undefined ? 'one namespace' : `namespace ${view.objectNamespace}`;
  const add = (
    path: string,
    about: string,
    reading: Reading<KubeObject>,
    shown: (object: KubeObject) => unknown = (object) => trimObject(object, redactor),
  ): void => {
    if (reading.fault !== undefined) return bundle.lacks(path, reading.fault);
    if (reading.partial) bundle.lacks(`${path}, in part`, `only those of ${where}`);
    bundle.addYaml(path, `${reading.items.length} ${about}`, reading.items.map(shown));
  };
  add('objects/trafficmonitors.yaml', 'TrafficMonitors', listedMonitors(view));
  add('objects/clustertrafficpolicies.yaml', 'ClusterTrafficPolicies', view.policies);
  add('objects/minterdeployments.yaml', 'MinterDeployments', view.minters);
  add('cluster/crds.yaml', 'CRDs of ours', view.crds, (crd) => trimCrd(crd, redactor));
  add('cluster/apiservices.yaml', 'APIServices of metrics', metricsApis(view.apiServices));
  add('cluster/nodes.yaml', 'nodes', view.nodes as Reading<KubeObject>, (node) => trimNode(node, redactor));
  add('parts/deployments.yaml', 'Deployments of the operator’s namespace', ours(view.deployments));
  add('parts/daemonsets.yaml', 'DaemonSets of the operator’s namespace', ours(view.daemonSets));
  add('parts/leases.yaml', 'Leases of the operator’s namespace', view.leases);
  const own = view.ownPods.fault === undefined ? { items: pods.map(({ pod }) => pod) } : view.ownPods;
  add('parts/pods.yaml', 'pods of the product', own);
}

function ours(reading: Reading<KubeObject>): Reading<KubeObject> {
  if (reading.fault !== undefined) return reading;
  return { items: reading.items.filter(({ metadata }) => metadata.name?.startsWith('svc-')) };
}

function metricsApis(reading: Reading<KubeObject>): Reading<KubeObject> {
  if (reading.fault !== undefined) return reading;
  return { items: reading.items.filter(({ metadata }) => metadata.name?.endsWith('.metrics.k8s.io')) };
}

/** Adds the events of the operator's namespace and those about our objects, the oldest first. */
export async function addEvents(
  bundle: Bundle,
  client: KubeClient,
  view: ClusterView,
  { redactor, since, signal }: { redactor: Redactor; since: number; signal: AbortSignal },
): Promise<void> {
  const path = 'events.yaml';
  const all = await readWidest(client, coreResources.events, view.namespace, signal);
  if (all.fault !== undefined) return bundle.lacks(path, all.fault);
  if (all.partial) bundle.lacks(`${path}, in part`, 'only those of the operator’s namespace were read');
  const concerning = itemsOf(all)
    .map((event) => ({ event: event as EventObject, at: eventTime(event as EventObject) }))
    .filter(({ event: { metadata, regarding }, at }) => {
      const about = metadata.namespace === view.namespace || regarding?.apiVersion?.startsWith(`${group}/`);
      return about === true && at >= since;
    })
    .toSorted((a, b) => a.at - b.at)
    .map(({ event }) => trimObject(event, redactor));
  bundle.addYaml(path, `${concerning.length} events of the operator’s namespace and about objects of ours`, concerning);
}
