import type { Clock } from '../../base/clock.ts';
import type { TypedObject } from '../../kube/index.ts';
import { itemBackoff } from '../backoff.ts';
import { keyOf, keyText } from '../keys.ts';
import type { Mapper, Predicate, SourceEvent } from '../types.ts';

/** A state that no longer exists is mapped again this often, which takes about half an hour. */
const triesOfGone = 20;

/** So many former states of one object wait at most. */
const mostFormer = 8;

const none: readonly string[] = [];

/** The try of an object's newest event. */
interface Waiting {
  event: SourceEvent;
  readonly cancel: () => void;
}

export interface EventMappingHooks {
  /** `keys`: as `keyText` writes them, some perhaps twice. */
  enqueue(event: SourceEvent, keys: readonly string[]): void;
  /** A predicate or the mapper threw. `retry`: whether it will be asked again. */
  failed(event: SourceEvent, error: unknown, retry: boolean): void;
}

/**
 * Turns the events of one watch into keys, and asks again where a predicate or the mapper threw.
 *
 * Guarantees: the new and the old state of an object are mapped independently of each other. For an object wait at most
 * one try of its newest event, which takes in what the object becomes meanwhile, and eight of former states; a further
 * former state is dropped, and reported as not retried. An existing object is tried until that succeeds or a newer event
 * comes; a deleted object and a former state, for half an hour. If the predicates throw on an update, the keys of its
 * old state are enqueued at once: a newer event may end its try.
 */
export class EventMapping {
  readonly #map: Mapper;
  readonly #predicates: readonly Predicate[];
  readonly #clock: Clock;
  readonly #hooks: EventMappingHooks;
  /** By object: the try of its newest event. */
  readonly #newest = new Map<string, Waiting>();
  /** By object and resource version: cancels the try of a former state. */
  readonly #former = new Map<string, Map<string, () => void>>();

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
    for (const { cancel } of this.#newest.values()) cancel();
    for (const states of this.#former.values()) for (const cancel of states.values()) cancel();
    this.#newest.clear();
    this.#former.clear();
  }

  #take(event: SourceEvent, tries: number): void {
    let accepted: boolean;
    try {
      accepted = this.#accepts(event, tries);
    } catch (error) {
      const before = this.#cancel(event.object);
      if (tries === 0) this.#hooks.enqueue(event, this.#oldKeys(event));
      // The changes of several events are judged as one: the last of them alone may be one that is rejected.
      const whole = before && event.type === 'updated' ? { ...before, object: event.object } : event;
      this.#later(whole, error, tries, (newest, next) => this.#take(newest, next));
      return;
    }
    if (accepted) {
      this.#cancel(event.object);
      const keys = this.#newKeys(event, 0);
      // An object that changed owners or labels concerns the keys of both its old and its new state.
      const old = tries === 0 ? this.#oldKeys(event) : none;
      this.#hooks.enqueue(event, old.length > 0 ? [...keys, ...old] : keys);
    } else if (event.type === 'deleted') {
      this.#cancel(event.object);
    } else if (event.type === 'updated') {
      // The event that waits was accepted, or may be, and its state no longer exists.
      const waiting = this.#newest.get(identity(event.object));
      if (waiting) waiting.event = { ...waiting.event, object: event.object };
    }
  }

  /** If the two states of an object cannot be compared, the new one is judged as that of an object that just appeared. */
  #accepts(event: SourceEvent, tries: number): boolean {
    try {
      return this.#acceptAll(event);
    } catch (error) {
      if (event.type !== 'updated') throw error;
      const accepted = this.#acceptAll({ ...event, type: 'added', old: undefined });
      this.#hooks.failed(event, error, false);
      // The object may no longer be one that the predicates accept.
      if (!accepted && tries === 0) this.#hooks.enqueue(event, this.#oldKeys(event));
      return accepted;
    }
  }

  #acceptAll(event: SourceEvent): boolean {
    for (const accept of this.#predicates) if (!accept(event)) return false;
    return true;
  }

  /** The keys of the newest state. */
  #newKeys(event: SourceEvent, tries: number): readonly string[] {
    try {
      return this.#map(event.object).map(keyText);
    } catch (error) {
      this.#later(event, error, tries, (newest, next) => this.#hooks.enqueue(newest, this.#newKeys(newest, next)));
      return none;
    }
  }

  /** The keys of the state before an update. */
  #oldKeys(event: SourceEvent, tries = 0): readonly string[] {
    if (event.type !== 'updated' || !event.old) return none;
    try {
      return this.#map(event.old).map(keyText);
    } catch (error) {
      this.#laterFormer(event, event.old, error, tries);
      return none;
    }
  }

  /** Cancels the try of an object's newest event. Returns that event. */
  #cancel(object: TypedObject): SourceEvent | undefined {
    if (this.#newest.size === 0) return undefined;
    const id = identity(object);
    const waiting = this.#newest.get(id);
    waiting?.cancel();
    this.#newest.delete(id);
    return waiting?.event;
  }

  /** Expects that no try of the object's newest event waits. `again` gets the event with the state that it has by then. */
  #later(event: SourceEvent, error: unknown, tries: number, again: (newest: SourceEvent, tries: number) => void): void {
    const retry = event.type !== 'deleted' || tries < triesOfGone;
    this.#hooks.failed(event, error, retry);
    if (!retry) return;
    const id = identity(event.object);
    const next = (): void => {
      this.#newest.delete(id);
      again(waiting.event, tries + 1);
    };
    const waiting: Waiting = { event, cancel: this.#clock.setTimeout(next, delayMs(tries)) };
    this.#newest.set(id, waiting);
  }

  #laterFormer(event: SourceEvent, state: TypedObject, error: unknown, tries: number): void {
    const id = identity(state);
    const version = state.metadata.resourceVersion ?? '';
    const states = this.#former.get(id) ?? new Map<string, () => void>();
    const waits = states.has(version);
    const retry = waits || (states.size < mostFormer && tries < triesOfGone);
    this.#hooks.failed(event, error, retry);
    if (waits || !retry) return;
    const next = (): void => {
      states.delete(version);
      if (states.size === 0) this.#former.delete(id);
      this.#hooks.enqueue(event, this.#oldKeys(event, tries + 1));
    };
    states.set(version, this.#clock.setTimeout(next, delayMs(tries)));
    this.#former.set(id, states);
  }
}

const delayMs = (tries: number): number => Math.max(1_000, itemBackoff(tries + 1));

/** A new object under the name of a deleted one is another object. */
function identity(object: TypedObject): string {
  return object.metadata.uid ?? keyText(keyOf(object));
}
