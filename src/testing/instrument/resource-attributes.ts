import type { Attribute } from '../../agent/otlp/model.ts';
import type { Workload } from './discovery.ts';
import type { PodFacts } from './pod-directory.ts';

/** The identity of a sender of telemetry, from the resource attributes that it sent. */
export interface Sender {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly service: string;
  readonly port: number;
}

/** The sender of a resource; null when the resource does not name its pod. */
export function senderOf(attributes: readonly Attribute[]): Sender | null {
  const text = (key: string): string => String(attributes.find((a) => a.key === key)?.value ?? '');
  const namespace = text('k8s.namespace.name');
  const pod = text('k8s.pod.name');
  if (!namespace || !pod) return null;
  const container = text('k8s.container.name');
  return { namespace, pod, container, service: text('service.name'), port: Number(text('svc.demo.port')) || 0 };
}

export function workloadOf(sender: Sender, facts: PodFacts): Workload {
  const { namespace, pod, container, port } = sender;
  return { namespace, pod, container, port, labels: facts.labels, owners: facts.owners };
}

const ownerAttributes: readonly (readonly [field: string, attribute: string])[] = [
  ['k8s_deployment_name', 'k8s.deployment.name'],
  ['k8s_statefulset_name', 'k8s.statefulset.name'],
  ['k8s_daemonset_name', 'k8s.daemonset.name'],
  ['k8s_cronjob_name', 'k8s.cronjob.name'],
  ['k8s_job_name', 'k8s.job.name'],
  ['k8s_replicaset_name', 'k8s.replicaset.name'],
];

/** The `service.instance.id` that the instrument gives a container whose pod it knows. */
export function instanceOf({ namespace, pod, container }: Sender): string {
  return `${namespace}.${pod}.${container}`;
}

/** The kind that a field names, such as `Deployment` for `k8s_deployment_name`. */
function kindOf(field: string): string {
  const kinds: Readonly<Record<string, string>> = {
    k8s_deployment_name: 'Deployment',
    k8s_statefulset_name: 'StatefulSet',
    k8s_daemonset_name: 'DaemonSet',
    k8s_cronjob_name: 'CronJob',
    k8s_job_name: 'Job',
    k8s_replicaset_name: 'ReplicaSet',
  };
  return kinds[field]!;
}

/** The Resource that the instrument would give to the data of this sender, sorted by key as the instrument does. */
export function enrichedResource(sender: Sender, facts: PodFacts, node: string): Attribute[] {
  const owners = ownerAttributes.filter(([field]) => facts.owners[field] !== undefined);
  const attributes: Attribute[] = [
    ['host.id', node],
    ['host.name', sender.pod],
    ['os.type', 'linux'],
    ['service.instance.id', instanceOf(sender)],
    ['service.name', sender.service],
    ['service.namespace', sender.namespace],
    ['telemetry.distro.name', 'svc-instrument-stand-in'],
    ['telemetry.sdk.language', 'nodejs'],
    ['telemetry.sdk.name', 'opentelemetry'],
    ['k8s.namespace.name', sender.namespace],
    ['k8s.pod.name', sender.pod],
    ['k8s.container.name', sender.container],
    ['k8s.node.name', node],
    ['k8s.pod.uid', facts.uid],
    ['k8s.pod.start_time', facts.startTime],
    ...owners.map(([field, attribute]) => [attribute, facts.owners[field]!] as const),
    ['k8s.cluster.name', ''],
    ['k8s.kind', owners[0] ? kindOf(owners[0][0]) : 'Pod'],
    ['k8s.owner.name', owners[0] ? facts.owners[owners[0][0]]! : sender.pod],
  ].map(([key, value]) => ({ key: key!, value: value! }));
  return attributes.sort((a, b) => (a.key < b.key ? -1 : 1));
}
