import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { KubeClient, TypedObject, WatchFrame } from '../../../src/kube/index.ts';
import { RuntimeMetrics, SharedCache } from '../../../src/runtime/index.ts';
import { parts, type Part } from './crd.ts';
import type { StorageHistory } from './storage-history.ts';
import { account, type Account, type Gap } from './watch-account.ts';

/** Records what the runtime's cache of one kind reads by list and watch during the soak, over a faulty network. */
export class Witness {
  readonly #metrics = new RuntimeMetrics();
  readonly #shown = new Set<string>();
  readonly #gaps: Gap[] = [];
  readonly #cache: SharedCache;
  readonly #stop = new AbortController();
  /** Version of the first list. */
  #since: number | undefined;
  /** The latest version that a list or a watch reported. */
  #at = 0;

  constructor(client: KubeClient, namespace: string) {
    const overheard = this.#overhear(client);
    this.#cache = new SharedCache({
      client: overheard,
      clock: systemClock,
      logger: silentLogger,
      metrics: this.#metrics,
    });
    this.#cache.informer<Part>({ resource: parts, namespace }).onEvent(({ object: { metadata }, missed, initial }) => {
      if (!missed && !initial) this.#shown.add(`${metadata.name}@${metadata.resourceVersion}`);
    });
  }

  async start(): Promise<void> {
    this.#cache.start(this.#stop.signal);
    await this.#cache.untilSynced(60_000, this.#stop.signal);
  }

  /** How many lists were read after the first. */
  get relists(): number {
    return this.#gaps.length;
  }

  /** Number of changes that no watch reported and a later list found, as the runtime's own metric counts them. */
  async counted(): Promise<number> {
    const { values } = await this.#metrics.missedEvents.get();
    return values.reduce((sum, v) => sum + v.value, 0);
  }

  /** The latest version that a list or a watch has reported. */
  get at(): number {
    return this.#at;
  }

  account(history: StorageHistory): Account {
    return account(history.writes, this.#since ?? 0, this.#gaps, this.#shown);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#cache.stopped();
  }

  /** Wraps the client to record the versions of its lists and streams before the cache sees them. */
  #overhear(client: KubeClient): KubeClient {
    const list: KubeClient['list'] = async (resource, options) => {
      const page = await client.list(resource, options);
      if (page.continue === undefined) this.#listed(page.resourceVersion);
      return page as never;
    };
    const watch: KubeClient['watch'] = (resource, options) =>
      this.#note(client.watch(resource, options), options.sendInitialEvents ?? false);
    return new Proxy(client, {
      get(target, name) {
        if (name === 'list') return list;
        if (name === 'watch') return watch;
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      },
    });
  }

  async *#note(frames: AsyncIterable<WatchFrame>, initialEvents: boolean): AsyncGenerator<WatchFrame> {
    let listing = initialEvents;
    for await (const frame of frames) {
      const { metadata } = frame.object as TypedObject;
      if (frame.type !== 'ERROR') {
        if (!listing) this.#at = Number(metadata.resourceVersion);
        else if (metadata.annotations?.['k8s.io/initial-events-end'] === 'true') {
          listing = false;
          this.#listed(metadata.resourceVersion ?? '');
        }
      }
      yield frame;
    }
  }

  #listed(resourceVersion: string): void {
    const to = Number(resourceVersion);
    if (this.#since === undefined) this.#since = to;
    else this.#gaps.push({ from: this.#at, to });
    this.#at = to;
  }
}
