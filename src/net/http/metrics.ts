import type { Counter, Gauge, Registry } from 'prom-client';
import { metricsOn } from '../../base/metric-set.ts';
import { refusalReasons, type RefusalReason } from './refusal.ts';

const known = new WeakMap<Registry, HttpServerMetrics>();

/** Metrics of the HTTP listeners of one process, once per registry. `prefix` names the program, such as `svc_query`. */
export function httpServerMetrics(registry: Registry, prefix: string): HttpServerMetrics {
  const metrics = known.get(registry) ?? new HttpServerMetrics(registry, prefix);
  known.set(registry, metrics);
  return metrics;
}

export class HttpServerMetrics {
  readonly #refused: Counter<'listener' | 'reason'>;
  readonly #connections: Gauge<'listener'>;

  constructor(registry: Registry, prefix: string) {
    const { counter, gauge } = metricsOn(registry);
    this.#refused = counter(
      `${prefix}_listener_refused_total`,
      'Requests, connections and sessions that a listener refused or ended by itself',
      ['listener', 'reason'],
    );
    this.#connections = gauge(`${prefix}_listener_connections`, 'Open connections of a listener', ['listener']);
  }

  declare(listener: string): void {
    this.#connections.set({ listener }, 0);
    for (const reason of refusalReasons) this.#refused.inc({ listener, reason }, 0);
  }

  refused(listener: string, reason: RefusalReason): void {
    this.#refused.inc({ listener, reason });
  }

  connections(listener: string, count: number): void {
    this.#connections.set({ listener }, count);
  }
}
