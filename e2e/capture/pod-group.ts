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

/** The container that a pod here has: 64 hex digits, as a runtime makes them. The same for a pod at each call. */
export function containerOf(uid: string): string {
  return createHash('sha256').update(uid).digest('hex');
}

/** What a pod's status says of its container, so that a process is found to be the pod's by its control group. */
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
 * Puts a process into a control group that is named as a kubelet names a container's: that is how an agent tells whose a
 * process is, and how the real instrument finds its pod.
 * Returns what takes the group away once its processes are gone; null where this user may not make groups.
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
    // Those above stay while another pod is in them.
    for (const path of [group, pod, join(pod, '..'), join(pod, '../..')]) {
      try {
        rmdirSync(path);
      } catch {
        // Its last process may not be gone yet; an empty group costs nothing.
      }
    }
  };
}
