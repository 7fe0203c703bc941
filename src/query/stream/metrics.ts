import type { Counter, Gauge, Registry } from 'prom-client';
import { metricsOn } from '../../base/metric-set.ts';
import { agentFailureReasons } from '../fanout/failure.ts';
import type { FailureReason } from '../fanout/failure.ts';

/** Metrics of the relay of spans and flows. */
export class StreamMetrics {
  readonly #clients: Gauge;
  readonly #lost: Counter<'source'>;
  readonly #failures: Counter<'reason'>;
  readonly #refused: Counter;

  constructor(registry: Registry) {
    const { counter, gauge } = metricsOn(registry);
    this.#clients = gauge('svc_query_stream_clients', 'Readers of the relayed stream.');
    this.#lost = counter(
      'svc_query_stream_lost_total',
      'Stream items that readers were told they lost, by who lost them.',
      ['source'],
    );
    this.#failures = counter(
      'svc_query_stream_node_failures_total',
      'Times that an agent failed a reader of the relayed stream, by reason.',
      ['reason'],
    );
    this.#refused = counter('svc_query_stream_refused_total', 'Readers that were refused because there were too many.');
    for (const source of sources) this.#lost.inc({ source }, 0);
    for (const reason of agentFailureReasons) this.#failures.inc({ reason }, 0);
  }

  clients(now: number): void {
    this.#clients.set(now);
  }

  /** Sources that are not known, which agents may invent, are counted as one. */
  lost(source: string, count: number): void {
    this.#lost.inc({ source: sources.includes(source) ? source : 'other' }, count);
  }

  failed(reason: FailureReason): void {
    this.#failures.inc({ reason });
  }

  refused(): void {
    this.#refused.inc();
  }
}

const sources = ['ring', 'reader', 'labels', 'relay'];
