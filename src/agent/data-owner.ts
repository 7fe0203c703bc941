import { chown, mkdir } from 'node:fs/promises';

/**
 * Makes the agent's user the owner of the data directory. The kubelet creates host directories as root and a pod's
 * `fsGroup` has no effect on host paths, so the unprivileged agent could not write there otherwise.
 * Shape: `owner` is `uid:gid`. If it is empty, or if this process is not root, nothing changes. Only the owner of
 * the directory itself is changed, because its contents were created by the agent's user.
 * Errors: those of the file system.
 */
export async function handOverDataDir(
  dataDir: string,
  owner: string,
  system: { isRoot: boolean; chown: typeof chown } = { isRoot: process.getuid?.() === 0, chown },
): Promise<void> {
  const [uid, gid] = owner.split(':').map(Number);
  if (owner === '' || uid === undefined || gid === undefined || !system.isRoot) return;
  await mkdir(dataDir, { recursive: true });
  await system.chown(dataDir, uid, gid);
}
