import type { KubeObject } from '../../api/meta.ts';
import { keyOf, keyText } from '../keys.ts';
import type { Informer, ObjectKey } from '../types.ts';

export interface ReplayedEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: KubeObject;
}

/** What the handler has got of one key. */
interface Offered {
  /** The newest known state of the object that the handler last got, whether or not it succeeded. */
  object: KubeObject;
  /** The version of the object with which the handler last succeeded; undefined before the first success. */
  delivered: string | undefined;
}

/**
 * Derives events from the current state of objects, for handlers that were written for events: the changes of a key
 * since its handler last succeeded. This covers a delete that the watch missed, a name that returned with a new uid,
 * and an unchanged object in a new list. States between two runs are skipped. A handler that failed may have done half
 * of its work, so it gets the deletion of an object even if it never succeeded with that object.
 */
export class EventReplay {
  readonly #informer: Informer;
  readonly #offered = new Map<string, Offered>();

  constructor(informer: Informer) {
    this.#informer = informer;
    informer.onEvent(({ type, object }) => {
      if (type !== 'deleted') return;
      // No deletion is passed for an object that was never passed. A standby passes none.
      const offered = this.#offered.get(keyText(keyOf(object)));
      if (offered && offered.object.metadata.uid === object.metadata.uid) offered.object = object;
    });
  }

  /**
   * Passes the events of a key to `handle`, in order, with copies of the objects. An error of `handle` is thrown, and
   * the next run passes that event again.
   */
  async run(key: ObjectKey, handle: (event: ReplayedEvent) => Promise<void>): Promise<void> {
    const text = keyText(key);
    const before = this.#offered.get(text);
    const now = this.#informer.get(key);
    if (before && (!now || now.metadata.uid !== before.object.metadata.uid)) {
      await handle({ type: 'DELETED', object: structuredClone(before.object) });
      this.#offered.delete(text);
    }
    if (!now) return;
    const delivered = this.#offered.get(text)?.delivered;
    const version = now.metadata.resourceVersion;
    if (delivered !== undefined && delivered === version) return;
    const offered: Offered = { object: now, delivered };
    this.#offered.set(text, offered);
    await handle({ type: delivered === undefined ? 'ADDED' : 'MODIFIED', object: structuredClone(now) });
    offered.delivered = version;
  }
}
