import { hasSharedCertificate, type PodVolumes } from '../../api/agents/agent-certificate.ts';
import { someMeta, type KubeObject, type ObjectMeta } from '../../api/meta.ts';
import { holds, type ConditionedStatus, type ContainerStatus, type PodStatus } from '../../api/statuses.ts';
import { lastingContainers, type LastingContainers, type NamedLabels, type PodFacts } from '../../capture/index.ts';
import type { Informer } from '../../runtime/index.ts';
import {
  instrumentContainerName,
  instrumentFault,
  instrumentWait,
  type InstrumentFault,
  type InstrumentWait,
} from './failures/instrument-fault.ts';

const agentContainerName = 'agent';

/** A pod, reduced to the fields that capture reads. */
export interface PodObject extends KubeObject {
  spec?: PodVolumes & LastingContainers<{ name: string }> & { nodeName?: string };
  status?: PodStatus;
}

export interface NodeObject extends KubeObject {
  spec?: { taints?: { key: string; value?: string; effect: string }[] };
  status?: ConditionedStatus & {
    nodeInfo?: { machineID?: string; systemUUID?: string };
  };
}

/**
 * Drops all fields of a pod that the functions below (`podFacts`, `agentOf`, `agentRestarts`) and the readiness of
 * agents do not need: pods are the most numerous objects of a large cluster. Sidecars become containers like any other.
 */
export const podTransform = {
  name: 'capture-pod',
  apply(object: KubeObject): KubeObject {
    const pod = object as PodObject;
    return {
      apiVersion: pod.apiVersion,
      kind: pod.kind,
      metadata: slim(pod.metadata),
      spec: {
        ...optional('nodeName', pod.spec?.nodeName),
        containers: lastingContainers(pod.spec).map(nameOnly),
        ...(isAgentPod(pod)
          ? optional(
              'volumes',
              pod.spec?.volumes?.filter(({ secret }) => secret !== undefined),
            )
          : {}),
      },
      status: {
        ...optional('phase', pod.status?.phase),
        ...optional('podIP', pod.status?.podIP),
        ...optional('containerStatuses', isAgentPod(pod) ? agentStatuses(pod) : undefined),
      },
    } satisfies PodObject;
  },
};

/** Keeps a node's labels, taints, identity and Ready condition; the rest of its status changes every few minutes. */
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
  const times = ['creationTimestamp', 'deletionTimestamp'] as const;
  return {
    ...someMeta(meta, 'name', 'namespace', 'uid', 'resourceVersion', 'labels', ...times),
    ...(controller && controller.length > 0 ? { ownerReferences: controller } : {}),
  };
}

/**
 * Keeps how the instrument's runs ended and what its next start waits for, and the agent's restart count and readiness.
 * All other fields change with every probe.
 */
function agentStatuses(pod: PodObject): ContainerStatus[] {
  return (pod.status?.containerStatuses ?? []).flatMap(({ name, ready, state, lastState, restartCount }) => {
    if (name === agentContainerName)
      return [{ name, ...optional('restartCount', restartCount), ...optional('ready', ready) }];
    if (name !== instrumentContainerName) return [];
    return [
      {
        name,
        state: { ...optional('terminated', state?.terminated), ...optional('waiting', state?.waiting) },
        lastState: optional('terminated', lastState?.terminated),
      },
    ];
  });
}

function nameOnly({ name }: { name: string }): { name: string } {
  return { name };
}

/** `{[key]: value}`, or nothing for an undefined value. */
function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V });
}

/** Returns a function that lists the agents' pods of a namespace from an index. */
export function agentPodsIn(pods: Informer<PodObject>, namespace: string): () => PodObject[] {
  const index = 'agents-by-namespace';
  pods.addIndex(index, (pod) => (isAgentPod(pod) ? [pod.metadata.namespace ?? ''] : []));
  return () => pods.byIndex(index, namespace);
}

const factsOf = new WeakMap<PodObject, PodFacts | null>();

/**
 * A pod as the compiler sees it; null for one that is not scheduled yet or has ended. Cached objects do not change, so
 * each is converted once.
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
    containers: lastingContainers(pod.spec).map((c) => c.name),
  };
}

export function namedLabels(object: KubeObject): NamedLabels {
  return { name: object.metadata.name ?? '', labels: object.metadata.labels ?? {} };
}

/** The inputs of a compile from lists of objects. Monitors and policies that are being deleted are left out. */
export function captureObjects<M extends KubeObject, P extends KubeObject>(lists: {
  monitors: readonly M[];
  policies: readonly P[];
  namespaces: readonly KubeObject[];
  nodes: readonly KubeObject[];
}): { monitors: M[]; policies: P[]; namespaces: NamedLabels[]; nodes: NamedLabels[] } {
  return {
    monitors: lists.monitors.filter(isLiving),
    policies: lists.policies.filter(isLiving),
    namespaces: lists.namespaces.map(namedLabels),
    nodes: lists.nodes.filter(runsAgents).map(namedLabels),
  };
}

const isLiving = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp === undefined;

/** Nodes that can run an agent. */
export function runsAgents(node: KubeObject): boolean {
  const os = node.metadata.labels?.['kubernetes.io/os'];
  return os === undefined || os === 'linux';
}

export function isReadyNode(node: NodeObject): boolean {
  return holds(node, 'Ready');
}

/** The agent's pod of a node: its address, and how its instrument's last run ended. */
export interface AgentPod {
  node: string;
  host: string;
  uid: string;
  /** Whether it uses the certificate that agents of earlier versions share. */
  isShared: boolean;
  fault: InstrumentFault | null;
  /** What the kubelet waits for before the instrument's next start. */
  wait?: InstrumentWait | null;
}

/** The agent that runs in a pod of `namespace`; null when the pod is not a running agent. */
export function agentOf(pod: PodObject, namespace: string): AgentPod | null {
  const { metadata, spec, status } = pod;
  const isAgent =
    metadata.namespace === namespace &&
    isAgentPod(pod) &&
    metadata.deletionTimestamp === undefined &&
    status?.phase === 'Running';
  if (!isAgent || !spec?.nodeName || !status?.podIP) return null;
  const fault = instrumentFault(status.containerStatuses);
  const isShared = hasSharedCertificate(spec);
  const wait = instrumentWait(status.containerStatuses);
  return { node: spec.nodeName, host: status.podIP, uid: metadata.uid ?? '', isShared, fault, wait };
}

/** Restart count of the agent's container in a pod. */
export function agentRestarts(pod: PodObject): number {
  return pod.status?.containerStatuses?.find(({ name }) => name === agentContainerName)?.restartCount ?? 0;
}

export function isAgentPod({ metadata: { labels } }: PodObject): boolean {
  return labels?.['app.kubernetes.io/component'] === 'agent' && labels['app.kubernetes.io/name'] === 'svc-operator';
}
