import type { Registry } from 'prom-client';
import { metricsOn } from '../../base/metric-set.ts';
import { dropReasons } from './queue/options.ts';

/** Metrics of the agent's exports. The label `destination` has the text of `destinationName`. */
export type ExportMetrics = ReturnType<typeof createExportMetrics>;

export function createExportMetrics(registry: Registry) {
  const { counter, gauge } = metricsOn(registry);
  const labelNames = ['destination'] as const;
  return {
    sent: counter('svc_export_sent_total', 'Samples and spans that a destination accepted.', labelNames),
    dropped: counter('svc_export_dropped_total', 'Samples and spans that never reach a destination, by reason.', [
      'destination',
      'reason',
    ]),
    failures: counter('svc_export_failures_total', 'Attempts that failed and were put off.', labelNames),
    pendingBytes: gauge('svc_export_pending_bytes', 'Bytes on disk that wait for a destination.', labelNames),
    lastSuccess: gauge(
      'svc_export_last_success_timestamp_seconds',
      'When a destination last accepted data.',
      labelNames,
    ),
  };
}

const allDropReasons = [...dropReasons, 'refused'] as const;

/** Shows what a destination drops from 0 on, so that an increase has the first loss. */
export function startCounting({ dropped }: ExportMetrics, destination: string): void {
  for (const reason of allDropReasons) dropped.inc({ destination, reason }, 0);
}

/**
 * Removes all metrics of a destination that is gone. The last values of its gauges would look current, and the counters
 * of destinations that come and go would add up.
 */
export function forgetDestination(metrics: ExportMetrics, destination: string): void {
  for (const reason of allDropReasons) metrics.dropped.remove({ destination, reason });
  for (const metric of [metrics.sent, metrics.failures, metrics.pendingBytes, metrics.lastSuccess]) {
    metric.remove({ destination });
  }
}
