import { compareText } from '../../base/text/texts.ts';
import { holds, type StatedCondition } from '../statuses.ts';
import { shouldRunOn } from './scheduling.ts';
import { hasSharedCertificate } from './agent-certificate.ts';
import type { PodVolumes } from './agent-certificate.ts';
import type { NodeForScheduling, PodForScheduling } from './scheduling.ts';

/** One node that should answer, and the agent that speaks for it. */
export interface ExpectedAgent {
  /** Node name; also the value of `k8s_node_name` on every series of the agent. */
  readonly node: string;
  /** Pod IP; undefined when the node has no agent pod with an address: then `absence` says why. */
  readonly address: string | undefined;
  readonly absence: string | undefined;
  /** Addresses of further agents that speak for the node, during a rolling update: all of them are needed. */
  readonly more?: readonly string[];
  /** Which of `address` and `more` belong to agents with the certificate that all agents of earlier versions share. */
  readonly shared?: readonly string[];
  /** False when the node is not Ready: its agent is asked, but not waited for long. */
  readonly nodeReady: boolean;
}

export interface NodeView extends NodeForScheduling {
  readonly metadata: NodeForScheduling['metadata'] & { readonly uid?: string; readonly creationTimestamp?: string };
  readonly status?: {
    readonly conditions?: readonly StatedCondition[];
    readonly nodeInfo?: { readonly machineID?: string; readonly systemUUID?: string };
  };
}

export interface PodView {
  readonly metadata: {
    readonly name?: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec?: PodVolumes & { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly StatedCondition[];
  };
}

export interface DaemonSetView {
  readonly spec?: { readonly template?: { readonly spec?: PodForScheduling } };
}

/**
 * The nodes that must answer, each with its best agent pod: every node on which the DaemonSet should run, ready or not,
 * and every other node that has a live agent pod. A node whose agent never started is therefore reported as missing.
 * Pure.
 */
export function expectedAgents(
  nodes: readonly NodeView[],
  daemonSets: readonly DaemonSetView[],
  pods: readonly PodView[],
): ExpectedAgent[] {
  const byNode = new Map<string, PodView[]>();
  for (const pod of pods) {
    const node = pod.spec?.nodeName;
    if (!node || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') continue;
    byNode.set(node, [...(byNode.get(node) ?? []), pod]);
  }
  const templates = daemonSets.flatMap((d) => d.spec?.template?.spec ?? []);
  const names = new Set(byNode.keys());
  const ready = new Map<string, boolean>();
  for (const node of nodes) {
    const name = node.metadata.name ?? '';
    ready.set(name, holds(node, 'Ready'));
    if (templates.some((template) => shouldRunOn(template, node))) names.add(name);
  }
  return [...names].sort(compareText).map((node) => {
    const pod = best(byNode.get(node) ?? []);
    const address = pod?.status?.podIP;
    const absence = address ? undefined : pod ? `agent pod ${pod.metadata.name} has no address yet` : 'no agent pod';
    const more = others(pod, byNode.get(node) ?? []);
    const shared = sharedAddresses(byNode.get(node) ?? []);
    return {
      ...{ node, address, absence, nodeReady: ready.get(node) ?? false },
      ...(more.length > 0 ? { more } : {}),
      ...(shared.length > 0 ? { shared } : {}),
    };
  });
}

/**
 * The pod to ask. During a rolling update a node may have two: one with an address goes first, then a ready one, then
 * one that is not being deleted, then the newer one.
 */
function best(pods: readonly PodView[]): PodView | undefined {
  const rank = (pod: PodView): string =>
    [
      pod.status?.podIP ? 1 : 0,
      holds(pod, 'Ready') ? 1 : 0,
      pod.metadata.deletionTimestamp ? 0 : 1,
      pod.metadata.creationTimestamp ?? '',
    ].join(' ');
  return [...pods].sort((a, b) => compareText(rank(b), rank(a)))[0];
}

/**
 * Addresses of the other pods that serve the same node and are there to stay: each may have part of the node's samples.
 * A pod that is being deleted has handed its store over, or takes its samples along.
 */
function others(chosen: PodView | undefined, pods: readonly PodView[]): string[] {
  const serving = pods.filter((pod) => holds(pod, 'Ready') && !pod.metadata.deletionTimestamp && pod.status?.podIP);
  if (chosen === undefined || !serving.includes(chosen)) return [];
  return serving
    .filter((pod) => pod !== chosen)
    .map((pod) => pod.status!.podIP!)
    .sort(compareText);
}

/** Addresses at which only agents with the shared certificate may answer. */
function sharedAddresses(pods: readonly PodView[]): string[] {
  const own = new Set(pods.filter((pod) => !hasSharedCertificate(pod.spec)).map((pod) => pod.status?.podIP));
  return pods.flatMap(({ spec, status }) =>
    hasSharedCertificate(spec) && status?.podIP && !own.has(status.podIP) ? [status.podIP] : [],
  );
}
