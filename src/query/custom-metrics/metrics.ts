import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { FallbackOutcome } from './fallback/adapter-failure.ts';

/** Measures the API for autoscalers. */
export class CustomMetricsMeter {
  readonly #freshness: Histogram;
  readonly #duration: Histogram;
  readonly #degraded: Counter;
  readonly #fallback: Histogram;

  constructor(registry: Registry, gauges: { names: () => Readonly<Record<string, number>> }) {
    const registers = [registry];
    this.#freshness = new Histogram({
      name: 'svc_custom_metrics_freshness_seconds',
      help: 'Age of the samples behind each value that was served to an autoscaler.',
      buckets: [1, 2.5, 5, 10, 15, 20, 30, 45, 60, 120, 300],
      registers,
    });
    this.#duration = new Histogram({
      name: 'svc_custom_metrics_request_duration_seconds',
      help: 'Time from a request to the end of its answer, by API and HTTP status.',
      labelNames: ['api', 'code'],
      buckets: [0.005, 0.02, 0.1, 0.5, 1, 2.5, 10, 30],
      registers,
    });
    this.#degraded = new Counter({
      name: 'svc_custom_metrics_degraded_total',
      help: 'Answers that lacked a node: objects were omitted from them, or they were refused.',
      labelNames: ['outcome'],
      registers,
    });
    for (const outcome of ['omitted', 'refused']) this.#degraded.inc({ outcome }, 0);
    this.#fallback = new Histogram({
      name: 'svc_custom_metrics_fallback_duration_seconds',
      help: 'Time of requests for metrics that nobody here knows to the second adapter, by what came of them.',
      labelNames: ['outcome'],
      buckets: [0.005, 0.02, 0.1, 0.5, 1, 2.5, 10],
      registers,
    });
    new Gauge({
      name: 'svc_custom_metrics_names',
      help: 'Metrics on offer, one for each kind of object, by where they come from.',
      labelNames: ['source'],
      registers,
      collect() {
        for (const [source, count] of Object.entries(gauges.names())) this.set({ source }, count);
      },
    });
  }

  freshness(seconds: number): void {
    this.#freshness.observe(seconds);
  }

  request(api: string, code: number, seconds: number): void {
    this.#duration.observe({ api, code: String(code) }, seconds);
  }

  fallback(outcome: FallbackOutcome, seconds: number): void {
    this.#fallback.observe({ outcome }, seconds);
  }

  degraded(outcome: 'omitted' | 'refused'): void {
    this.#degraded.inc({ outcome });
  }
}
