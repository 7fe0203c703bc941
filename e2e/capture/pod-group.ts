import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Need } from '../../src/testing/needs.ts';

const root = (): string | undefined =>
  ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find((r) => existsSync(join(r, 'cgroup.procs')));

/** Whether this user may make control groups, which it tries. */
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
 * Puts a process into a control group that is named like a pod's, which is how an agent tells whose a process is.
 * Returns what takes the group away once its processes are gone; null where this user may not make groups.
 */
export function intoPodGroup(pid: number, uid: string): (() => void) | null {
  const place = root();
  if (!place) return null;
  const group = join(place, `svc-e2e-pod${uid}`);
  try {
    mkdirSync(group, { recursive: true });
    writeFileSync(join(group, 'cgroup.procs'), String(pid));
  } catch {
    return null;
  }
  return () => {
    try {
      rmdirSync(group);
    } catch {
      // Its last process may not be gone yet; an empty group costs nothing.
    }
  };
}
