import type { KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { TypedObject } from '../../kube/index.ts';
import { Indexer } from './indexer.ts';
import { keyOf, keyText, parseKey } from '../keys.ts';
import type { ReflectorSink } from './reflector.ts';
import { Store } from './store.ts';
import type { Informer, ObjectKey, Source, SourceEvent } from '../types.ts';

export interface InformerOptions {
  source: Source;
  logger: Logger;
  clock: Clock;
  /** Applied to each object before it is kept. Default: the transform of the source. */
  transform?: ((object: KubeObject) => KubeObject) | undefined;
  /** Called after this process wrote an object of the source. */
  onWrote?: () => void;
  /** Called with the number of differences that only a later list showed: the watch missed them. */
  onMissed?: (count: number) => void;
}

/** Cache, indexes and listeners of one source. Its reflector hands over the objects that it lists and watches. */
export class SharedInformer<T extends TypedObject = KubeObject> implements Informer<T>, ReflectorSink {
  readonly source: Source;
  readonly #options: InformerOptions;
  readonly #store: Store;
  readonly #indexer: Indexer;
  readonly #listeners = new Set<(event: SourceEvent<T>) => void>();
  readonly #whenSynced: (() => void)[] = [];
  #synced = false;

  constructor(options: InformerOptions) {
    this.source = options.source;
    this.#options = options;
    this.#indexer = new Indexer((index, name, error) =>
      options.logger.error('an index function threw, the object is in no entry of the index', {
        resource: options.source.resource.plural,
        index,
        name,
        error: errorText(error),
      }),
    );
    this.#store = new Store((event) => this.#changed(event as SourceEvent<T>), options.clock);
  }

  get synced(): boolean {
    return this.#synced;
  }

  get size(): number {
    return this.#store.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#store.get(keyText(key)) as T | undefined;
  }

  list(options: { namespace?: string | undefined } = {}): T[] {
    const all = [...this.#store.values()] as T[];
    return options.namespace === undefined ? all : all.filter((o) => o.metadata.namespace === options.namespace);
  }

  addIndex(name: string, values: (object: T) => readonly string[]): void {
    this.#indexer.define(name, values as (object: KubeObject) => readonly string[], this.#store.values());
  }

  byIndex(name: string, value: string): T[] {
    // An object that we wrote is indexed only when its watch event arrives, and the write may have changed its value.
    const written = new Map([...this.#store.written()].map((object) => [keyText(keyOf(object)), object as T]));
    const found: T[] = [];
    for (const key of this.#indexer.keys(name, value)) {
      const object = written.has(key) ? undefined : this.get(parseKey(key));
      if (object) found.push(object);
    }
    for (const object of written.values()) {
      if (this.#indexer.files(name, value, object as unknown as KubeObject)) found.push(object);
    }
    return found;
  }

  onEvent(listener: (event: SourceEvent<T>) => void): () => void {
    this.#listeners.add(listener);
    // A late listener gets the present objects as added, as early listeners did.
    for (const object of this.#store.values())
      this.#tell(listener, { type: 'added', object: object as T, initial: true, missed: false });
    return () => this.#listeners.delete(listener);
  }

  wrote(object: T): void {
    this.#store.wrote(this.keep(object));
    this.#options.onWrote?.();
  }

  /** Stops the timers of the cache, which would keep the process alive. Call it when no further events come. */
  close(): void {
    this.#store.close();
  }

  /** Resolves at the first successful list, after every listener has seen it. */
  untilSynced(): Promise<void> {
    return this.#synced ? Promise.resolve() : new Promise((resolve) => this.#whenSynced.push(resolve));
  }

  replace(items: readonly KubeObject[]): void {
    const missed = this.#store.replace(items);
    if (missed > 0) this.#options.onMissed?.(missed);
    this.#synced = true;
    for (const resolve of this.#whenSynced.splice(0)) resolve();
  }

  upsert(object: KubeObject): void {
    this.#store.upsert(object);
  }

  remove(object: KubeObject): void {
    this.#store.remove(object);
  }

  keep(object: KubeObject): KubeObject {
    const transform = this.#options.transform ?? this.source.transform?.apply;
    if (!transform) return object;
    try {
      return transform(object);
    } catch (error) {
      this.#options.logger.error('transform failed, the object is kept whole', {
        resource: this.source.resource.plural,
        error: errorText(error),
      });
      return object;
    }
  }

  #changed(event: SourceEvent<T>): void {
    if (event.old) this.#indexer.remove(event.old);
    if (event.type !== 'deleted') this.#indexer.add(event.object);
    for (const listener of this.#listeners) this.#tell(listener, event);
  }

  #tell(listener: (event: SourceEvent<T>) => void, event: SourceEvent<T>): void {
    try {
      listener(event);
    } catch (error) {
      // Controllers retry their own mappers; this catches errors of every other listener.
      this.#options.logger.error('a listener threw', {
        resource: this.source.resource.plural,
        error: errorText(error),
      });
    }
  }
}
