import { Counter, Gauge, Histogram, Registry } from 'prom-client';

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

  constructor(gauges: { missingAgents: () => number; running: () => number }) {
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
      name: 'svc_query_running',
      help: 'Queries that run now.',
      registers,
      collect() {
        this.set(gauges.running());
      },
    });
  }

  observe(path: string, code: number, seconds: number, degraded: boolean): void {
    this.#duration.observe({ path, code: String(code) }, seconds);
    if (degraded) this.#degraded.inc();
  }
}
