import { canonicalJson } from '../../base/canonical-json.ts';
import type { PodIdentity } from './pod-identity.ts';

/**
 * The pods of this node by every name that data may carry of them.
 * Guarantees: a pod that went is found for `rememberMs` more, because its last data comes after it.
 */
export class PodIndex {
  readonly #byName = new Map<string, PodIdentity>();
  readonly #byUid = new Map<string, PodIdentity>();
  readonly #byContainer = new Map<string, PodIdentity>();
  readonly #byIp = new Map<string, PodIdentity>();
  readonly #gone: { pod: PodIdentity; atMs: number }[] = [];
  #version = 1;
  #synced = false;

  /** Grows with every change, so that what was derived from the index can be thrown away. */
  get version(): number {
    return this.#version;
  }

  /** True once the API server has told of all pods of the node. */
  get synced(): boolean {
    return this.#synced;
  }

  markSynced(): void {
    if (!this.#synced) this.#version++;
    this.#synced = true;
  }

  get size(): number {
    return this.#byName.size;
  }

  upsert(pod: PodIdentity): void {
    const known = this.#byName.get(keyOf(pod));
    if (known && canonicalJson(known) === canonicalJson(pod)) return;
    if (known) this.#remove(known);
    this.#byName.set(keyOf(pod), pod);
    if (pod.uid) this.#byUid.set(pod.uid, pod);
    for (const { id } of pod.containers) if (id) this.#byContainer.set(id, pod);
    if (!pod.hostNetwork) for (const ip of pod.ips) this.#byIp.set(ip, pod);
    this.#version++;
  }

  /** The pod is gone as of `nowMs` (monotonic); `sweep` lets go of it later. */
  deleted(pod: PodIdentity, nowMs: number): void {
    this.#gone.push({ pod, atMs: nowMs });
  }

  /** Lets go of pods that went more than `rememberMs` ago, unless another has their name by now. */
  sweep(nowMs: number, rememberMs = 60_000): void {
    while (this.#gone.length > 0 && this.#gone[0]!.atMs <= nowMs - rememberMs) {
      const { pod } = this.#gone.shift()!;
      if (this.#byName.get(keyOf(pod))?.uid !== pod.uid) continue;
      this.#remove(pod);
      this.#version++;
    }
  }

  named(namespace: string, name: string): PodIdentity | undefined {
    return this.#byName.get(`${namespace}/${name}`);
  }

  withUid(uid: string): PodIdentity | undefined {
    return this.#byUid.get(uid);
  }

  withContainer(id: string): PodIdentity | undefined {
    return this.#byContainer.get(id);
  }

  withIp(ip: string): PodIdentity | undefined {
    return this.#byIp.get(ip);
  }

  #remove(pod: PodIdentity): void {
    const drop = (map: Map<string, PodIdentity>, key: string): void => {
      if (map.get(key) === pod) map.delete(key);
    };
    drop(this.#byName, keyOf(pod));
    drop(this.#byUid, pod.uid);
    for (const { id } of pod.containers) drop(this.#byContainer, id);
    for (const ip of pod.ips) drop(this.#byIp, ip);
  }
}

function keyOf(pod: Pick<PodIdentity, 'namespace' | 'name'>): string {
  return `${pod.namespace}/${pod.name}`;
}
