import type { KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import { keyOf, keyText } from '../keys.ts';
import type { SourceEvent } from '../types.ts';

type Listener = (event: SourceEvent) => void;

/**
 * How many recently delivered versions, and how many of our unconfirmed writes, are kept. The answer to a write arrives
 * within moments of its echo (the watch event of that write), so a few thousand are enough.
 */
const maxRecent = 4_096;

/** How long a written object is shown without its echo. Units: ms. */
export const overlayMs = 10_000;

interface Written {
  object: KubeObject;
  /** Monotonic ms. */
  until: number;
  /** Whether listeners were notified that the object is no longer shown. */
  notified: boolean;
}

/**
 * The objects of one kind that is listed and watched, by key. The listener gets an event for each change that a list or
 * a watch event makes.
 *
 * Guarantees: a missed delete is reported with the last known state; a name that returns with a new uid is reported as
 * deleted, then added; an object with an unchanged resource version is not reported. A write of ours that no watch or
 * list confirms in time is no longer shown: the listener gets one event with the state that the server last showed.
 */
export class Store {
  readonly #objects = new Map<string, KubeObject>();
  /**
   * Our writes that the watch has not delivered yet. A write is shown until `until`, and kept until the watch delivers
   * it or a list replaces it.
   */
  readonly #overlay = new Map<string, Written>();
  /** `key@resourceVersion` of objects that the watch delivered recently, oldest first. */
  readonly #recent = new Set<string>();
  readonly #listener: Listener;
  readonly #clock: Clock;
  #cancelExpiry: (() => void) | undefined;
  #filled = false;
  #closed = false;

  constructor(listener: Listener, clock: Clock) {
    this.#listener = listener;
    this.#clock = clock;
  }

  /** Stops the expiry timer. The objects stay readable. */
  close(): void {
    this.#closed = true;
    this.#cancelExpiry?.();
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): KubeObject | undefined {
    const written = this.#overlay.get(key);
    if (written && written.until > this.#clock.monotonic()) return written.object;
    return this.#objects.get(key);
  }

  *values(): Generator<KubeObject> {
    for (const [key, object] of this.#objects) yield this.#overlay.size > 0 ? (this.get(key) ?? object) : object;
    for (const key of this.#overlay.keys()) {
      if (this.#objects.has(key)) continue;
      const object = this.get(key);
      if (object) yield object;
    }
  }

  /** Our own writes that are currently shown in place of the server's last state. */
  *written(): Generator<KubeObject> {
    for (const key of this.#overlay.keys()) {
      const object = this.get(key);
      if (object && object !== this.#objects.get(key)) yield object;
    }
  }

  /** Takes a complete list. Returns the number of differences from the former objects; 0 for the first list. */
  replace(items: readonly KubeObject[]): number {
    const initial = !this.#filled;
    const missed = !initial;
    const awaited = [...this.#overlay].filter(
      ([key, { object }]) => this.#objects.get(key)?.metadata.uid !== object.metadata.uid,
    );
    const written = new Map(this.#overlay);
    this.#overlay.clear();
    let differences = 0;
    const seen = new Set<string>();
    for (const object of items) {
      const key = keyText(keyOf(object));
      seen.add(key);
      if (this.#put(key, object, initial, missed)) differences++;
    }
    for (const [key, object] of this.#objects) {
      if (seen.has(key)) continue;
      this.#objects.delete(key);
      differences++;
      // If we wrote the same object, our write is its last known state: its owner reference may differ.
      const last = written.get(key)?.object;
      const known = last && last.metadata.uid === object.metadata.uid ? last : object;
      this.#listener({ type: 'deleted', object: known, old: object, initial, missed });
    }
    // We created these objects while no watch ran. They were deleted, or left the selection, before a watch began.
    for (const [key, { object }] of awaited) {
      if (!seen.has(key)) this.#listener({ type: 'deleted', object, old: object, initial, missed });
    }
    this.#filled = true;
    return initial ? 0 : differences;
  }

  upsert(object: KubeObject): void {
    const key = keyText(keyOf(object));
    this.#settle(key, object);
    this.#remember(key, object);
    this.#put(key, object, false, false);
  }

  remove(object: KubeObject): void {
    const key = keyText(keyOf(object));
    this.#overlay.delete(key);
    const old = this.#objects.get(key);
    if (!old) return;
    this.#objects.delete(key);
    this.#remember(key, old);
    this.#listener({ type: 'deleted', object, old, initial: false, missed: false });
  }

  /**
   * Shows `object` until the stream delivers its version or a deletion, a list arrives, or its time is over. Versions
   * are opaque, so the store relies on order: in one stream the echo of a write precedes all later events. An answer
   * that arrives after its echo is ignored: the stream may have delivered a newer edit, which the answer must not hide.
   */
  wrote(object: KubeObject): void {
    const key = keyText(keyOf(object));
    const { resourceVersion } = object.metadata;
    const unchanged = this.#objects.get(key)?.metadata.resourceVersion === resourceVersion;
    if (unchanged || this.#recent.has(`${key}@${resourceVersion}`)) return;
    const before = this.#overlay.get(key);
    // The same version again: the watch lags behind, and listeners have been notified of that version.
    const notified = before?.notified === true && before.object.metadata.resourceVersion === resourceVersion;
    this.#overlay.delete(key);
    if (this.#overlay.size >= maxRecent) this.#overlay.delete(this.#overlay.keys().next().value!);
    this.#overlay.set(key, { object, until: this.#clock.monotonic() + overlayMs, notified });
    this.#expireLater(overlayMs);
  }

  #expireLater(ms: number): void {
    if (this.#closed) return;
    this.#cancelExpiry ??= this.#clock.setTimeout(() => {
      this.#cancelExpiry = undefined;
      this.#expire();
    }, ms);
  }

  /**
   * Ends overlays whose time is up, with an event for each. The event is needed if the answer to a write arrived after
   * a newer list: the overlay then hid a change of that list, which no later list or watch reports again.
   */
  #expire(): void {
    const now = this.#clock.monotonic();
    for (const [key, written] of [...this.#overlay]) {
      if (written.notified) continue;
      if (written.until > now) return this.#expireLater(written.until - now);
      written.notified = true;
      const current = this.#objects.get(key);
      const type = current ? 'updated' : 'deleted';
      this.#listener({ type, object: current ?? written.object, old: written.object, initial: false, missed: false });
    }
  }

  #remember(key: string, object: KubeObject): void {
    this.#recent.add(`${key}@${object.metadata.resourceVersion}`);
    if (this.#recent.size > maxRecent) this.#recent.delete(this.#recent.values().next().value!);
  }

  #settle(key: string, object: KubeObject): void {
    const written = this.#overlay.get(key)?.object;
    if (written?.metadata.resourceVersion === object.metadata.resourceVersion) this.#overlay.delete(key);
  }

  #put(key: string, object: KubeObject, initial: boolean, missed: boolean): boolean {
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    if (!old) {
      this.#listener({ type: 'added', object, initial, missed });
      return true;
    }
    if (old.metadata.uid !== object.metadata.uid) {
      this.#listener({ type: 'deleted', object: old, old, initial, missed });
      this.#listener({ type: 'added', object, initial, missed });
      return true;
    }
    if (old.metadata.resourceVersion === object.metadata.resourceVersion) return false;
    this.#listener({ type: 'updated', object, old, initial, missed });
    return true;
  }
}
