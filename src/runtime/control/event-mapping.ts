import type { Clock } from '../../base/clock.ts';
import type { TypedObject } from '../../kube/index.ts';
import { itemBackoff } from '../backoff.ts';
import { keyOf, keyText } from '../keys.ts';
import type { Mapper, Predicate, SourceEvent } from '../types.ts';

/** A state that no longer exists is mapped again this often, which takes about half an hour. */
const triesOfGone = 20;

const none: readonly string[] = [];

/** By object: cancels the try that waits. */
type Waiting = Map<string, () => void>;

export interface EventMappingHooks {
  /** `keys`: as `keyText` writes them, some perhaps twice. */
  enqueue(event: SourceEvent, keys: readonly string[]): void;
  /** A predicate or the mapper threw. `retry`: whether it will be asked again. */
  failed(event: SourceEvent, error: unknown, retry: boolean): void;
}

/**
 * Turns the events of one watch into keys, and asks again where a predicate or the mapper threw.
 *
 * Guarantees: the new and the old state of an object are mapped independently of each other. At most two tries wait for
 * an object: one for its newest event, which replaces that of an earlier event, and one for a former state. An existing
 * object is tried until that succeeds or a newer event comes; a deleted object and a former state, for half an hour.
 */
export class EventMapping {
  readonly #map: Mapper;
  readonly #predicates: readonly Predicate[];
  readonly #clock: Clock;
  readonly #hooks: EventMappingHooks;
  /** The newest events of objects. */
  readonly #newest: Waiting = new Map();
  /** Former states of objects. */
  readonly #former: Waiting = new Map();

  constructor(
    watch: { readonly map: Mapper; readonly predicates: readonly Predicate[] },
    clock: Clock,
    hooks: EventMappingHooks,
  ) {
    this.#map = watch.map;
    this.#predicates = watch.predicates;
    this.#clock = clock;
    this.#hooks = hooks;
  }

  take(event: SourceEvent): void {
    this.#take(event, 0);
  }

  /** Cancels what waits for another try. */
  stop(): void {
    for (const waiting of [this.#newest, this.#former]) {
      for (const cancel of waiting.values()) cancel();
      waiting.clear();
    }
  }

  #take(event: SourceEvent, tries: number): void {
    let accepted: boolean;
    try {
      accepted = this.#accepts(event);
    } catch (error) {
      this.#replace(event);
      this.#later(this.#newest, event, error, tries, (next) => this.#take(event, next));
      return;
    }
    // The event that waits was accepted, or may be. A rejected change does not take its place.
    if (accepted || event.type === 'deleted') this.#replace(event);
    if (!accepted) return;
    const keys = this.#keys(this.#newest, event, event.object, 0);
    // An object that changed owners or labels concerns the keys of both its old and its new state.
    const old = event.type === 'updated' && event.old ? this.#keys(this.#former, event, event.old, 0) : none;
    this.#hooks.enqueue(event, old.length > 0 ? [...keys, ...old] : keys);
  }

  /** If the two states of an object cannot be compared, the new one is judged as that of an object that just appeared. */
  #accepts(event: SourceEvent): boolean {
    try {
      return this.#acceptAll(event);
    } catch (error) {
      if (event.type !== 'updated') throw error;
      const accepted = this.#acceptAll({ ...event, type: 'added', old: undefined });
      this.#hooks.failed(event, error, false);
      return accepted;
    }
  }

  #acceptAll(event: SourceEvent): boolean {
    for (const accept of this.#predicates) if (!accept(event)) return false;
    return true;
  }

  #keys(waiting: Waiting, event: SourceEvent, state: TypedObject, tries: number): readonly string[] {
    try {
      return this.#map(state).map(keyText);
    } catch (error) {
      this.#later(waiting, event, error, tries, (next) =>
        this.#hooks.enqueue(event, this.#keys(waiting, event, state, next)),
      );
      return none;
    }
  }

  #replace(event: SourceEvent): void {
    if (this.#newest.size === 0) return;
    const id = identity(event.object);
    this.#newest.get(id)?.();
    this.#newest.delete(id);
  }

  #later(waiting: Waiting, event: SourceEvent, error: unknown, tries: number, again: (tries: number) => void): void {
    const id = identity(event.object);
    const gone = waiting === this.#former || event.type === 'deleted';
    // Of several former states only the first waits: it is the last one whose keys may have been reconciled.
    const retry = !waiting.has(id) && !(gone && tries >= triesOfGone);
    this.#hooks.failed(event, error, retry);
    if (!retry) return;
    const next = (): void => {
      waiting.delete(id);
      again(tries + 1);
    };
    waiting.set(id, this.#clock.setTimeout(next, Math.max(1_000, itemBackoff(tries + 1))));
  }
}

/** A new object under the name of a deleted one is another object. */
function identity(object: TypedObject): string {
  return object.metadata.uid ?? keyText(keyOf(object));
}
