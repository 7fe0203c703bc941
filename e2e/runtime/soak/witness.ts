import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { KubeClient } from '../../../src/kube/index.ts';
import { RuntimeMetrics, SharedCache } from '../../../src/runtime/index.ts';
import type { Written } from './churn.ts';
import { parts, type Part } from './crd.ts';

/** A source of the runtime behind the bad network, for the whole soak: which versions did its watch show? */
export class Witness {
  readonly metrics = new RuntimeMetrics();
  readonly #seen = new Set<string>();
  readonly #cache: SharedCache;
  readonly #stop = new AbortController();

  constructor(client: KubeClient, namespace: string) {
    this.#cache = new SharedCache({ client, clock: systemClock, logger: silentLogger, metrics: this.metrics });
    this.#cache.informer<Part>({ resource: parts, namespace }).onEvent(({ object, missed }) => {
      if (!missed) this.#seen.add(versionOf(object.metadata.uid!, object.metadata.resourceVersion!));
    });
  }

  async start(): Promise<void> {
    this.#cache.start(this.#stop.signal);
    await this.#cache.untilSynced(60_000, this.#stop.signal);
  }

  /** Changes found only by a later list, as the metric counts them. */
  async counted(): Promise<number> {
    const { values } = await this.metrics.missedEvents.get();
    return values.reduce((sum, v) => sum + v.value, 0);
  }

  /** Objects that were written in a version which no watch showed. */
  lostObjects(written: readonly Written[]): number {
    const lost = written.filter((w) => !this.#seen.has(versionOf(w.uid, w.resourceVersion)));
    return new Set(lost.map((w) => w.uid)).size;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#cache.stopped();
  }
}

const versionOf = (uid: string, resourceVersion: string): string => `${uid}@${resourceVersion}`;
