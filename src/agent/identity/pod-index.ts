import { canonicalJson } from '../../base/canonical-json.ts';
import { changeCount } from '../../base/collections/counts.ts';
import { ownerAttributes, type PodIdentity } from './pod-identity.ts';

/**
 * The pods of this node, indexed by name, by IP address and by owner.
 * Guarantees: a deleted pod is found for another `rememberMs`, because its last data arrives after its deletion.
 */
export class PodIndex {
  readonly #byName = new Map<string, PodIdentity>();
  /** Pods on this node by `namespace/name` of each of their owners, and of the pod itself. */
  readonly #owners = new Map<string, Set<PodIdentity>>();
  readonly #byIp = new Map<string, PodIdentity>();
  readonly #gone: { pod: PodIdentity; atMs: number }[] = [];
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

  /** Assumptions: a pod of the same name with another uid was reported as deleted before. */
  upsert(pod: PodIdentity): void {
    // A list from a lagging API server may lack a pod that a later list contains again.
    const back = this.#gone.findIndex((gone) => gone.pod.uid === pod.uid);
    if (back >= 0) this.#gone.splice(back, 1);
    const known = this.#byName.get(keyOf(pod));
    if (known && canonicalJson(known) === canonicalJson(pod)) return;
    if (known) this.#unname(known);
    // If another pod takes over the name, the earlier pod keeps its addresses here: its last data comes from them.
    if (known?.uid === pod.uid) this.#forgetIps(known);
    this.#byName.set(keyOf(pod), pod);
    this.#node ||= pod.attributes['k8s.node.name'] ?? '';
    for (const owner of ownersOf(pod)) this.#owners.set(owner, (this.#owners.get(owner) ?? new Set()).add(pod));
    changeCount(this.#namespaces, pod.namespace, 1);
    for (const ip of pod.hostNetwork ? [] : pod.ips) if (!pod.ended || !this.#byIp.has(ip)) this.#byIp.set(ip, pod);
    this.#version++;
  }

  /** Records that the pod is gone as of `nowMs` (monotonic); `sweep` removes it later. */
  deleted(pod: PodIdentity, nowMs: number): void {
    this.#gone.push({ pod, atMs: nowMs });
  }

  /** Removes pods that were deleted more than `rememberMs` ago; names and addresses that another pod has taken stay. */
  sweep(nowMs: number, rememberMs = 60_000): void {
    while (this.#gone.length > 0 && this.#gone[0]!.atMs <= nowMs - rememberMs) {
      const { pod } = this.#gone.shift()!;
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

  #forgetIps({ uid, ips }: PodIdentity): void {
    for (const ip of ips) if (this.#byIp.get(ip)?.uid === uid) this.#byIp.delete(ip);
  }
}

/** The pod and its owners as `namespace/name`, without duplicates: a flow may name any of them. */
function ownersOf({ namespace, name, attributes }: PodIdentity): Set<string> {
  const names = ownerAttributes.map((key) => attributes[key]);
  return new Set([name, ...names].flatMap((owner) => (owner ? [`${namespace}/${owner}`] : [])));
}

function keyOf(pod: Pick<PodIdentity, 'namespace' | 'name'>): string {
  return `${pod.namespace}/${pod.name}`;
}
