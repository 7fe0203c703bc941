import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/**
 * Declares metrics on a registry, each with its name, help and labels in one call.
 * `read` sets a metric at each scrape, for a value that is kept elsewhere.
 */
export function metricsOn(registry: Registry) {
  const registers = [registry];
  return {
    counter<L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[] = [],
      read: (counter: Counter<L>) => void = () => {},
    ): Counter<L> {
      return new Counter({ name, help, labelNames, registers, collect: asCollect(read) });
    },
    gauge<L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[] = [],
      read: (gauge: Gauge<L>) => void = () => {},
    ): Gauge<L> {
      return new Gauge({ name, help, labelNames, registers, collect: asCollect(read) });
    },
    histogram<L extends string>(
      name: string,
      help: string,
      buckets: readonly number[],
      labelNames: readonly L[] = [],
    ): Histogram<L> {
      return new Histogram({ name, help, labelNames, buckets: [...buckets], registers });
    },
  };
}

/** prom-client hands the metric over as `this`. */
function asCollect<M>(read: (metric: M) => void): (this: M) => void {
  return function (this: M) {
    read(this);
  };
}
