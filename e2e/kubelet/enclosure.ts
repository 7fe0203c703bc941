/**
 * Lets a node run without changes to the machine: in namespaces of its own for network, mounts, processes and control
 * groups. When its first process ends, the kernel removes containers, mounts, devices and rules, however the run ended.
 * Only empty control groups and a folder are left.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { claimFolder } from '../cluster/own-folder.ts';
import { exited, processIdentity, signalGroup, spawnBound, toolEnvironment } from '../cluster/processes.ts';

export interface Enclosure {
  /** Folder for everything of the run; removed at the end. */
  readonly dir: string;
  /** Whether no other run is under way on this machine. */
  readonly isAlone: boolean;
  /** Runs a program in the enclosure; resolves to its exit code. */
  run(command: readonly string[], env: Readonly<Record<string, string>>): Promise<number>;
  /** Kills the program, and waits until nothing of the enclosure is left. A second call does nothing. */
  close(): Promise<void>;
}

const registry = join(tmpdir(), `svc-node-${process.getuid?.() ?? 0}`);

/**
 * Makes an enclosure, after it has removed what killed runs left.
 * Errors: a sentence if other users can write to the folder of all runs.
 */
export async function openEnclosure(): Promise<Enclosure> {
  claimFolder(registry, 0o755);
  let isAlone = true;
  for (const name of readdirSync(registry)) {
    const [pid, identity] = name.split('-');
    if (processIdentity(Number(pid)) === identity) isAlone = false;
    else await giveBack(join(registry, name));
  }
  const dir = join(registry, `${process.pid}-${processIdentity(process.pid)}`);
  mkdirSync(dir, { mode: 0o755 });
  const groups = makeGroups(basename(dir));
  let child: ChildProcess | undefined;
  let closed: Promise<void> | undefined;
  return {
    dir,
    isAlone,
    run(command, env) {
      // The process enters its control group before it makes the namespace: that group becomes the namespace's root.
      const enter = groups.map((group) => `echo $$ > ${group}/cgroup.procs`).join(' && ');
      const namespaces = 'unshare --net --mount --pid --fork --kill-child --mount-proc --cgroup --ipc --uts';
      // The shell inside reaps orphans of containers, as the first process of a machine does.
      const script = `${enter} && exec ${namespaces} -- /bin/sh -c '"$@"; exit $?' sh "$@"`;
      child = spawnBound(['/bin/sh', '-c', script, 'sh', ...command], {
        run: `node-${basename(dir)}`,
        env: toolEnvironment(env),
        stdio: ['ignore', 'inherit', 'inherit'],
      });
      return new Promise((resolve, reject) => {
        child!.once('error', reject);
        child!.once('exit', (code) => resolve(code ?? 130));
      });
    },
    close: () =>
      (closed ??= (async () => {
        if (child?.pid !== undefined && child.exitCode === null) {
          signalGroup(child.pid, 'SIGKILL');
          await exited(child);
        }
        await giveBack(dir);
      })()),
  };
}

/** Makes a control group in every hierarchy of this machine. Returns the groups' folders. */
function makeGroups(name: string): string[] {
  return hierarchies().map((root) => {
    const group = join(root, `svc-node-${name}`);
    mkdirSync(group, { recursive: true });
    // A new cpuset group has no processors, and until it has some, no process can enter it.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      const inherited = readText(join(root, file)) ?? readText(join(root, `${file}.effective`));
      if (inherited?.trim() && readText(join(group, file)) !== null) writeFileSync(join(group, file), inherited.trim());
    }
    return group;
  });
}

/** Mount points of control groups: one for each hierarchy of version 1, or the only one of version 2. */
export function hierarchies(mounts = readFileSync('/proc/self/mounts', 'utf8')): string[] {
  const found = mounts
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, path, type]) => path?.startsWith('/sys/fs/cgroup') && (type === 'cgroup' || type === 'cgroup2'))
    .map(([, path]) => path!);
  return [...new Set(found)];
}

async function giveBack(dir: string): Promise<void> {
  const name = `svc-node-${basename(dir)}`;
  // The kernel takes a moment to end the last process of a namespace.
  for (let i = 0; i < 100; i++) {
    if (hierarchies().every((root) => removeGroup(join(root, name)))) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}

/** Removes a group and its subgroups. False while a process is still in one of them. */
function removeGroup(path: string): boolean {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory() && !removeGroup(join(path, entry.name))) return false;
    }
    rmdirSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
