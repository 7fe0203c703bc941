import { Gauge, type Registry } from 'prom-client';

/** Number of nodes recorded as departed, at the time of the scrape. */
export function departedNodesGauge(registry: Registry, count: () => number): void {
  new Gauge({
    name: 'svc_controller_departed_nodes',
    help: 'Nodes that had an agent and left, as long as what it kept would have been kept.',
    registers: [registry],
    collect() {
      this.set(count());
    },
  });
}
