import { Registry } from 'prom-client';
import { metricsOn } from '../base/metric-set.ts';
import type { LostNode } from './fanout/failure.ts';
import type { PushdownReport } from './fanout/pushdown-report.ts';

/** The query server's own metrics, served on the health port. */
export class QueryMetrics {
  readonly registry = new Registry();
  readonly #declare = metricsOn(this.registry);
  readonly #duration = this.#declare.histogram(
    'svc_query_duration_seconds',
    'Time from a request to the end of its answer, by path and HTTP status.',
    [0.005, 0.02, 0.1, 0.5, 1, 2.5, 10, 30, 120],
    ['path', 'code'],
  );
  readonly #degraded = this.#declare.counter(
    'svc_query_degraded_total',
    'Answers that lacked the data of at least one node.',
  );

  readonly #pushdown = this.#declare.counter(
    'svc_query_pushdown_total',
    'Queries by the way they were executed: whole, agg, series, or off (raw chunks).',
    ['path'],
  );
  readonly #fallbacks = this.#declare.counter(
    'svc_query_pushdown_fallbacks_total',
    'Times that a query took a lower way because an agent could not take part in a higher one.',
    ['from', 'to'],
  );
  readonly #lost = this.#declare.counter(
    'svc_query_lost_nodes_total',
    'Nodes that were missing from an answer, by reason.',
    ['reason'],
  );
  readonly #partialBytes = this.#declare.counter(
    'svc_query_partial_bytes_total',
    'Bytes of partial answers that agents sent.',
  );

  constructor(gauges: {
    missingAgents: () => number;
    departedNodes: () => number;
    running: () => number;
    heldBytes: () => number;
    memoryRestarts: () => number;
  }) {
    const { counter, gauge } = this.#declare;
    const shows = (name: string, help: string, value: () => number): void =>
      void gauge(name, help, [], (metric) => metric.set(value()));
    shows(
      'svc_query_missing_agents',
      'Nodes that should have an agent and have none with an address.',
      gauges.missingAgents,
    );
    shows(
      'svc_query_departed_nodes',
      'Nodes that left and are missing from answers about the time in which they were there.',
      gauges.departedNodes,
    );
    shows(
      'svc_query_memory_bytes',
      'Bytes that all queries hold together, beyond the 2 MiB that each may have without asking.',
      gauges.heldBytes,
    );
    shows('svc_query_running', 'Queries that run now.', gauges.running);
    counter(
      'svc_query_memory_restarts_total',
      'Times that a query had to give its memory back and begin again, because all together would have held too much.',
      [],
      (metric) => {
        metric.reset();
        metric.inc(gauges.memoryRestarts());
      },
    );
  }

  /** Records how one query was executed, and which nodes its answer lacks. */
  executed({ path, fallbacks, fragments }: PushdownReport, lost: ReadonlyMap<string, LostNode>): void {
    this.#pushdown.inc({ path });
    for (const { from, to } of fallbacks) this.#fallbacks.inc({ from, to });
    for (const { reason } of lost.values()) this.#lost.inc({ reason });
    for (const { nodes } of fragments) for (const { bytes } of nodes) this.#partialBytes.inc(bytes);
  }

  observe(path: string, code: number, seconds: number, degraded: boolean): void {
    this.#duration.observe({ path, code: String(code) }, seconds);
    if (degraded) this.#degraded.inc();
  }
}
