import { access } from 'node:fs/promises';

/**
 * What this kernel lacks for capture of requests, in words; null when it has all of it or nothing can be seen.
 * Type information is a file in sysfs, and kprobes are there as a source of events: both are readable without rights.
 */
export async function kernelFault(sys = '/sys'): Promise<string | null> {
  const has = (path: string): Promise<boolean> =>
    access(`${sys}/${path}`).then(
      () => true,
      () => false,
    );
  if (!(await has('kernel')) || !(await has('bus/event_source/devices'))) return null;
  const missing = [
    ...((await has('bus/event_source/devices/kprobe')) ? [] : ['kprobes']),
    ...((await has('kernel/btf/vmlinux')) ? [] : ['type information (BTF)']),
  ];
  return missing.length === 0 ? null : `the kernel has no ${missing.join(' and no ')}`;
}
