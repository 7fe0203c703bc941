import { Counter, Gauge, type Registry } from 'prom-client';

/** What an agent's certificate is: its own, the one that agents of earlier versions share, or none yet. */
export type AgentCertificate = 'own' | 'shared' | 'none';

export interface AgentCertificateMetrics {
  issued(): void;
  refused(reason: string): void;
}

/** `count` is asked when the gauge is read. */
export function agentCertificateMetrics(
  registry: Registry,
  count: () => Record<AgentCertificate, number>,
): AgentCertificateMetrics {
  const registers = [registry];
  const issued = new Counter({
    name: 'svc_controller_agent_certificates_issued_total',
    help: 'Certificates issued to agents and taken by them.',
    registers,
  });
  const refused = new Counter({
    name: 'svc_controller_agent_certificates_refused_total',
    help: 'Certificates refused to what answered as an agent, by reason.',
    labelNames: ['reason'] as const,
    registers,
  });
  new Gauge({
    name: 'svc_controller_agent_certificates',
    help: 'Running agents by their certificate: own, shared (of earlier versions), none (or not looked at yet).',
    labelNames: ['certificate'] as const,
    registers,
    collect() {
      for (const [certificate, number] of Object.entries(count())) this.set({ certificate }, number);
    },
  });
  return { issued: () => issued.inc(), refused: (reason) => refused.inc({ reason }) };
}
