import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { LostNode } from './fanout/failure.ts';
import type { PushdownReport } from './fanout/pushdown-report.ts';

/** The query server's own metrics, served on the health port. */
export class QueryMetrics {
  readonly registry = new Registry();
  readonly #duration = new Histogram({
    name: 'svc_query_duration_seconds',
    help: 'Time from a request to the end of its answer, by path and HTTP status.',
    labelNames: ['path', 'code'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 2.5, 10, 30, 120],
    registers: [this.registry],
  });
  readonly #degraded = new Counter({
    name: 'svc_query_degraded_total',
    help: 'Answers that lacked the data of at least one node.',
    registers: [this.registry],
  });

  readonly #pushdown = new Counter({
    name: 'svc_query_pushdown_total',
    help: 'Queries by the way they were executed: whole, agg, series, or off (raw chunks).',
    labelNames: ['path'],
    registers: [this.registry],
  });
  readonly #fallbacks = new Counter({
    name: 'svc_query_pushdown_fallbacks_total',
    help: 'Times that a query took a lower way because an agent could not take part in a higher one.',
    labelNames: ['from', 'to'],
    registers: [this.registry],
  });
  readonly #lost = new Counter({
    name: 'svc_query_lost_nodes_total',
    help: 'Nodes that were missing from an answer, by reason.',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #partialBytes = new Counter({
    name: 'svc_query_partial_bytes_total',
    help: 'Bytes of partial answers that agents sent.',
    registers: [this.registry],
  });

  constructor(gauges: {
    missingAgents: () => number;
    departedNodes: () => number;
    running: () => number;
    heldBytes: () => number;
    memoryRestarts: () => number;
  }) {
    const registers = [this.registry];
    new Gauge({
      name: 'svc_query_missing_agents',
      help: 'Nodes that should have an agent and have none with an address.',
      registers,
      collect() {
        this.set(gauges.missingAgents());
      },
    });
    new Gauge({
      name: 'svc_query_departed_nodes',
      help: 'Nodes that left and are missing from answers about the time in which they were there.',
      registers,
      collect() {
        this.set(gauges.departedNodes());
      },
    });
    new Gauge({
      name: 'svc_query_memory_bytes',
      help: 'Bytes that all queries hold together, beyond the 2 MiB that each may have without asking.',
      registers,
      collect() {
        this.set(gauges.heldBytes());
      },
    });
    new Counter({
      name: 'svc_query_memory_restarts_total',
      help: 'Times that a query had to give its memory back and begin again, because all together would have held too much.',
      registers,
      collect() {
        this.reset();
        this.inc(gauges.memoryRestarts());
      },
    });
    new Gauge({
      name: 'svc_query_running',
      help: 'Queries that run now.',
      registers,
      collect() {
        this.set(gauges.running());
      },
    });
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
