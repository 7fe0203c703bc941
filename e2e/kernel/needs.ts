import type { Machine } from '../kubelet/needs.ts';

/** The required programs, each with its Debian package. */
const programs: Readonly<Record<string, string>> = {
  'qemu-system-x86_64': 'qemu-system-x86',
  busybox: 'busybox-static',
  'mkfs.ext4': 'e2fsprogs',
  'dpkg-deb': 'dpkg',
  'apt-get': 'apt',
  ip: 'iproute2',
  ss: 'iproute2',
  setpriv: 'util-linux',
  nsenter: 'util-linux',
};

export const python = '/usr/bin/python3';

/** Why no virtual machine can be started here, in one sentence that says what to do; null if one can. */
export function whyNoMachine(machine: Pick<Machine, 'platform' | 'has' | 'exists'>): string | null {
  if (machine.platform !== 'linux') return 'the root image is made of programs of this machine, which must be Linux';
  const missing = Object.entries(programs)
    .filter(([program]) => !machine.has(program))
    .map(([, name]) => name);
  if (!machine.exists(python)) missing.push('python3');
  if (missing.length === 0) return null;
  return `programs are missing: apt-get install ${[...new Set(missing)].sort().join(' ')}`;
}
