import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findOnPath } from '../cluster/go-programs.ts';

/** A program that has to be there, and the Debian package that brings it. */
const programs: Readonly<Record<string, string>> = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  buildah: 'buildah',
  nft: 'nftables',
  iptables: 'iptables',
  ipset: 'ipset',
  conntrack: 'conntrack',
  ip: 'iproute2',
  tc: 'iproute2',
  'mkfs.ext4': 'e2fsprogs',
  unshare: 'util-linux',
  nsenter: 'util-linux',
};

export interface Machine {
  readonly platform: string;
  readonly uid: number;
  /** Whether a program is on the PATH. */
  readonly has: (program: string) => boolean;
  /** Whether a file exists. */
  readonly exists: (path: string) => boolean;
}

/** Where Debian's package puts the network plugins of containers. */
export const cniPlugins = '/usr/lib/cni';

/** Why no node can be brought up here, in one sentence that says what to do; null where it can. */
export function whyNoNode(machine: Machine): string | null {
  if (machine.platform !== 'linux') return 'a node needs Linux: run it in a virtual machine';
  if (machine.uid !== 0) return 'a node needs root: run it with sudo';
  const missing = Object.entries(programs)
    .filter(([program]) => !machine.has(program))
    .map(([, name]) => name);
  if (!machine.exists(join(cniPlugins, 'bridge'))) missing.push('containernetworking-plugins');
  if (missing.length === 0) return null;
  return `programs are missing: apt-get install ${[...new Set(missing)].sort().join(' ')}`;
}

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? -1,
    has: (program) => findOnPath(program) !== undefined,
    exists: existsSync,
  };
}
