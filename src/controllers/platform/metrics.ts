import { Gauge, type Registry } from 'prom-client';
import type { CertificateState } from './certificates.ts';

/** When each certificate ends, as the cluster has it at the time of the scrape. */
export function certificateGauge(registry: Registry, states: () => CertificateState[]): void {
  new Gauge({
    name: 'svc_controller_cert_expiry_timestamp_seconds',
    help: "End of a certificate's life, by the Secret that holds it.",
    labelNames: ['secret'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { secret, expiresAt } of states()) this.set({ secret }, expiresAt / 1000);
    },
  });
}
