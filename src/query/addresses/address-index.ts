import { plainAddress } from '../../base/text/plain-address.ts';
import type { DeclaredPort } from '../../capture/explain/index.ts';
import { workloadName, type PodFacts } from '../../capture/index.ts';
import { AddressBlocks, type NamedBlock } from './address-blocks.ts';
import { AddressHoldings } from './address-holdings.ts';

/** A pod as the index keeps it. Times are in ms since the epoch. */
export interface IndexedPod extends PodFacts {
  readonly uid: string;
  /** TCP ports that its containers declare. */
  readonly ports?: readonly DeclaredPort[];
  readonly ips: readonly string[];
  /** A pod of the host network: its addresses are the node's. */
  readonly hostNetwork: boolean;
  /** The earliest time at which the pod can have its addresses. */
  readonly fromMs: number;
  /** The pod has run to completion: its addresses may be assigned to another pod. */
  readonly ended: boolean;
}

export interface IndexedService {
  readonly namespace: string;
  readonly name: string;
  /** The addresses that the cluster gave to it alone. */
  readonly ips: readonly string[];
  /** Other addresses that it says it has: whoever may write a Service chooses them. */
  readonly claimedIps?: readonly string[];
  /** Labels that its pods carry; null for a Service without a selector. */
  readonly selector: Readonly<Record<string, string>> | null;
  readonly fromMs: number;
}

export interface IndexedNode {
  readonly name: string;
  readonly ips: readonly string[];
  /** The CIDRs that its pods get their addresses from. */
  readonly podCidrs: readonly string[];
}

/**
 * The workload that a pod belongs to, such as `Deployment shop/web`: derived from the owner that the pod's object
 * names. A pod without an owner is its own workload.
 */
export interface Workload {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
}

/** The owner of an address. */
export type AddressOwner =
  | { readonly kind: 'pod'; readonly pod: IndexedPod; readonly workload: Workload }
  /** A pod of this workload; which one is not known. */
  | { readonly kind: 'workload'; readonly workload: Workload }
  | { readonly kind: 'service'; readonly service: IndexedService }
  | { readonly kind: 'node'; readonly name: string }
  /** Outside the cluster. The name is that which a policy gives to the address's CIDR, else its /24 or /56. */
  | { readonly kind: 'external'; readonly name: string }
  /** An address of the cluster whose owner at that time is not known, or text that is not an address. */
  | { readonly kind: 'unknown' };

/** An owner that is an object of the cluster. */
type Holder = Extract<AddressOwner, { kind: 'pod' | 'service' | 'node' }>;

/** How long an ended holding is kept: spans, flows and topologies may be of the past. Units: ms. */
const rememberMs = 3_600_000;
const unknown: AddressOwner = { kind: 'unknown' };

/**
 * Maps an address and a time to the pod, Service or node that had the address, for the whole cluster.
 * Guarantees: an address that moved from one pod to another belongs to each pod in its own time; a released address is
 * remembered for an hour. A pod of the host network has no address of its own: the address is the node's, also where
 * Services have it, too. Of several Services that one has it to which the cluster gave it, else the newest. What a
 * Service only claims keeps the name that a policy gives its block.
 * Shape: pure; the caller passes the time.
 */
export class AddressIndex {
  readonly #holdings = new Map<string, AddressHoldings<Holder>>();
  readonly #pods = new Map<string, IndexedPod>();
  readonly #podsOfNamespace = new Map<string, Set<IndexedPod>>();
  readonly #workloads = new Map<string, Workload>();
  /** By namespace and name. */
  #workloadsByName: ReadonlyMap<string, Workload> | undefined;
  readonly #services = new Map<string, IndexedService>();
  readonly #nodes = new Map<string, IndexedNode>();
  readonly #blocks = new AddressBlocks();
  #behindServices = new Map<string, Workload | null>();
  #sweptMs = -Infinity;

  setPod(pod: IndexedPod, nowMs: number): void {
    const key = `${pod.namespace}/${pod.name}`;
    const before = this.#pods.get(key);
    this.#forgetPod(key, before);
    this.#pods.set(key, pod);
    const inNamespace = this.#podsOfNamespace.get(pod.namespace) ?? new Set();
    this.#podsOfNamespace.set(pod.namespace, inNamespace.add(pod));
    const held = pod.hostNetwork || pod.ended ? [] : pod.ips;
    // A new pod that reuses the name of another, as in a StatefulSet, is a new owner.
    const lost = before?.uid === pod.uid ? before.ips.filter((ip) => !held.includes(ip)) : (before?.ips ?? []);
    this.#end(`pod ${before?.uid}`, lost, nowMs);
    const owner = { kind: 'pod', pod, workload: this.workloadOf(pod) } as const;
    for (const ip of held) this.#holdingsOf(ip).begin(`pod ${pod.uid}`, owner, 'pod', pod.fromMs);
    this.#changed(nowMs);
  }

  deletePod({ namespace, name }: Pick<IndexedPod, 'namespace' | 'name'>, nowMs: number): void {
    const key = `${namespace}/${name}`;
    const before = this.#pods.get(key);
    this.#forgetPod(key, before);
    if (before) this.#end(`pod ${before.uid}`, before.ips, nowMs);
    this.#changed(nowMs);
  }

  setService(service: IndexedService, nowMs: number): void {
    const id = `service ${service.namespace}/${service.name}`;
    const before = this.#services.get(id);
    this.#services.set(id, service);
    const held = new Set(addressesOf(service));
    this.#end(id, before ? addressesOf(before).filter((ip) => !held.has(ip)) : [], nowMs);
    const owner = { kind: 'service', service } as const;
    for (const ip of service.claimedIps ?? []) this.#holdingsOf(ip).begin(id, owner, 'claimed', service.fromMs);
    for (const ip of service.ips) this.#holdingsOf(ip).begin(id, owner, 'service', service.fromMs);
    this.#changed(nowMs);
  }

  deleteService({ namespace, name }: Pick<IndexedService, 'namespace' | 'name'>, nowMs: number): void {
    const id = `service ${namespace}/${name}`;
    const before = this.#services.get(id);
    if (before) this.#end(id, addressesOf(before), nowMs);
    this.#services.delete(id);
    this.#changed(nowMs);
  }

  setNode(node: IndexedNode, nowMs: number): void {
    const id = `node ${node.name}`;
    const before = this.#nodes.get(node.name);
    this.#nodes.set(node.name, node);
    this.#end(id, before?.ips.filter((ip) => !node.ips.includes(ip)) ?? [], nowMs);
    const owner = { kind: 'node', name: node.name } as const;
    for (const ip of node.ips) this.#holdingsOf(ip).begin(id, owner, 'node', -Infinity);
    this.#blocks.setPodCidrs(node.name, node.podCidrs);
  }

  deleteNode(name: string, nowMs: number): void {
    this.#end(`node ${name}`, this.#nodes.get(name)?.ips ?? [], nowMs);
    this.#nodes.delete(name);
    this.#blocks.setPodCidrs(name, []);
  }

  /** Blocks that policies name; the most specific one applies. */
  setNamedBlocks(blocks: readonly NamedBlock[]): void {
    this.#blocks.setNamed(blocks);
  }

  /** The owner of the address at that time. Units: ms since the epoch. */
  at(address: string, timeMs: number): AddressOwner {
    const ip = plainAddress(address);
    const holdings = this.#holdings.get(ip);
    const held = holdings?.at(timeMs);
    const policyName = held?.rank === 'claimed' ? this.#blocks.named(ip) : undefined;
    if (policyName !== undefined) return { kind: 'external', name: policyName };
    if (held) return held.owner;
    // Between two holdings, neither the former nor the present owner would be right.
    if (holdings?.areClaims === false) return unknown;
    const name = this.#blocks.outside(ip);
    return name === undefined ? unknown : { kind: 'external', name };
  }

  pod(namespace: string, name: string): IndexedPod | undefined {
    return this.#pods.get(`${namespace}/${name}`);
  }

  pods(): Iterable<IndexedPod> {
    return this.#pods.values();
  }

  podsOf(namespace: string): Iterable<IndexedPod> {
    return this.#podsOfNamespace.get(namespace) ?? [];
  }

  service(namespace: string, name: string): IndexedService | undefined {
    return this.#services.get(`service ${namespace}/${name}`);
  }

  /** The one workload of all pods that a Service selects; undefined for none or several. */
  behind(service: IndexedService): Workload | undefined {
    const key = `${service.namespace}/${service.name}`;
    let known = this.#behindServices.get(key);
    if (known === undefined) {
      const found = new Set<Workload>();
      const wanted = Object.entries(service.selector ?? {});
      if (wanted.length > 0) {
        for (const pod of this.podsOf(service.namespace)) {
          if (!pod.ended && wanted.every(([label, value]) => pod.labels[label] === value))
            found.add(this.workloadOf(pod));
        }
      }
      known = found.size === 1 ? [...found][0]! : null;
      this.#behindServices.set(key, known);
    }
    return known ?? undefined;
  }

  /** The pod's workload. All pods of a workload get the same object. */
  workloadOf(pod: PodFacts): Workload {
    const { kind, name } = ownerOf(pod);
    const key = `${kind} ${pod.namespace}/${name}`;
    let workload = this.#workloads.get(key);
    if (!workload) {
      this.#workloads.set(key, (workload = { namespace: pod.namespace, kind, name }));
      this.#workloadsByName = undefined;
    }
    return workload;
  }

  workloadNamed(name: string, namespace: string): Workload | undefined {
    this.#workloadsByName ??= new Map(this.#workloads.values().map((one) => [`${one.namespace}/${one.name}`, one]));
    return this.#workloadsByName.get(`${namespace}/${name}`);
  }

  get size(): { readonly pods: number; readonly services: number; readonly addresses: number } {
    return { pods: this.#pods.size, services: this.#services.size, addresses: this.#holdings.size };
  }

  #forgetPod(key: string, pod: IndexedPod | undefined): void {
    if (!pod) return;
    this.#pods.delete(key);
    const inNamespace = this.#podsOfNamespace.get(pod.namespace);
    inNamespace?.delete(pod);
    if (inNamespace?.size === 0) this.#podsOfNamespace.delete(pod.namespace);
  }

  #holdingsOf(address: string): AddressHoldings<Holder> {
    const ip = plainAddress(address);
    let holdings = this.#holdings.get(ip);
    if (!holdings) this.#holdings.set(ip, (holdings = new AddressHoldings()));
    return holdings;
  }

  #end(id: string, addresses: readonly string[], nowMs: number): void {
    for (const address of addresses) this.#holdings.get(plainAddress(address))?.end(id, nowMs);
  }

  #changed(nowMs: number): void {
    if (this.#behindServices.size > 0) this.#behindServices = new Map();
    // A clock that was set back is earlier than the last sweep.
    if (nowMs >= this.#sweptMs && nowMs - this.#sweptMs < rememberMs / 60) return;
    this.#sweptMs = nowMs;
    for (const [ip, holdings] of this.#holdings) {
      if (!holdings.keep(nowMs - rememberMs, nowMs)) this.#holdings.delete(ip);
    }
    const used = new Set([...this.#pods.values()].map((pod) => this.workloadOf(pod)));
    for (const [key, workload] of this.#workloads) if (!used.has(workload)) this.#workloads.delete(key);
    this.#workloadsByName = undefined;
  }
}

function addressesOf({ ips, claimedIps = [] }: IndexedService): readonly string[] {
  return [...ips, ...claimedIps];
}

function ownerOf(pod: PodFacts): { readonly kind: string; readonly name: string } {
  for (const kind of ['Deployment', 'CronJob'] as const) {
    const name = workloadName(pod, kind);
    if (name !== undefined) return { kind, name };
  }
  return pod.owner ?? { kind: 'Pod', name: pod.name };
}
