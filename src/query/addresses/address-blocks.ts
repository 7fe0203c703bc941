import { BlockList, isIP } from 'node:net';

/** A range of addresses that a policy names. */
export interface NamedBlock {
  readonly cidr: string;
  readonly name: string;
}

/** Addresses by which every machine and every pod calls itself, or no address in particular. */
const ofItself = ['127.0.0.0/8', '::1/128', '0.0.0.0/8', '::/128'];

/**
 * The name of an address that belongs to no object of the cluster: the name that a policy gives its range, else its
 * block (256 addresses of IPv4, a /56 of IPv6, which a provider assigns to one customer). Single addresses outside the
 * cluster can identify people and are not shown.
 */
export class AddressBlocks {
  readonly #podCidrs = new Map<string, readonly string[]>();
  #ofPods: BlockList | undefined;
  readonly #ofItself = listOf(ofItself);
  /** The most specific range first. */
  #named: readonly { readonly name: string; readonly list: BlockList }[] = [];

  setPodCidrs(node: string, cidrs: readonly string[]): void {
    if ((this.#podCidrs.get(node) ?? []).join() === cidrs.join()) return;
    if (cidrs.length === 0) this.#podCidrs.delete(node);
    else this.#podCidrs.set(node, cidrs);
    this.#ofPods = undefined;
  }

  setNamed(blocks: readonly NamedBlock[]): void {
    this.#named = blocks
      .toSorted((a, b) => prefixOf(b.cidr) - prefixOf(a.cidr))
      .flatMap(({ cidr, name }) => {
        const list = listOf([cidr]);
        return list.rules.length === 0 ? [] : [{ name, list }];
      });
  }

  /** The name that a policy gives the most specific range of the address. */
  named(address: string): string | undefined {
    const family = isIP(address);
    if (family === 0) return undefined;
    const type = family === 4 ? 'ipv4' : 'ipv6';
    return this.#named.find(({ list }) => list.check(address, type))?.name;
  }

  /**
   * The name of an address. Undefined for an unnamed one of the pod network or of loopback, and for text that is not an
   * address.
   */
  outside(address: string): string | undefined {
    const family = isIP(address);
    if (family === 0) return undefined;
    const named = this.named(address);
    if (named !== undefined) return named;
    const type = family === 4 ? 'ipv4' : 'ipv6';
    this.#ofPods ??= listOf([...this.#podCidrs.values()].flat());
    if (this.#ofPods.check(address, type) || this.#ofItself.check(address, type)) return undefined;
    return family === 4 ? `${address.slice(0, address.lastIndexOf('.'))}.0/24` : block56(address);
  }
}

function prefixOf(cidr: string): number {
  return Number(cidr.slice(cidr.indexOf('/') + 1));
}

/**
 * Text that is not a CIDR is left out: the API server validates the ranges of its own objects, and policies are
 * validated elsewhere.
 */
function listOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', prefix = ''] = cidr.split('/');
    const family = isIP(address);
    const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN;
    if (family !== 0 && bits <= (family === 4 ? 32 : 128))
      list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** The /56 of an IPv6 address in the short form of RFC 5952: its first three groups and one byte of the fourth. */
function block56(address: string): string {
  const [head = '', tail = ''] = address.split('%')[0]!.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === '' ? [] : tail.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]));
  const zeros = address.includes('::')
    ? Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
    : [];
  const groups = [...before, ...zeros, ...after].slice(0, 4).map((group) => Number.parseInt(group, 16));
  const first = [...groups.slice(0, 3), (groups[3] ?? 0) & 0xff00].map((group) => group.toString(16));
  while (first.at(-1) === '0') first.pop();
  return `${first.join(':')}::/56`;
}
