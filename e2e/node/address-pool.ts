/** The addresses of one node's /24: .1 is the node, pods have .2 to .254. */
export interface AddressPool {
  readonly nodeIP: string;
  take(podUid: string): string;
  giveBack(podUid: string): void;
  /** The loopback address that this pod has in place of 127.0.0.1. */
  loopbackOf(podIP: string): string;
}

/** Hands out addresses in turn, so that a released address is not used again immediately. */
export function createAddressPool(prefixes: { pods: string; loopback: string }): AddressPool {
  const held = new Map<string, number>();
  let last = 1;
  return {
    nodeIP: `${prefixes.pods}.1`,
    take(podUid) {
      const known = held.get(podUid);
      if (known !== undefined) return `${prefixes.pods}.${known}`;
      const used = new Set(held.values());
      for (let i = 0; i < 253; i++) {
        last = last >= 254 ? 2 : last + 1;
        if (used.has(last)) continue;
        held.set(podUid, last);
        return `${prefixes.pods}.${last}`;
      }
      throw new Error('all 253 pod addresses of the node are in use');
    },
    giveBack: (podUid) => void held.delete(podUid),
    loopbackOf: (podIP) => `${prefixes.loopback}.${podIP.split('.')[3] ?? '1'}`,
  };
}
