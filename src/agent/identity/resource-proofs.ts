import { labelName } from '../mapping/names.ts';
import type { Attribute } from '../otlp/model.ts';
import { isReservedLabel } from './enrich.ts';
import { instanceKey, lastText } from './instance-id.ts';
import type { PodIdentity } from './pod-identity.ts';

/** How long a Resource stays refuted after its last point. Units: ms. */
const refutedMs = 900_000;
const maxRefuted = 10_000;
/** Resources that may be shown as one pod's: one for each container, and for each process that names itself otherwise. */
const maxShownOfPod = 64;

/**
 * What points have shown of Resources. The instrument writes the instance of a point itself; spans have only their
 * Resource, which a process can write. So spans are believed under a Resource when points under the same one came from
 * the pod that it names, and none from another.
 * Two Resources are the same when they say the same of Kubernetes, the uid of the pod and the instance among it. The
 * rest is left out: processes of one container may differ in it, while the instrument keeps one Resource for their points.
 * Caveats: what was shown of a pod goes with the pod, or when the API server says something else of it. Points show it
 * anew with their next binding.
 */
export class ResourceProofs {
  readonly #keys = new WeakMap<readonly Attribute[], string>();
  #shown = new WeakMap<PodIdentity, Set<string>>();
  readonly #refuted = new Map<string, number>();
  #newestMs = 0;
  #pointsCarryInstance = false;

  /** A point under this Resource came from the pod that it names. */
  show(resource: readonly Attribute[], pod: PodIdentity, point: readonly Attribute[]): void {
    const carried = lastText(point, instanceKey) !== '';
    if (carried && !this.#pointsCarryInstance) {
      this.#pointsCarryInstance = true;
      this.#shown = new WeakMap();
    }
    // Without the attribute the Resource speaks for itself, which counts only where this instrument never writes it.
    if (!carried && this.#pointsCarryInstance) return;
    const key = this.#keyOf(resource);
    const keys = this.#shown.get(pod) ?? new Set();
    keys.delete(key);
    keys.add(key);
    if (keys.size > maxShownOfPod) keys.delete(keys.values().next().value!);
    this.#shown.set(pod, keys);
  }

  /** A point under this Resource came from another pod than it names. Units: monotonic ms. */
  refute(resource: readonly Attribute[], nowMs: number): void {
    const key = this.#keyOf(resource);
    this.#newestMs = Math.max(this.#newestMs, nowMs);
    this.#refuted.delete(key);
    this.#refuted.set(key, nowMs);
    if (this.#refuted.size > maxRefuted) this.#refuted.delete(this.#refuted.keys().next().value!);
  }

  isShown(resource: readonly Attribute[], pod: PodIdentity): boolean {
    return this.#shown.get(pod)?.has(this.#keyOf(resource)) ?? false;
  }

  isRefuted(resource: readonly Attribute[]): boolean {
    if (this.#refuted.size === 0) return false;
    const notedMs = this.#refuted.get(this.#keyOf(resource));
    return notedMs !== undefined && notedMs > this.#newestMs - refutedMs;
  }

  #keyOf(resource: readonly Attribute[]): string {
    const known = this.#keys.get(resource);
    if (known !== undefined) return known;
    const names = new Set(resource.map(({ key }) => key).filter(speaksOfKubernetes));
    const key = JSON.stringify([...names].sort().map((name) => [name, lastText(resource, name)]));
    this.#keys.set(resource, key);
    return key;
  }
}

function speaksOfKubernetes(key: string): boolean {
  return key === instanceKey || key === 'container.id' || isReservedLabel(labelName(key));
}
