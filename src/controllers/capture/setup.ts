import type { TrafficMonitor, ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import { clusterTrafficPolicies, trafficMonitors } from '../../api/v1alpha1/index.ts';
import type { KubeObject } from '../../api/meta.ts';
import { ownValue } from '../../base/collections/own-value.ts';
import { coreResources } from '../../kube/index.ts';
import type { AgentTransport } from '../../capture/index.ts';
import { changed, type ControllerEnvironment, type Informer } from '../../runtime/index.ts';
import {
  agentOf,
  captureObjects,
  isReadyNode,
  nodeTransform,
  podFacts,
  podTransform,
  runsAgents,
  type NodeObject,
  type PodObject,
} from './facts.ts';
import { DepartedPods } from './departed-pods.ts';
import { FailureMemory } from './failures/failure-memory.ts';
import { controllerTransport } from './controller-transport.ts';
import { CaptureHub } from './hub.ts';
import type { World } from './hub-options.ts';
import { captureMetrics, nodeGauge } from './metrics.ts';
import type { RestartBudgetRules } from './restart-budget.ts';

export interface CaptureSettings {
  /** The namespace of the agents and of the Secret with the controller's certificate. */
  namespace: string;
  /** Version of the instrument (the eBPF program that observes requests), or the tag of its image, e.g. `v0.10.0`. */
  instrumentVersion: string;
  /** The ports that are captured where no policy decides, e.g. `80,443,8080,8443`. */
  instrumentPorts: string;
  /** Whether policies may add keys of their own to the instrument's config file. Default no. */
  allowExtraConfig?: boolean;
  /** Default 9093. */
  agentPort?: number;
  /** Default `http://127.0.0.1:4318`. */
  otlpEndpoint?: string;
  /** Default `@svc-obi-health`. */
  healthSocket?: string;
  /** Default: mutual TLS with the Secret `svc-controller-tls`. */
  transport?: () => AgentTransport | null;
  /** How often edits in one namespace may restart a node's instrument. Default: 5 times, then once every 2 min. */
  restartBudget?: RestartBudgetRules;
  /** In [0, 1). Default Math.random. */
  random?: () => number;
}

/**
 * Adds the capture loop to an operator. Call it before the manager runs.
 * Returns the hub, from which the controllers of monitors and of policies take the facts for their statuses.
 */
export function setupCapture(env: ControllerEnvironment, settings: CaptureSettings): CaptureHub {
  const { cache } = env;
  const monitors = cache.informer<TrafficMonitor & KubeObject>({ resource: trafficMonitors });
  const policies = cache.informer<ClusterTrafficPolicy & KubeObject>({ resource: clusterTrafficPolicies });
  const namespaces = cache.informer({ resource: coreResources.namespaces, metadataOnly: true });
  const nodes = cache.informer<NodeObject>({ resource: coreResources.nodes, transform: nodeTransform });
  const pods = cache.informer<PodObject>({ resource: coreResources.pods, transform: podTransform });
  const departed = new DepartedPods();
  pods.onEvent((event) => departed.note(event, env.clock.monotonic()));
  const identity = settings.transport ? null : controllerTransport(env, settings.namespace);
  const hub = new CaptureHub({
    clock: env.clock,
    logger: env.logger.with({ controller: 'capture' }),
    random: settings.random ?? Math.random,
    environment: {
      instrumentVersion: settings.instrumentVersion,
      namespace: settings.namespace,
      ports: settings.instrumentPorts,
      allowExtraConfig: settings.allowExtraConfig ?? false,
      ...(settings.otlpEndpoint ? { otlpEndpoint: settings.otlpEndpoint } : {}),
      ...(settings.healthSocket ? { healthSocket: settings.healthSocket } : {}),
    },
    ...(settings.restartBudget ? { restartBudget: settings.restartBudget } : {}),
    namespace: settings.namespace,
    agentPort: settings.agentPort ?? 9093,
    transport: settings.transport ?? (() => identity!.transport()),
    read: () => ({
      ...readWorld({ monitors, policies, namespaces, nodes, pods }, settings.namespace),
      departed: departed.list(env.clock.monotonic()),
      validUntilMs: departed.untilMs,
    }),
    readSecret: (ref, signal) => readSecretKey(env, ref, signal),
    failures: new FailureMemory({
      client: env.client,
      namespace: settings.namespace,
      clock: env.clock,
      logger: env.logger.with({ controller: 'capture' }),
    }),
    metrics: captureMetrics(env.registry),
  });
  nodeGauge(env.registry, hub);
  identity?.onChange(() => hub.changed());
  onFacts(monitors, (o) => [o.metadata.generation, o.metadata.uid], hub);
  onFacts(policies, (o) => [o.metadata.generation, o.metadata.uid], hub);
  onFacts(namespaces, (o) => o.metadata.labels, hub);
  onFacts(nodes, (o) => [o.metadata.labels, o.status], hub);
  onFacts(pods, (o) => [podFacts(o), agentOf(o, settings.namespace)], hub);
  env.addRunnable({ name: 'capture', needsLeader: true, run: (signal) => hub.run(signal) });
  return hub;
}

/** Notifies the hub of objects that are created or deleted, and of updates that change what `read` returns. */
function onFacts<T extends KubeObject>(informer: Informer<T>, read: (object: T) => unknown, hub: CaptureHub): void {
  const isNews = changed(read);
  informer.onEvent((event) => {
    if (isNews(event)) hub.changed();
  });
}

interface Informers {
  monitors: Informer<TrafficMonitor & KubeObject>;
  policies: Informer<ClusterTrafficPolicy & KubeObject>;
  namespaces: Informer;
  nodes: Informer<NodeObject>;
  pods: Informer<PodObject>;
}

function readWorld(informers: Informers, namespace: string): World {
  const pods = informers.pods.list();
  const nodes = informers.nodes.list();
  return {
    ...captureObjects({
      monitors: informers.monitors.list(),
      policies: informers.policies.list(),
      namespaces: informers.namespaces.list(),
      nodes,
    }),
    pods: pods.flatMap((pod) => podFacts(pod) ?? []),
    ready: new Set(nodes.filter((n) => runsAgents(n) && isReadyNode(n)).map((n) => n.metadata.name ?? '')),
    agents: new Map(
      pods
        .flatMap((pod) => agentOf(pod, namespace) ?? [])
        .toSorted((a, b) => (a.host < b.host ? -1 : 1))
        .map((agent) => [agent.node, agent]),
    ),
  };
}

/** One key of a Secret, by a plain get: the controller has no permission to list Secrets of tenants, and needs none. */
async function readSecretKey(
  env: ControllerEnvironment,
  { namespace, name, key }: { namespace: string; name: string; key: string },
  signal: AbortSignal,
): Promise<{ text: string; version: string } | null> {
  const secret = (await env.client.get(coreResources.secrets, { namespace, name }, { signal })) as KubeObject & {
    data?: Record<string, string>;
  };
  const value = ownValue(secret.data ?? {}, key);
  if (value === undefined) return null;
  const text = Buffer.from(value, 'base64').toString('utf8').trim();
  return { text, version: `${secret.metadata.uid ?? ''}/${secret.metadata.resourceVersion ?? ''}` };
}
