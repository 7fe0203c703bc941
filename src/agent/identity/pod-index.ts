import { canonicalJson } from '../../base/canonical-json.ts';
import { changeCount } from '../../base/collections/counts.ts';
import { ownerAttributes, type PodIdentity } from './pod-identity.ts';

/**
 * The pods of this node, indexed by name, by IP address and by owner.
 * Guarantees: a deleted pod is found for another `rememberMs`, because its last data arrives after its deletion. A pod
 * that has run to completion is found by name for as long, but by address only until `rememberMs` after its end: a pod
 * of another node may get the address.
 */
export class PodIndex {
  readonly #byName = new Map<string, PodIdentity>();
  /** Pods on this node by `namespace/name` of each of their owners, and of the pod itself. */
  readonly #owners = new Map<string, Set<PodIdentity>>();
  readonly #byIp = new Map<string, PodIdentity>();
  readonly #gone: Leaving[] = [];
  /** The pods that have run to completion and may still have their addresses here. */
  readonly #ended: Leaving[] = [];
  readonly #namespaces = new Map<string, number>();
  #node = '';
  #version = 1;
  #synced = false;

  /** Grows with every change, so that values derived from the index can be discarded. */
  get version(): number {
    return this.#version;
  }

  /** True once the API server has listed all pods of the node. */
  get synced(): boolean {
    return this.#synced;
  }

  markSynced(): void {
    if (!this.#synced) this.#version++;
    this.#synced = true;
  }

  /** The node of these pods; `''` before the first pod. */
  get node(): string {
    return this.#node;
  }

  get size(): number {
    return this.#byName.size;
  }

  /**
   * Assumptions: a pod of the same name with another uid was reported as deleted before.
   * Units: monotonic ms.
   */
  upsert(pod: PodIdentity, nowMs: number): void {
    // A list from a lagging API server may lack a pod that a later list contains again.
    const back = this.#gone.findIndex((gone) => gone.pod.uid === pod.uid);
    if (back >= 0) {
      this.#gone.splice(back, 1);
      this.#version++;
    }
    const known = this.#byName.get(keyOf(pod));
    if (known && canonicalJson(known) === canonicalJson(pod)) return;
    if (known) this.#unname(known);
    // If another pod takes over the name, the earlier pod keeps its addresses here: its last data comes from them.
    const same = known?.uid === pod.uid ? known : undefined;
    const held = same ? this.#forgetIps(same) : [];
    this.#byName.set(keyOf(pod), pod);
    this.#node ||= pod.attributes['k8s.node.name'] ?? '';
    for (const owner of ownersOf(pod)) this.#owners.set(owner, (this.#owners.get(owner) ?? new Set()).add(pod));
    changeCount(this.#namespaces, pod.namespace, 1);
    // After its end a pod keeps the addresses that it still has, and gets none again.
    const ips = pod.ended && same?.ended ? held : pod.ips;
    for (const ip of pod.hostNetwork ? [] : ips) if (!pod.ended || !this.#byIp.has(ip)) this.#byIp.set(ip, pod);
    if (pod.ended && !same?.ended) this.#ended.push({ pod, atMs: nowMs });
    this.#version++;
  }

  /** Records that the pod is gone as of `nowMs` (monotonic); `sweep` removes it later. */
  deleted(pod: PodIdentity, nowMs: number): void {
    this.#gone.push({ pod, atMs: nowMs });
    this.#version++;
  }

  /**
   * Removes pods that were deleted `rememberMs` ago or earlier, and the addresses of those that ended then; names and
   * addresses that another pod has taken stay.
   */
  sweep(nowMs: number, rememberMs = 60_000): void {
    for (const pod of takeUntil(this.#ended, nowMs - rememberMs)) {
      if (this.#forgetIps(pod).length > 0) this.#version++;
    }
    for (const pod of takeUntil(this.#gone, nowMs - rememberMs)) {
      const known = this.#byName.get(keyOf(pod));
      const isNamed = known?.uid === pod.uid;
      if (isNamed) this.#unname(known);
      this.#forgetIps(isNamed ? known : pod);
      this.#version++;
    }
  }

  named(namespace: string, name: string): PodIdentity | undefined {
    return this.#byName.get(`${namespace}/${name}`);
  }

  /** True when a pod of this node is, or belongs to, an object of that name in the namespace. */
  hasOwner(namespace: string, name: string): boolean {
    return this.#owners.has(`${namespace}/${name}`);
  }

  /** The pods of this node that are, or belong to, an object of that name in the namespace. */
  ofOwner(namespace: string, name: string): Iterable<PodIdentity> {
    return this.#owners.get(`${namespace}/${name}`) ?? [];
  }

  /** Number of namespaces that have a pod on this node. */
  get namespaces(): number {
    return this.#namespaces.size;
  }

  /** Whether the pod has ended or was deleted: a pod of another node may have its address or its name by now. */
  hasLeft(pod: PodIdentity): boolean {
    return pod.ended || this.#gone.some((gone) => gone.pod.uid === pod.uid);
  }

  /** False for a pod that has left, or that is not known although the pods of the node are. */
  isHere(namespace: string, name: string): boolean {
    const pod = this.named(namespace, name);
    return pod ? !this.hasLeft(pod) : !this.#synced;
  }

  withIp(ip: string): PodIdentity | undefined {
    return this.#byIp.get(ip);
  }

  #unname(pod: PodIdentity): void {
    this.#byName.delete(keyOf(pod));
    for (const owner of ownersOf(pod)) {
      const pods = this.#owners.get(owner);
      pods?.delete(pod);
      if (pods?.size === 0) this.#owners.delete(owner);
    }
    changeCount(this.#namespaces, pod.namespace, -1);
  }

  /** Returns the addresses that the pod had until now. */
  #forgetIps({ uid, ips }: PodIdentity): string[] {
    const held = ips.filter((ip) => this.#byIp.get(ip)?.uid === uid);
    for (const ip of held) this.#byIp.delete(ip);
    return held;
  }
}

interface Leaving {
  readonly pod: PodIdentity;
  readonly atMs: number;
}

/** Takes the pods that left at `untilMs` or earlier out of the list, which is in the order of time. */
function takeUntil(leaving: Leaving[], untilMs: number): PodIdentity[] {
  const later = leaving.findIndex(({ atMs }) => atMs > untilMs);
  return leaving.splice(0, later < 0 ? leaving.length : later).map(({ pod }) => pod);
}

/** The pod and its owners as `namespace/name`, without duplicates: a flow may name any of them. */
function ownersOf({ namespace, name, attributes }: PodIdentity): Set<string> {
  const names = ownerAttributes.map((key) => attributes[key]);
  return new Set([name, ...names].flatMap((owner) => (owner ? [`${namespace}/${owner}`] : [])));
}

function keyOf(pod: Pick<PodIdentity, 'namespace' | 'name'>): string {
  return `${pod.namespace}/${pod.name}`;
}
