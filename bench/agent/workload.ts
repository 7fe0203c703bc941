/**
 * OTLP requests of one node: for each pod, HTTP histograms of 10 combinations of method, status and route, 44 series
 * each; and flow counters. Shared by the benchmarks of the agent, so that they measure the same work.
 */
import type { KubeObject } from '../../src/api/meta.ts';
import { defaultDurationBounds, defaultSizeBounds } from '../../src/agent/mapping/policy.ts';
import type { Attribute, Metric } from '../../src/agent/otlp/model.ts';
import { encodeMetricsRequest } from '../../src/testing/otlp-encode.ts';

export const intervalMs = 10_000;
/** Series of one pod. */
export const seriesPerPod = 10 * (18 + 13 + 13);

/** `startMs`: when the senders' counters began; `at`: the time of interval `round`. Units: ms since the epoch. */
export interface Timeline {
  readonly startMs: number;
  readonly at: (round: number) => number;
}

export function timeline(startMs: number, stepMs = intervalMs): Timeline {
  return { startMs: startMs - 60_000, at: (round) => startMs + round * stepMs };
}

export const attributes = (labels: Record<string, string | number>): Attribute[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value }));

const namespaceOf = (pod: number): string => `ns-${pod % 3}`;
const nameOf = (pod: number): string => `dep-${pod % 10}-7d9f-${pod}`;

/** The pods of the node: `pods` that serve requests, and one for each source of flows. */
export function nodePods(pods: number, flowSources = 0): KubeObject[] {
  const pod = (namespace: string, name: string, replicaSet: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace,
      name,
      uid: `uid-${name}`,
      labels: { 'pod-template-hash': '7d9f' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: replicaSet, uid: 'o', controller: true }],
    },
    spec: { nodeName: 'bench', containers: [{ name: 'app' }] },
  });
  return [
    ...Array.from({ length: pods }, (_, i) => pod(namespaceOf(i), nameOf(i), `dep-${i % 10}-7d9f`)),
    ...Array.from({ length: flowSources }, (_, i) => pod(`ns-${i % 5}`, `src-${i}-7d9f-0`, `src-${i}-7d9f`)),
  ];
}

/** How many pods are sources of flows. */
export const flowSources = 400;

export function podResource(pod: number): Attribute[] {
  return attributes({
    'host.id': 'bench',
    'k8s.container.name': 'app',
    'k8s.deployment.name': `dep-${pod % 10}`,
    'k8s.namespace.name': namespaceOf(pod),
    'k8s.node.name': 'node-1',
    'k8s.pod.name': nameOf(pod),
    'k8s.replicaset.name': `dep-${pod % 10}-7d9f`,
    'service.instance.id': `${namespaceOf(pod)}.${nameOf(pod)}.app`,
    'service.name': `dep-${pod % 10}`,
    'telemetry.sdk.language': 'go',
  });
}

function histogramMetric(name: string, unit: string, bounds: readonly number[], time: Timeline, round: number): Metric {
  const points = Array.from({ length: 10 }, (_, i) => {
    const bucketCounts = [0, ...bounds].map((_b, bucket) =>
      bucket === 0 ? 0 : (round + 1) * (1 + ((i + bucket) % 5)),
    );
    const count = bucketCounts.reduce((sum, n) => sum + n, 0);
    return {
      attributes: attributes({
        'http.request.method': i % 2 ? 'GET' : 'POST',
        'http.response.status_code': 200 + (i % 3),
        'http.route': `/api/items/{id}/${i}`,
        'server.address': 'shop',
        'server.port': 8080,
        'service.name': 'shop',
        'url.scheme': 'http',
      }),
      startNs: time.startMs * 1e6,
      timeNs: time.at(round) * 1e6,
      noValue: false,
      count,
      sum: count * 0.0123,
      min: 0.001,
      max: 3,
      bucketCounts,
      bounds: [...bounds],
      exemplars: [],
    };
  });
  return { name, description: '', unit, data: { kind: 'histogram', temporality: 'cumulative', points } };
}

export const scope = { name: 'bench', version: '' };

/** The requests of one interval: a body for each pod. */
export function httpBodies(pods: number, time: Timeline, round: number): Uint8Array[] {
  return Array.from({ length: pods }, (_, pod) => {
    const metrics = [
      histogramMetric('http.server.request.duration', 's', defaultDurationBounds, time, round),
      histogramMetric('http.server.request.body.size', 'By', defaultSizeBounds, time, round),
      histogramMetric('http.server.response.body.size', 'By', defaultSizeBounds, time, round),
    ];
    return encodeMetricsRequest({ resources: [{ attributes: podResource(pod), scopes: [{ scope, metrics }] }] });
  });
}

/** The requests of one interval with all flow counters: a single body. */
export function flowBodies(flows: number, time: Timeline, round: number): Uint8Array[] {
  const points = Array.from({ length: flows }, (_, i) => ({
    attributes: attributes({
      direction: i % 2 ? 'request' : 'response',
      'k8s.dst.namespace': `ns-${i % 7}`,
      'k8s.dst.owner.name': `dst-${i}`,
      'k8s.dst.owner.type': 'Deployment',
      'k8s.src.namespace': `ns-${i % 5}`,
      'k8s.src.owner.name': `src-${i % flowSources}`,
      'k8s.src.owner.type': 'Deployment',
    }),
    startNs: time.startMs * 1e6,
    timeNs: time.at(round) * 1e6,
    noValue: false,
    value: (round + 1) * (i + 1),
    exemplars: [],
  }));
  const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points } as const;
  const metrics = [{ name: 'obi.network.flow.bytes', description: '', unit: '{bytes}', data }];
  return [encodeMetricsRequest({ resources: [{ attributes: [], scopes: [{ scope, metrics }] }] })];
}
