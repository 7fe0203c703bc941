import type { Registry } from 'prom-client';
import { metricsOn } from '../../base/metric-set.ts';

/** Number of nodes recorded as departed, at the time of the scrape. */
export function departedNodesGauge(registry: Registry, count: () => number): void {
  metricsOn(registry).gauge(
    'svc_controller_departed_nodes',
    'Nodes that had an agent and left, as long as what it kept would have been kept.',
    [],
    (metric) => metric.set(count()),
  );
}
