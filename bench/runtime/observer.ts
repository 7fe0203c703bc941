import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { KubeClient } from '../../src/kube/index.ts';
import { SharedCache, type Informer } from '../../src/runtime/index.ts';
import { widgets, type Widget } from './world.ts';

/**
 * Sees in one watch stream when a spec changed and when its status followed, so that both times have the same delay.
 */
export class Observer {
  /** From a spec change to its status. Units: ms. */
  readonly latencies: number[] = [];
  readonly #stop = new AbortController();
  readonly #pending = new Map<string, { generation: number; at: number }>();
  readonly #informer: Informer<Widget>;
  readonly #cache: SharedCache;
  #converged = 0;

  constructor(client: KubeClient, namespace: string) {
    this.#cache = new SharedCache({ client, clock: systemClock, logger: silentLogger });
    this.#informer = this.#cache.informer<Widget>({ resource: widgets, namespace });
    this.#informer.onEvent(({ object, old }) => this.#seen(object, old));
  }

  async start(): Promise<void> {
    this.#cache.start(this.#stop.signal);
    await this.#cache.untilSynced(60_000, this.#stop.signal);
  }

  /** How many Widgets have a status for their current spec. */
  get converged(): number {
    return this.#converged;
  }

  get open(): number {
    return this.#pending.size;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#cache.stopped();
  }

  #seen(object: Widget, old: Widget | undefined): void {
    const name = object.metadata.name!;
    const generation = object.metadata.generation!;
    this.#converged += Number(isDone(object)) - Number(old !== undefined && isDone(old));
    if (old && old.metadata.generation !== generation) {
      this.#pending.set(name, { generation, at: performance.now() });
    }
    const pending = this.#pending.get(name);
    if (pending && (object.status?.observedGeneration ?? 0) >= pending.generation) {
      this.latencies.push(performance.now() - pending.at);
      this.#pending.delete(name);
    }
  }
}

function isDone(widget: Widget): boolean {
  return widget.status?.observedGeneration === widget.metadata.generation;
}
