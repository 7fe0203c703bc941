import { BlockList, isIP, isIPv4, isIPv6, SocketAddress } from 'node:net';
import type { KubeObject } from '../../../../api/meta.ts';
import { plainAddress } from '../../../../base/text/plain-address.ts';
import type { PodWithStatus } from '../../cluster/pod-fault.ts';

/** Objects with addresses, as far as the caller may read them. */
export interface AddressSources {
  readonly nodes: readonly KubeObject[];
  readonly pods: readonly PodWithStatus[];
  readonly services: readonly KubeObject[];
}

/** Whether an address belongs to this cluster. */
export type IsOurs = (address: string) => boolean;

/**
 * Recognises the addresses of nodes, pods and Services. Every address in the pod range of a node counts as a pod's,
 * because logs name pods that are gone. Loopback and unspecified addresses count as ours, too. Pure.
 */
export function clusterAddresses({ nodes, pods, services }: AddressSources): IsOurs {
  const exact = new Set<string>();
  const ranges = new BlockList();
  const add = (address: unknown): void => {
    if (typeof address === 'string' && isIP(address)) exact.add(canonical(address));
  };
  for (const node of nodes) {
    const { addresses = [] } = (node['status'] ?? {}) as { addresses?: { address: string }[] };
    for (const { address } of addresses) add(address);
    const { podCIDR, podCIDRs = [] } = (node['spec'] ?? {}) as { podCIDR?: string; podCIDRs?: string[] };
    for (const cidr of [...podCIDRs, ...(podCIDR === undefined ? [] : [podCIDR])]) addRange(ranges, cidr);
  }
  for (const { status } of pods) {
    const { podIP, podIPs = [], hostIP, hostIPs = [] } = (status ?? {}) as PodAddresses;
    for (const { ip } of [...podIPs, ...hostIPs]) add(ip);
    add(podIP);
    add(hostIP);
  }
  for (const service of services) {
    const { clusterIP, clusterIPs = [] } = (service['spec'] ?? {}) as { clusterIP?: string; clusterIPs?: string[] };
    for (const address of [clusterIP, ...clusterIPs]) add(address);
  }
  return (address) => {
    const text = canonical(address);
    return ownerless.has(text) || text.startsWith('127.') || exact.has(text) || ranges.check(text, family(text));
  };
}

interface PodAddresses {
  podIP?: string;
  podIPs?: { ip: string }[];
  hostIP?: string;
  hostIPs?: { ip: string }[];
}

const ownerless = new Set(['0.0.0.0', '::', '::1']);
/** A range with a shorter prefix, such as half the Internet, is a mistake, not the pod range of a node. Units: bits. */
const shortestPrefix = { ipv4: 8, ipv6: 32 } as const;

function addRange(ranges: BlockList, cidr: string): void {
  const [base = '', bits = ''] = cidr.split('/');
  if (!isIP(base) || !/^\d{1,3}$/.test(bits) || Number(bits) < shortestPrefix[family(base)]) return;
  if (Number(bits) <= (isIPv4(base) ? 32 : 128)) ranges.addSubnet(base, Number(bits), family(base));
}

const family = (address: string): 'ipv4' | 'ipv6' => (isIPv4(address) ? 'ipv4' : 'ipv6');

/** A canonical form of an address; IPv4 inside IPv6 becomes IPv4. */
function canonical(address: string): string {
  if (isIPv4(address)) return address;
  return plainAddress(new SocketAddress({ address: address.split('%')[0]!, family: 'ipv6' }).address);
}

/** At least four numbers with dots or dashes between, as in addresses and in host names made of them. */
const dotted = /(?<!\d)\d{1,3}(?:\.\d{1,3}){3,}(?!\d)/g;
const dashed = /(?<!\d)\d{1,3}(?:-\d{1,3}){3,}(?!\d)/g;
const hexRun = /[0-9A-Fa-f:.]+/g;
/** Longest text of an IPv6 address: six groups and an IPv4 address. Units: characters. */
const longestAddress = 45;
/** A SHA-256 fingerprint of a certificate. It has enough groups between colons to look like four IPv6 addresses. */
const fingerprint = /^(?:[0-9a-f]{0,4}:)?(?:[0-9a-f]{2}:){31}[0-9a-f]{2}$/i;
/** Longest text of an IPv4 address. Units: characters. */
const longestIpv4 = 15;
const endsInIpv4 = /(?<!\d)\d{1,3}(?:\.\d{1,3}){3}$/;

/** Whether a run of hex digits and colons has `::` or eight groups, without which nothing in it is an IPv6 address. */
function mayHoldIpv6(run: string): boolean {
  return run.includes('::') || /:(?:[^:]*:){6}/.test(run);
}

/** The longest IPv6 address that begins at `start`; empty if none does. Takes the same time however long the run is. */
function ipv6At(run: string, start: number): string {
  const window = run.slice(start, start + longestAddress);
  if (!mayHoldIpv6(window)) return '';
  for (let length = window.length; length > 1; length--)
    if (isIPv6(window.slice(0, length))) return window.slice(0, length);
  return '';
}

/** Gives every outside address a name that stays the same for the whole bundle, numbered in the order of appearance. */
export class Pseudonyms {
  readonly #isOurs: IsOurs;
  readonly #names = new Map<string, string>();

  constructor(isOurs: IsOurs) {
    this.#isOurs = isOurs;
  }

  /** How many addresses were replaced by names. */
  get count(): number {
    return this.#names.size;
  }

  /** The text with a name in place of every address outside this cluster. */
  replace(text: string): string {
    return text
      .replace(hexRun, (found: string, at: number, all: string) =>
        this.#ipv6(found, all[at - 1], all[at + found.length]),
      )
      .replace(dotted, (found) => this.#name(found, found))
      .replace(dashed, (found) => this.#dashes(found));
  }

  #ipv6(found: string, before = '', after = ''): string {
    if (!mayHoldIpv6(found) || fingerprint.test(found)) return found;
    // Scoped names, such as `std::fmt`, are not addresses.
    if (!/\d/.test(found) && (/\w/.test(before) || /\w/.test(after))) return found;
    let shown = '';
    let at = 0;
    for (let colon = found.indexOf(':'); colon !== -1; colon = found.indexOf(':', at)) {
      // `node2001:db8::1` has letters and `10.2001:db8::1` has a dot before the address.
      const ahead = found.slice(Math.max(at, colon - longestIpv4 - 1), colon);
      const start = endsInIpv4.test(ahead) ? colon : colon - /[^.]{0,4}$/.exec(ahead)![0].length;
      const address = ipv6At(found, start);
      const end = address === '' ? colon + 1 : start + address.length;
      shown += address === '' ? found.slice(at, end) : found.slice(at, start) + this.#name(address, address);
      at = end;
    }
    return shown + found.slice(at);
  }

  /** Other numbers may stand beside an address that is written with dashes: any four in a row may be the address. */
  #dashes(found: string): string {
    const numbers = found.split('-');
    /**
     * In reverse order: a log may hold millions of numbers in a row, and inserting each at the front would take
     * quadratic time.
     */
    const kept: string[] = [];
    while (numbers.length >= 4) {
      const four = numbers.slice(-4);
      const text = four.join('-');
      const name = this.#name(text, four.join('.'));
      const isNamed = name !== text;
      kept.push(isNamed ? name : numbers.at(-1)!);
      numbers.length -= isNamed ? 4 : 1;
    }
    return [...numbers, ...kept.toReversed()].join('-');
  }

  #name(found: string, address: string): string {
    const valid = isIP(address) !== 0;
    // Numbers such as 300.1.2.3 are not addresses; a run of five may contain one.
    if (!valid && address.split('.').length === 4) return found;
    if (valid && this.#isOurs(address)) return found;
    const key = valid ? canonical(address) : address;
    const name = this.#names.get(key) ?? `outside-${this.#names.size + 1}`;
    this.#names.set(key, name);
    return name;
  }
}
