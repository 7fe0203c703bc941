import type { KubeObject, ObjectMeta } from '../../api/meta.ts';
import type { NamedLabels, PodFacts } from '../../capture/index.ts';
import {
  instrumentContainerName,
  instrumentFault,
  type ContainerStatus,
  type InstrumentFault,
} from './instrument-fault.ts';

/** A pod, cut down to what capture looks at. */
export interface PodObject extends KubeObject {
  spec?: { nodeName?: string; containers?: { name: string }[] };
  status?: { phase?: string; podIP?: string; containerStatuses?: ContainerStatus[] };
}

export interface NodeObject extends KubeObject {
  spec?: { taints?: { key: string; value?: string; effect: string }[] };
  status?: {
    conditions?: { type: string; status: string }[];
    nodeInfo?: { machineID?: string; systemUUID?: string };
  };
}

/** Drops everything of a pod that `podFacts` and `agentAddress` do not read: pods are what a large cluster has most of. */
export const podTransform = {
  name: 'capture-pod',
  apply(object: KubeObject): KubeObject {
    const pod = object as PodObject;
    return {
      apiVersion: pod.apiVersion,
      kind: pod.kind,
      metadata: slim(pod.metadata),
      spec: { ...optional('nodeName', pod.spec?.nodeName), containers: (pod.spec?.containers ?? []).map(nameOnly) },
      status: {
        ...optional('phase', pod.status?.phase),
        ...optional('podIP', pod.status?.podIP),
        ...optional('containerStatuses', isAgentPod(pod) ? instrumentStatus(pod) : undefined),
      },
    } satisfies PodObject;
  },
};

/** Keeps a node's labels, taints, identity and its Ready condition; the rest of its status changes every few minutes. */
export const nodeTransform = {
  name: 'capture-node',
  apply(object: KubeObject): KubeObject {
    const node = object as NodeObject;
    const ready = (node.status?.conditions ?? [])
      .filter((c) => c.type === 'Ready')
      .map(({ type, status }) => ({ type, status }));
    const { machineID, systemUUID } = node.status?.nodeInfo ?? {};
    return {
      apiVersion: node.apiVersion,
      kind: node.kind,
      metadata: slim(node.metadata),
      spec: optional('taints', node.spec?.taints),
      status: {
        conditions: ready,
        nodeInfo: { ...optional('machineID', machineID), ...optional('systemUUID', systemUUID) },
      },
    };
  },
};

function slim(meta: ObjectMeta): ObjectMeta {
  const controller = meta.ownerReferences?.filter((o) => o.controller);
  return {
    ...optional('name', meta.name),
    ...optional('namespace', meta.namespace),
    ...optional('uid', meta.uid),
    ...optional('resourceVersion', meta.resourceVersion),
    ...optional('creationTimestamp', meta.creationTimestamp),
    ...optional('deletionTimestamp', meta.deletionTimestamp),
    ...optional('labels', meta.labels),
    ...(controller && controller.length > 0 ? { ownerReferences: controller } : {}),
  };
}

/** Only how the instrument's runs ended: the rest of its status changes with every probe. */
function instrumentStatus(pod: PodObject): ContainerStatus[] {
  return (pod.status?.containerStatuses ?? [])
    .filter((c) => c.name === instrumentContainerName)
    .map(({ name, state, lastState }) => ({
      name,
      state: optional('terminated', state?.terminated),
      lastState: optional('terminated', lastState?.terminated),
    }));
}

function nameOnly({ name }: { name: string }): { name: string } {
  return { name };
}

/** `{[key]: value}`, or nothing for an undefined value. */
function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V });
}

const factsOf = new WeakMap<PodObject, PodFacts | null>();

/**
 * A pod as the compiler sees it; null for one that is not scheduled yet or has ended. Objects of a cache do not change,
 * so each is looked at once.
 */
export function podFacts(pod: PodObject): PodFacts | null {
  let facts = factsOf.get(pod);
  if (facts === undefined) factsOf.set(pod, (facts = read(pod)));
  return facts;
}

function read(pod: PodObject): PodFacts | null {
  const { namespace, name, labels, ownerReferences } = pod.metadata;
  const nodeName = pod.spec?.nodeName;
  const phase = pod.status?.phase;
  if (!namespace || !name || !nodeName || phase === 'Succeeded' || phase === 'Failed') return null;
  const owner = ownerReferences?.find((o) => o.controller);
  return {
    namespace,
    name,
    labels: labels ?? {},
    nodeName,
    ...(owner ? { owner: { kind: owner.kind, name: owner.name } } : {}),
    containers: (pod.spec?.containers ?? []).map((c) => c.name),
  };
}

export function namedLabels(object: KubeObject): NamedLabels {
  return { name: object.metadata.name ?? '', labels: object.metadata.labels ?? {} };
}

/** Nodes on which an agent can run at all. */
export function runsAgents(node: KubeObject): boolean {
  const os = node.metadata.labels?.['kubernetes.io/os'];
  return os === undefined || os === 'linux';
}

export function isReadyNode(node: NodeObject): boolean {
  return (node.status?.conditions ?? []).some((c) => c.type === 'Ready' && c.status === 'True');
}

/** The agent's pod of a node: where it listens, and how its instrument's last run ended. */
export interface AgentPod {
  node: string;
  host: string;
  uid: string;
  fault: InstrumentFault | null;
}

/** Null when this pod is no running agent. */
export function agentOf(pod: PodObject, namespace: string): AgentPod | null {
  const { metadata, spec, status } = pod;
  const isAgent =
    metadata.namespace === namespace &&
    isAgentPod(pod) &&
    metadata.deletionTimestamp === undefined &&
    status?.phase === 'Running';
  if (!isAgent || !spec?.nodeName || !status?.podIP) return null;
  const fault = instrumentFault(status.containerStatuses);
  return { node: spec.nodeName, host: status.podIP, uid: metadata.uid ?? '', fault };
}

export function isAgentPod({ metadata: { labels } }: PodObject): boolean {
  return labels?.['app.kubernetes.io/component'] === 'agent' && labels['app.kubernetes.io/name'] === 'svc-operator';
}
