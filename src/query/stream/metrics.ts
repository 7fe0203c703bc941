import { Counter, Gauge, type Registry } from 'prom-client';
import { agentFailureReasons } from '../fanout/failure.ts';
import type { FailureReason } from '../fanout/failure.ts';

/** Metrics of the relay of spans and flows. */
export class StreamMetrics {
  readonly #clients: Gauge;
  readonly #lost: Counter<'source'>;
  readonly #failures: Counter<'reason'>;
  readonly #refused: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#clients = new Gauge({ name: 'svc_query_stream_clients', help: 'Readers of the relayed stream.', registers });
    this.#lost = new Counter({
      name: 'svc_query_stream_lost_total',
      help: 'Stream items that readers were told they lost, by who lost them.',
      labelNames: ['source'],
      registers,
    });
    this.#failures = new Counter({
      name: 'svc_query_stream_node_failures_total',
      help: 'Times that an agent failed a reader of the relayed stream, by reason.',
      labelNames: ['reason'],
      registers,
    });
    this.#refused = new Counter({
      name: 'svc_query_stream_refused_total',
      help: 'Readers that were refused because there were too many.',
      registers,
    });
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
