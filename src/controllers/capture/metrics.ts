import type { Registry } from 'prom-client';
import { metricsOn } from '../../base/metric-set.ts';

/** Metrics of the capture loop, which compiles the configs of the nodes and pushes them to the agents. */
export interface CaptureMetrics {
  compiled(seconds: number, ok: boolean): void;
  pushed(result: 'acknowledged' | 'refused' | 'unreachable', bytes: number): void;
}

export function captureMetrics(registry: Registry): CaptureMetrics {
  const { counter, histogram } = metricsOn(registry);
  const compile = histogram(
    'svc_controller_capture_compile_seconds',
    'Time of one compile of all monitors and policies.',
    [0.005, 0.02, 0.1, 0.5, 2, 10],
  );
  const failures = counter(
    'svc_controller_capture_compile_failures_total',
    'Compiles that failed; the result of the last good one stays in force.',
  );
  const pushes = counter('svc_controller_capture_pushes_total', 'Configs sent to agents, by result.', ['result']);
  const bytes = counter('svc_controller_capture_push_bytes_total', 'Bytes of configs that agents acknowledged.');
  for (const result of ['acknowledged', 'refused', 'unreachable'] as const) pushes.inc({ result }, 0);
  return {
    compiled(seconds, ok) {
      compile.observe(seconds);
      if (!ok) failures.inc();
    },
    pushed(result, size) {
      pushes.inc({ result });
      if (result === 'acknowledged') bytes.inc(size);
    },
  };
}

/** The nodes of a capture loop, each with the state of its agent. */
interface NodesByState {
  readonly nodes: ReadonlyMap<string, { readonly state: 'running' | 'behind' | 'failed' | 'unreachable' }>;
}

/** Number of nodes by state, counted at each scrape. */
export function nodeGauge(registry: Registry, hub: NodesByState): void {
  metricsOn(registry).gauge(
    'svc_controller_capture_nodes',
    'Nodes by state of their agent: running the wanted config, behind, failed, unreachable.',
    ['state'],
    (metric) => {
      const counts = { running: 0, behind: 0, failed: 0, unreachable: 0 };
      for (const node of hub.nodes.values()) counts[node.state]++;
      for (const [state, count] of Object.entries(counts)) metric.set({ state }, count);
    },
  );
}
