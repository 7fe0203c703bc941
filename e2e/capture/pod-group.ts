import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Puts a process into a control group that is named like a pod's, which is how an agent tells whose a process is.
 * Returns what takes the group away once its processes are gone; null where this user may not make groups.
 */
export function intoPodGroup(pid: number, uid: string): (() => void) | null {
  const root = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find((r) => existsSync(join(r, 'cgroup.procs')));
  if (!root) return null;
  const group = join(root, `svc-e2e-pod${uid}`);
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
