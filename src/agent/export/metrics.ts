import { Counter, Gauge, type Registry } from 'prom-client';

/** What the agent counts of its exports, by destination: `<kind>/<namespace>/<name>/<export>`. */
export type ExportMetrics = ReturnType<typeof createExportMetrics>;

export function createExportMetrics(registry: Registry) {
  const registers = [registry];
  const labelNames = ['destination'] as const;
  return {
    sent: new Counter({
      name: 'svc_export_sent_total',
      help: 'Samples and spans that a destination took.',
      labelNames,
      registers,
    }),
    dropped: new Counter({
      name: 'svc_export_dropped_total',
      help: 'Samples and spans that never reach a destination, by reason.',
      labelNames: ['destination', 'reason'] as const,
      registers,
    }),
    failures: new Counter({
      name: 'svc_export_failures_total',
      help: 'Attempts that failed and were put off.',
      labelNames,
      registers,
    }),
    pendingBytes: new Gauge({
      name: 'svc_export_pending_bytes',
      help: 'Bytes on disk that wait for a destination.',
      labelNames,
      registers,
    }),
    lastSuccess: new Gauge({
      name: 'svc_export_last_success_timestamp_seconds',
      help: 'When a destination last took something.',
      labelNames,
      registers,
    }),
  };
}
