import { boundedKey } from '../mapping/attributes-key.ts';
import { labelName } from '../mapping/names.ts';
import type { Attribute } from '../otlp/model.ts';
import { isReservedLabel } from './enrich.ts';
import { instanceKey, lastText } from './instance-id.ts';
import type { PodIdentity } from './pod-identity.ts';

/** How long spans are not trusted under a Resource after a point that contradicted it. Units: ms. */
const refutedMs = 900_000;
const maxRefuted = 10_000;
/**
 * Maximum number of proven Resources that are kept for one pod. A pod has one for each container, and one for each
 * process that sets its own names.
 */
const maxShownOfPod = 64;

/**
 * What points have proven about Resources. The instrument itself writes the instance (`service.instance.id`) into the
 * attributes of a point; spans have only their Resource, which a process can write. So spans are trusted under a
 * Resource when points under the same Resource came from the pod that it names, and none came from another pod.
 * Two Resources are the same when their Kubernetes attributes are equal, including the uid of the pod and the instance.
 * Other attributes are ignored: processes of one container may differ in them, while the instrument keeps one Resource
 * for their points.
 * Caveats: a pod's proofs are dropped with the pod, or when the API server reports something else for it. The pod's
 * points prove them again when they are next bound to series.
 */
export class ResourceProofs {
  readonly #keys = new WeakMap<readonly Attribute[], string>();
  #shown = new WeakMap<PodIdentity, Set<string>>();
  readonly #refuted = new Map<string, number>();
  /** Time of the newest point. The age of a refutation is measured at this time. */
  #newestMs = 0;
  #pointsCarryInstance = false;

  /** Records that a point under this Resource came from the pod that the Resource names. Units: monotonic ms. */
  show(resource: readonly Attribute[], pod: PodIdentity, point: readonly Attribute[], nowMs: number): void {
    this.#newestMs = Math.max(this.#newestMs, nowMs);
    const carried = lastText(point, instanceKey) !== '';
    if (carried && !this.#pointsCarryInstance) {
      this.#pointsCarryInstance = true;
      this.#shown = new WeakMap();
    }
    // A point without the instance proves only what the Resource says of itself. Such a proof counts only while the
    // instrument has not written the instance to any point.
    if (!carried && this.#pointsCarryInstance) return;
    const key = this.#keyOf(resource);
    const keys = this.#shown.get(pod) ?? new Set();
    keys.delete(key);
    keys.add(key);
    if (keys.size > maxShownOfPod) keys.delete(keys.values().next().value!);
    this.#shown.set(pod, keys);
  }

  /** Records that a point under this Resource came from another pod than the Resource names. Units: monotonic ms. */
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
    const key = boundedKey(JSON.stringify([...names].sort().map((name) => [name, lastText(resource, name)])));
    this.#keys.set(resource, key);
    return key;
  }
}

function speaksOfKubernetes(key: string): boolean {
  return key === instanceKey || key === 'container.id' || isReservedLabel(labelName(key));
}
