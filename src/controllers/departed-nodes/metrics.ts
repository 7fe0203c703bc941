import type { Registry } from 'prom-client';
import { metricsOn } from '../../base/metric-set.ts';

/** Registers a gauge of the nodes that are recorded as departed. `count` is called at each scrape. */
export function departedNodesGauge(registry: Registry, count: () => number): void {
  metricsOn(registry).gauge(
    'svc_controller_departed_nodes',
    'Nodes that had an agent and no longer have one, until their data would have expired.',
    [],
    (metric) => metric.set(count()),
  );
}
