import type { KubeObject } from '../../api/meta.ts';
import { keyText } from '../keys.ts';
import type { Informer, ObjectKey } from '../types.ts';

export interface ReplayedEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: KubeObject;
}

/**
 * Derives events from the current state of objects, for handlers that were written for events: the changes of a key
 * since its handler last succeeded. This covers a delete that the watch missed, a name that returned with a new uid,
 * and an unchanged object in a new list. States between two runs are skipped.
 */
export class EventReplay {
  readonly #informer: Informer;
  readonly #delivered = new Map<string, KubeObject>();
  /** The last states of deleted objects whose deletion the handler has not got yet. */
  readonly #tombstones = new Map<string, KubeObject>();

  constructor(informer: Informer) {
    this.#informer = informer;
    informer.onEvent((event) => {
      const key = keyText({ namespace: event.object.metadata.namespace, name: event.object.metadata.name ?? '' });
      // No deletion is passed for an object that was never passed. A standby passes none.
      if (event.type === 'deleted' && this.#delivered.has(key)) this.#tombstones.set(key, event.object);
    });
  }

  /**
   * Passes the events of a key to `handle`, in order, with copies of the objects. An error of `handle` is thrown, and
   * the next run passes that event again.
   */
  async run(key: ObjectKey, handle: (event: ReplayedEvent) => Promise<void>): Promise<void> {
    const text = keyText(key);
    const before = this.#delivered.get(text);
    const now = this.#informer.get(key);
    if (before && (!now || now.metadata.uid !== before.metadata.uid)) {
      const last = this.#tombstones.get(text);
      const object = last && last.metadata.uid === before.metadata.uid ? last : before;
      await handle({ type: 'DELETED', object: structuredClone(object) });
      this.#delivered.delete(text);
    }
    if (!now) {
      this.#tombstones.delete(text);
      return;
    }
    const known = this.#delivered.get(text);
    if (known?.metadata.resourceVersion === now.metadata.resourceVersion) return;
    await handle({ type: known ? 'MODIFIED' : 'ADDED', object: structuredClone(now) });
    this.#delivered.set(text, now);
    this.#tombstones.delete(text);
  }
}
