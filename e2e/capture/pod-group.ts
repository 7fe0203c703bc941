import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Need } from '../../src/testing/needs.ts';

const root = (): string | undefined =>
  ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find((r) => existsSync(join(r, 'cgroup.procs')));

/** Whether this user may make control groups, found out by making one. */
export const controlGroups: Need = {
  name: 'control-groups',
  missing: mayMakeGroups() ? undefined : 'no control group v2 can be made: run as root with cgroup v2 mounted writable',
};

function mayMakeGroups(): boolean {
  const place = root();
  if (!place) return false;
  const group = join(place, `svc-e2e-try-${process.pid}`);
  try {
    mkdirSync(group);
    rmdirSync(group);
    return true;
  } catch {
    return false;
  }
}

/**
 * The container id of a pod: 64 hex digits, as a container runtime makes them. Each call returns the same for a pod.
 */
export function containerOf(uid: string): string {
  return createHash('sha256').update(uid).digest('hex');
}

/** The container status of a pod. Its container id is in the name of the control group of the pod's processes. */
export function containerStatus(uid: string): object {
  return {
    name: 'main',
    image: 'none',
    imageID: '',
    containerID: `containerd://${containerOf(uid)}`,
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: new Date().toISOString() } },
  };
}

/**
 * Puts a process into a control group with the name that a kubelet gives to the control group of a container: by this
 * name, agents and the program that captures traffic find the pod of a process. Returns a function that removes the
 * group once its processes are gone; null if this user may not make groups.
 */
export function intoPodGroup(pid: number, uid: string): (() => void) | null {
  const place = root();
  if (!place) return null;
  const pod = join(place, 'kubepods', 'besteffort', `pod${uid}`);
  const group = join(pod, containerOf(uid));
  try {
    mkdirSync(group, { recursive: true });
    writeFileSync(join(group, 'cgroup.procs'), String(pid));
  } catch {
    return null;
  }
  return () => {
    // The parent groups stay while another pod is in them.
    for (const path of [group, pod, join(pod, '..'), join(pod, '../..')]) {
      try {
        rmdirSync(path);
      } catch {
        // A process in the group may not have ended yet. The group is then left behind, which costs nothing.
      }
    }
  };
}
