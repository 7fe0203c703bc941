import { Registry } from 'prom-client';
import { metricsOn } from '../base/metric-set.ts';
import type { LostNode } from './fanout/failure.ts';
import type { PushdownReport } from './fanout/pushdown-report.ts';

/** The query server's own metrics, served on the health port. */
export type QueryMetrics = ReturnType<typeof createQueryMetrics>;

export function createQueryMetrics(values: {
  missingAgents: () => number;
  departedNodes: () => number;
  running: () => number;
  heldBytes: () => number;
  memoryRestarts: () => number;
}) {
  const registry = new Registry();
  const { counter, gauge, histogram } = metricsOn(registry);
  const duration = histogram(
    'svc_query_duration_seconds',
    'Time from a request to the end of its answer, by path and HTTP status.',
    [0.005, 0.02, 0.1, 0.5, 1, 2.5, 10, 30, 120],
    ['path', 'code'],
  );
  const degraded = counter('svc_query_degraded_total', 'Answers that lacked the data of at least one node.');
  const pushdown = counter(
    'svc_query_pushdown_total',
    'Queries by the way they were executed: whole, agg, series, or off (raw chunks).',
    ['path'],
  );
  const fallbacks = counter(
    'svc_query_pushdown_fallbacks_total',
    'Times that a query took a lower way because an agent could not take part in a higher one.',
    ['from', 'to'],
  );
  const lost = counter('svc_query_lost_nodes_total', 'Nodes that were missing from an answer, by reason.', ['reason']);
  const partialBytes = counter('svc_query_partial_bytes_total', 'Bytes of partial answers that agents sent.');
  const shows = (name: string, help: string, value: () => number): void =>
    void gauge(name, help, [], (metric) => metric.set(value()));
  shows(
    'svc_query_missing_agents',
    'Nodes that should have an agent and have none with an address.',
    values.missingAgents,
  );
  shows(
    'svc_query_departed_nodes',
    'Nodes that left and are missing from answers about the time in which they were there.',
    values.departedNodes,
  );
  shows(
    'svc_query_memory_bytes',
    'Bytes that all queries hold together, beyond the 2 MiB that each may have without asking.',
    values.heldBytes,
  );
  shows('svc_query_running', 'Queries that run now.', values.running);
  counter(
    'svc_query_memory_restarts_total',
    'Times that a query had to give its memory back and begin again, because all together would have held too much.',
    [],
    (metric) => {
      metric.reset();
      metric.inc(values.memoryRestarts());
    },
  );
  return {
    registry,
    /** Records how one query was executed, and which nodes its answer lacks. */
    executed({ path, fallbacks: steps, fragments }: PushdownReport, lostNodes: ReadonlyMap<string, LostNode>): void {
      pushdown.inc({ path });
      for (const { from, to } of steps) fallbacks.inc({ from, to });
      for (const { reason } of lostNodes.values()) lost.inc({ reason });
      for (const { nodes } of fragments) for (const { bytes } of nodes) partialBytes.inc(bytes);
    },
    observe(path: string, code: number, seconds: number, isDegraded: boolean): void {
      duration.observe({ path, code: String(code) }, seconds);
      if (isDegraded) degraded.inc();
    },
  };
}
