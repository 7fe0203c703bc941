import type { Registry } from 'prom-client';
import { metricsOn } from '../../base/metric-set.ts';
import type { FallbackOutcome } from './fallback/adapter-failure.ts';

/** Measures the API for autoscalers. */
export type CustomMetricsMeter = ReturnType<typeof createCustomMetricsMeter>;

/** Registers the metrics about the API. `names` returns how many autoscaler metrics each source offers. */
export function createCustomMetricsMeter(registry: Registry, names: () => Readonly<Record<string, number>>) {
  const { counter, gauge, histogram } = metricsOn(registry);
  const freshness = histogram(
    'svc_custom_metrics_freshness_seconds',
    'Age of the samples behind each value that was served to an autoscaler.',
    [1, 2.5, 5, 10, 15, 20, 30, 45, 60, 120, 300],
  );
  const duration = histogram(
    'svc_custom_metrics_request_duration_seconds',
    'Time from a request to the end of its answer, by API and HTTP status.',
    [0.005, 0.02, 0.1, 0.5, 1, 2.5, 10, 30],
    ['api', 'code'],
  );
  const degraded = counter(
    'svc_custom_metrics_degraded_total',
    'Answers that lacked a node: objects were omitted from them, or they were refused.',
    ['outcome'],
  );
  for (const outcome of ['omitted', 'refused']) degraded.inc({ outcome }, 0);
  const fallback = histogram(
    'svc_custom_metrics_fallback_duration_seconds',
    'Time of requests to the second adapter, for metrics that this server does not have, by outcome.',
    [0.005, 0.02, 0.1, 0.5, 1, 2.5, 10],
    ['outcome'],
  );
  gauge(
    'svc_custom_metrics_names',
    'Metrics offered to autoscalers, by source; a metric counts once for each kind of object.',
    ['source'],
    (metric) => {
      for (const [source, count] of Object.entries(names())) metric.set({ source }, count);
    },
  );
  return {
    freshness: (seconds: number) => freshness.observe(seconds),
    request: (api: string, code: number, seconds: number) => duration.observe({ api, code: String(code) }, seconds),
    fallback: (outcome: FallbackOutcome, seconds: number) => fallback.observe({ outcome }, seconds),
    degraded: (outcome: 'omitted' | 'refused') => degraded.inc({ outcome }),
  };
}
