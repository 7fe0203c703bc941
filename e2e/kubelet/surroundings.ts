/**
 * Prepares the inside of an enclosure (the Linux namespaces of a run) for the start of a node. Runs in one of the
 * enclosure's first processes.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hierarchies } from './enclosure.ts';

/** Address of the node, on the bridge of its pods. */
export const nodeAddress = '10.244.0.1';
export const podRange = '10.244.0.0/24';
export const serviceRange = '10.96.0.0/16';
/** Where the name server of the cluster listens. */
export const dnsAddress = '10.244.0.1';
export const bridge = 'cni0';
/** Where the agent's store is on the node: on a file system of its own, which a check can fill up. */
export const storePath = '/var/lib/svc-agent';
const storeSize = '256M';

/** Settings that the kubelet would change for the whole machine. Copies of these files are mounted over them. */
const machineWide = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'];

function exec(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/**
 * Gives the node folders and devices of its own.
 * Guarantees: what runs here changes nothing under /etc, /var/lib, /var/log and /run, and no setting of the machine.
 */
export function prepareSurroundings(dir: string): void {
  exec('mount', '--make-rshared', '/');
  mountControlGroups();
  exec('mount', '-t', 'tmpfs', 'tmpfs', '/run');
  for (const path of ['/etc', '/var/lib', '/var/log']) {
    const layer = join(dir, 'layers', path);
    for (const name of ['upper', 'work']) mkdirSync(join(layer, name), { recursive: true });
    exec(
      'mount',
      '-t',
      'overlay',
      'overlay',
      '-o',
      `lowerdir=${path},upperdir=${layer}/upper,workdir=${layer}/work`,
      path,
    );
  }
  mountStore(join(dir, 'store.ext4'));
  for (const name of machineWide) {
    const own = join(dir, 'sysctl', name);
    mkdirSync(join(own, '..'), { recursive: true });
    writeFileSync(own, readFileSync(join('/proc/sys', name)));
    exec('mount', '--bind', own, join('/proc/sys', name));
  }
  exec('ip', 'link', 'set', 'lo', 'up');
  exec('ip', 'link', 'add', bridge, 'type', 'bridge');
  exec('ip', 'addr', 'add', `${nodeAddress}/24`, 'dev', bridge);
  exec('ip', 'link', 'set', bridge, 'up');
  // Without a default route, a packet to the address of a Service is refused before a rule can redirect it.
  exec('ip', 'route', 'add', 'default', 'via', nodeAddress.replace(/\d+$/, '254'), 'dev', bridge, 'onlink');
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
  // Only with this setting do packets between pods on the bridge pass the rules of policies.
  const bridged = '/proc/sys/net/bridge/bridge-nf-call-iptables';
  if (existsSync(bridged)) writeFileSync(bridged, '1');
  exec('hostname', 'node-1');
}

/** Mounts a file system of its own for the store. The kernel frees its loop device when it is unmounted. */
function mountStore(image: string): void {
  exec('truncate', '--size', storeSize, image);
  exec('mkfs.ext4', '-q', image);
  mkdirSync(storePath, { recursive: true });
  exec('mount', '-o', 'loop', image, storePath);
}

/** Mounts the machine's cgroup hierarchies again: a mount made inside has the group of this enclosure as its root. */
function mountControlGroups(): void {
  const outside = hierarchies().map((path) => ({ path, options: optionsOf(path) }));
  exec('mount', '-t', 'sysfs', 'sysfs', '/sys');
  if (outside.length === 1) {
    exec('mount', '-t', 'cgroup2', 'cgroup2', '/sys/fs/cgroup');
    // A group that delegates controllers to subgroups may not hold processes itself.
    exec(
      'sh',
      '-c',
      'mkdir /sys/fs/cgroup/init && for p in $(cat /sys/fs/cgroup/cgroup.procs); do echo $p > /sys/fs/cgroup/init/cgroup.procs; done',
    );
    return;
  }
  exec('mount', '-t', 'tmpfs', 'tmpfs', '/sys/fs/cgroup');
  for (const { path, options } of outside) {
    mkdirSync(path, { recursive: true });
    if (options.type === 'cgroup2') exec('mount', '-t', 'cgroup2', 'cgroup2', path);
    else exec('mount', '-t', 'cgroup', '-o', options.controllers, 'cgroup', path);
  }
}

function optionsOf(path: string): { type: string; controllers: string } {
  const line = execFileSync('findmnt', ['-n', '-o', 'FSTYPE,FS-OPTIONS', path], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .at(-1)!;
  const [type = '', options = ''] = line.split(/\s+/);
  const ignored =
    /^(rw|ro|relatime|nosuid|nodev|noexec|nsdelegate|memory_recursiveprot|clone_children|release_agent=.*)$/;
  return {
    type,
    controllers: options
      .split(',')
      .filter((option) => !ignored.test(option))
      .join(','),
  };
}

/** Whether this machine withholds CAP_SYS_RESOURCE from every process, which an ordinary node does not. */
export const withholdsResources = (status: string): boolean => {
  const bounding = /^CapBnd:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? 'f'.repeat(16);
  return (BigInt(`0x${bounding}`) & (1n << 24n)) === 0n;
};
