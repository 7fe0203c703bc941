import { copyFileSync, cpSync, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findOnPath } from '../cluster/go-programs.ts';
import { runWell } from '../install/tools.ts';
import type { Linux } from './linux.ts';
import { python } from './needs.ts';
import { agentPod } from './orders.ts';

/** Kernel modules in the order of their dependencies. A module that the kernel has built in has no file. */
const modules = [
  ...['virtio_ring', 'virtio', 'virtio_pci_legacy_dev', 'virtio_pci_modern_dev', 'virtio_pci', 'virtio_blk'],
  ...['veth', 'sch_ingress', 'cls_bpf', 'inet_diag', 'tcp_diag', 'tls'],
];

/** What a virtual machine prints if it is started only to find out whether an accelerator works. */
export const probeAnswer = 'the kernel has started';

/** The kernel parameter that requests a shell on the third serial port. */
export const shellWord = 'svc.shell';

/** Loads the modules, mounts the root image and continues there; with `svc.probe` it only prints `probeAnswer`. */
const firstInit = `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
case "$(cat /proc/cmdline)" in *svc.probe*) echo '${probeAnswer}' > /dev/ttyS1; poweroff -f ;; esac
for module in ${modules.join(' ')}; do [ ! -e /modules/$module.ko ] || insmod /modules/$module.ko; done
mount -t ext4 /dev/vda /root
umount /proc /sys
mount --move /dev /root/dev
exec switch_root /root /start
`;

/** The first program of the root image: what an init system does elsewhere. Reports go to the second serial port. */
function start(node: string): string {
  return `#!/bin/busybox sh
export PATH=/usr/bin:/usr/sbin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
# Below /sys there is what the instrument's container is given, and no more.
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tracefs -o ro tracefs /sys/kernel/tracing
# With Debian's default, 3, only SYS_ADMIN may set probes, and the container does not have this capability.
echo 2 > /proc/sys/kernel/perf_event_paranoid
# The instrument reads its pod's name here, to find its node. Without the name it searches for half a minute.
echo ${agentPod} > /proc/sys/kernel/hostname
mount -t tmpfs tmpfs /run
mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm
ip link set lo up
stty -F /dev/ttyS1 raw -echo
shell() {
  /usr/bin/busybox --install -s /run/tools
  stty -F /dev/ttyS2 raw -echo
  while :; do PATH=$PATH:/run/tools setsid sh -i < /dev/ttyS2 > /dev/ttyS2 2>&1; done
}
mkdir /run/tools
case "$(cat /proc/cmdline)" in *${shellWord}*) shell & ;; esac
# Keeps compiled code, because agents are killed and started again here.
export NODE_COMPILE_CACHE=/tmp/compiled
${node} /programs/inside.mjs /programs/orders.json /work > /dev/ttyS1
sync
poweroff -f
`;
}

/** The first file system of the kernel, in memory: busybox and the modules that the root image needs. */
export async function makeInitialRam(linux: Linux, dir: string): Promise<string> {
  const root = join(dir, 'initial');
  for (const path of ['bin', 'modules', 'proc', 'sys', 'dev', 'root']) mkdirSync(join(root, path), { recursive: true });
  copyFileSync(programPath('busybox'), join(root, 'bin/busybox'));
  for (const name of modules) {
    const file = linux.modules.get(name);
    if (file !== undefined) copyFileSync(file, join(root, 'modules', `${name}.ko`));
  }
  writeFileSync(join(root, 'init'), firstInit, { mode: 0o755 });
  const image = join(dir, 'initial.img');
  await runWell('sh', ['-c', 'cd "$1" && find . | busybox cpio -o -H newc > "$2"', 'sh', root, image]);
  return image;
}

/**
 * The root image: Node, Python and a few tools of this machine with their libraries, and the folder of the programs.
 */
export async function makeRootImage(programs: string, dir: string): Promise<string> {
  const root = join(dir, 'root');
  for (const path of ['usr/bin', 'usr/lib64', 'proc', 'sys', 'dev', 'run', 'tmp', 'work', 'etc', 'var/tmp']) {
    mkdirSync(join(root, path), { recursive: true });
  }
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) {
    mkdirSync(join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  copyFileSync(programPath('busybox'), join(root, 'usr/bin/busybox'));
  for (const name of busyboxTools) symlinkSync('busybox', join(root, 'usr/bin', name));
  for (const name of ['ip', 'ss', 'setpriv', 'nsenter']) await copyProgram(programPath(name), root, `/usr/bin/${name}`);
  await copyProgram(process.execPath, root, '/usr/bin/node');
  await copyPython(root);
  cpSync(programs, join(root, 'programs'), { recursive: true });
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
  writeFileSync(join(root, 'start'), start('/usr/bin/node'), { mode: 0o755 });
  const image = join(dir, 'root.img');
  rmSync(image, { force: true });
  const { stdout } = await runWell('du', ['-sm', root]);
  // The image is larger than its files: the product writes into it.
  await runWell('mkfs.ext4', [
    '-q',
    '-F',
    '-O',
    '^has_journal',
    '-d',
    root,
    image,
    `${Number.parseInt(stdout) + 500}M`,
  ]);
  rmSync(root, { recursive: true });
  return image;
}

const busyboxTools = [
  'date',
  'sh',
  'setsid',
  'mount',
  'umount',
  'mkdir',
  'cat',
  'stty',
  'sync',
  'poweroff',
  'find',
  'ls',
  'ps',
];

function programPath(name: string): string {
  const found = findOnPath(name, ['/usr/sbin', '/sbin']);
  if (found === undefined) throw new Error(`the program ${name} is missing`);
  return found;
}

/** Copies a program, and the libraries that the loader of this machine finds for it. */
async function copyProgram(program: string, root: string, to: string): Promise<void> {
  const { stdout } = await runWell('ldd', [program]);
  for (const [, library] of stdout.matchAll(/(\/\S+) \(0x/g)) copyInto(library!, root, library!);
  copyInto(program, root, to);
}

function copyInto(from: string, root: string, to: string): void {
  const target = join(root, to);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(from, target);
}

async function copyPython(root: string): Promise<void> {
  await copyProgram(realpathSync(python), root, python);
  const { stdout } = await runWell(python, ['-c', 'import sysconfig; print(sysconfig.get_path("stdlib"))']);
  const library = stdout.trim();
  const left = new Set(['test', 'idlelib', 'lib2to3', 'tkinter', 'dist-packages', 'turtledemo', 'ensurepip']);
  const isKept = (path: string): boolean =>
    !left.has(path.slice(library.length + 1).split('/')[0]!) && existsSync(path);
  cpSync(library, join(root, library), { recursive: true, dereference: true, filter: isKept });
  // The libraries of Python's C modules are not copied: an HTTP server needs none of them.
}
