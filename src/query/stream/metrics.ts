import type { Registry } from 'prom-client';
import { metricsOn } from '../../base/metric-set.ts';
import { agentFailureReasons } from '../fanout/failure.ts';
import type { FailureReason } from '../fanout/failure.ts';

/** Metrics of the relay of spans and flows. */
export type StreamMetrics = ReturnType<typeof createStreamMetrics>;

export function createStreamMetrics(registry: Registry) {
  const { counter, gauge } = metricsOn(registry);
  const clients = gauge('svc_query_stream_clients', 'Readers of the relayed stream.');
  const lost = counter(
    'svc_query_stream_lost_total',
    "Items missing from a reader's stream and reported to it, by where they were lost.",
    ['source'],
  );
  const failures = counter(
    'svc_query_stream_node_failures_total',
    'Times that an agent failed a reader of the relayed stream, by reason.',
    ['reason'],
  );
  const refused = counter('svc_query_stream_refused_total', 'Readers that were refused because there were too many.');
  for (const source of sources) lost.inc({ source }, 0);
  for (const reason of agentFailureReasons) failures.inc({ reason }, 0);
  return {
    clients: (now: number) => clients.set(now),
    /** Agents may report any source: unknown ones are counted together as `other`. */
    lost: (source: string, count: number) => lost.inc({ source: sources.includes(source) ? source : 'other' }, count),
    failed: (reason: FailureReason) => failures.inc({ reason }),
    refused: () => refused.inc(),
  };
}

const sources = ['ring', 'reader', 'labels', 'pattern', 'relay'];
