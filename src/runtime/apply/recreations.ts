import { canonicalJson, sha256Hex } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import type { KubeObject } from '../../api/meta.ts';
import { ApiError, isForbidden, isInvalid, isNamespaceTerminating, isRefusedByAdmission } from '../../kube/index.ts';
import { keyOf, keyText } from '../keys.ts';

/** How long an object is not tried again that was refused after the old one was deleted. Units: ms. */
const refusedMs = 3_600_000;
/** If there are more refusals, or more old objects, the oldest are forgotten. */
const maxEntries = 1_000;

/**
 * What an ApplySet remembers of objects that it deletes to make them anew without knowing whether the server accepts
 * the new ones: each old object until it or a new one is stored, and the errors of those that were refused. Each try
 * deletes an object for a moment, and a binding's subjects have no rights then.
 * Caveats: a restart of the process forgets it.
 */
export class Recreations {
  readonly #clock: Clock;
  readonly #refusals = new Map<string, { wish: string; at: number; error: ApiError }>();
  readonly #old = new Map<string, KubeObject>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The error of the very same object in the last hour. */
  recentRefusal(object: KubeObject): ApiError | undefined {
    const known = this.#refusals.get(keyFor(object));
    if (!known || this.#clock.monotonic() - known.at >= refusedMs) return undefined;
    return known.wish === wishOf(object) ? known.error : undefined;
  }

  /** Takes the error of a try. Only a refusal counts: any other failure may have passed at the next try. */
  failed(object: KubeObject, error: unknown): void {
    if (!(error instanceof ApiError) || isNamespaceTerminating(error)) return;
    // A webhook denies with a code of its choice. One that was not reached has not judged the object.
    const denied = isRefusedByAdmission(error) && !error.message.includes('failed calling webhook');
    if (!isForbidden(error) && !isInvalid(error) && !denied) return;
    put(this.#refusals, keyFor(object), { wish: wishOf(object), at: this.#clock.monotonic(), error });
  }

  /** The object that was to be deleted last under this name; undefined once one is stored under it. */
  old(object: KubeObject): KubeObject | undefined {
    return this.#old.get(keyFor(object));
  }

  /** Takes the object that is about to be deleted. */
  deleting(live: KubeObject): void {
    put(this.#old, keyFor(live), live);
  }

  /** Forgets the old objects that `isOver` is true of. `key` is the apiVersion, the kind and the name. */
  forgetIf(isOver: (object: KubeObject, key: string) => boolean): void {
    for (const [key, object] of this.#old) if (isOver(object, key)) this.#old.delete(key);
  }

  /** An object of this name is stored that is not the one that was to be deleted, so that one is forgotten. */
  stored(object: KubeObject): void {
    this.#old.delete(keyFor(object));
  }
}

const keyFor = (object: KubeObject): string => `${object.apiVersion} ${object.kind} ${keyText(keyOf(object))}`;
const wishOf = (object: KubeObject): string => sha256Hex(canonicalJson(object));

function put<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  if (map.size >= maxEntries) map.delete(map.keys().next().value!);
  map.set(key, value);
}
