import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Metrics of the capture loop. */
export interface CaptureMetrics {
  compiled(seconds: number, ok: boolean): void;
  pushed(result: 'acknowledged' | 'refused' | 'unreachable', bytes: number): void;
}

export function captureMetrics(registry: Registry): CaptureMetrics {
  const registers = [registry];
  const compile = new Histogram({
    name: 'svc_controller_capture_compile_seconds',
    help: 'Time of one compile of all monitors and policies.',
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
    registers,
  });
  const failures = new Counter({
    name: 'svc_controller_capture_compile_failures_total',
    help: 'Compiles that threw; the one before stays in force.',
    registers,
  });
  const pushes = new Counter({
    name: 'svc_controller_capture_pushes_total',
    help: 'Configs sent to agents, by result.',
    labelNames: ['result'] as const,
    registers,
  });
  const bytes = new Counter({
    name: 'svc_controller_capture_push_bytes_total',
    help: 'Bytes of configs that agents acknowledged.',
    registers,
  });
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
  new Gauge({
    name: 'svc_controller_capture_nodes',
    help: 'Nodes by state of their agent: running the wanted config, behind, failed, unreachable.',
    labelNames: ['state'] as const,
    registers: [registry],
    collect() {
      const counts = { running: 0, behind: 0, failed: 0, unreachable: 0 };
      for (const node of hub.nodes.values()) counts[node.state]++;
      for (const [state, count] of Object.entries(counts)) this.set({ state }, count);
    },
  });
}
