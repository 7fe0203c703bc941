import type { Registry } from 'prom-client';
import { metricsOn } from '../../base/metric-set.ts';
import type { CertificateState } from './certificates.ts';

/** When each certificate ends, as the cluster has it at the time of the scrape. */
export function certificateGauge(registry: Registry, states: () => CertificateState[]): void {
  metricsOn(registry).gauge(
    'svc_controller_cert_expiry_timestamp_seconds',
    "End of a certificate's life, by the Secret that holds it.",
    ['secret'],
    (metric) => {
      metric.reset();
      for (const { secret, expiresAt } of states()) metric.set({ secret }, expiresAt / 1000);
    },
  );
}
