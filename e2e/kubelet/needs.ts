import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findOnPath } from '../cluster/go-programs.ts';

/** The required programs, each with its Debian package. */
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
  /** Tries the features that containers need, such as namespaces. Returns what was refused; empty if nothing was. */
  readonly refuses: () => string;
}

/** Where Debian's package puts the network plugins of containers. */
export const cniPlugins = '/usr/lib/cni';

/** Why no node can be brought up here, in one sentence that says what to do; null if it can. */
export function whyNoNode(machine: Machine): string | null {
  if (machine.platform !== 'linux') return 'a node needs Linux: run it in a virtual machine';
  if (machine.uid !== 0) return 'a node needs root: run it with sudo';
  const missing = Object.entries(programs)
    .filter(([program]) => !machine.has(program))
    .map(([, name]) => name);
  if (!machine.exists(join(cniPlugins, 'bridge'))) missing.push('containernetworking-plugins');
  if (missing.length > 0) return `programs are missing: apt-get install ${[...new Set(missing)].sort().join(' ')}`;
  const refused = machine.refuses();
  return refused === '' ? null : `this machine refuses what containers are made of (${refused}): run it on another one`;
}

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? -1,
    has: (program) => findOnPath(program) !== undefined,
    exists: existsSync,
    refuses: refusedHere,
  };
}

/** A script to run in new namespaces: it makes a layered file system, a bridge and a table of packet rules. */
const trial = `
set -e
mount -t tmpfs none /mnt
mkdir /mnt/lower /mnt/upper /mnt/work /mnt/merged
mount -t overlay overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work /mnt/merged
ip link add svc-trial type bridge
nft add table ip svc-trial
iptables -w -t nat -L -n >/dev/null
`;

function refusedHere(): string {
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--cgroup', '--ipc', '--uts'];
  const tried = spawnSync('unshare', [...namespaces, '--', 'sh', '-c', trial], { encoding: 'utf8', timeout: 30_000 });
  if (tried.status === 0) return '';
  return tried.stderr.trim().split('\n').at(-1) || `ended with ${tried.status ?? tried.signal}`;
}
