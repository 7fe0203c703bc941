import type { Registry } from 'prom-client';
import { createExportMetrics } from '../../src/agent/export/metrics.ts';
import { createSelfMetrics } from '../../src/agent/self-metrics.ts';
import { captureMetrics, nodeGauge } from '../../src/controllers/capture/metrics.ts';
import { departedNodesGauge } from '../../src/controllers/departed-nodes/metrics.ts';
import { createMinterMetrics } from '../../src/minter/metrics.ts';
import { httpServerMetrics } from '../../src/net/http/index.ts';
import { createQueryMetrics } from '../../src/query/metrics.ts';
import { RuntimeMetrics } from '../../src/runtime/index.ts';
import { Registry as NewRegistry } from 'prom-client';

/** One metric as a program registers it. */
export interface RegisteredMetric {
  name: string;
  type: string;
  labels: string[];
  help: string;
}

/**
 * Every metric that the programs register themselves, by heading of the reference page. Metrics of Node.js itself are
 * left out.
 */
export function registeredMetrics(): Record<string, RegisteredMetric[]> {
  const controller = new NewRegistry();
  captureMetrics(controller);
  nodeGauge(controller, { nodes: new Map() } as never);
  departedNodesGauge(controller, () => 0);
  const agent = createSelfMetrics({ node: 'n', version: 'v' }).registry;
  createExportMetrics(agent);
  const query = createQueryMetrics({
    missingAgents: () => 0,
    departedNodes: () => 0,
    running: () => 0,
    heldBytes: () => 0,
    memoryRestarts: () => 0,
  }).registry;
  const minter = createMinterMetrics({ version: 'v', commit: 'c' }, () => 0).registry;
  httpServerMetrics(controller, 'svc_controller');
  httpServerMetrics(agent, 'svc_agent');
  httpServerMetrics(query, 'svc_query');
  httpServerMetrics(minter, 'minter');
  return {
    runtime: described(new RuntimeMetrics({ prefix: 'svc_controller' }).registry),
    controller: described(controller),
    agent: described(agent),
    query: described(query),
    minter: described(minter),
  };
}

function described(registry: Registry): RegisteredMetric[] {
  const all = registry.getMetricsAsArray() as unknown as { name: string; help: string; labelNames?: string[] }[];
  return all
    .filter((m) => !/^(nodejs|process)_/.test(m.name))
    .map((m) => ({
      name: m.name,
      type: m.constructor.name.toLowerCase(),
      labels: (m.labelNames ?? []).filter((l) => l !== 'le'),
      help: m.help,
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
