import { chown, mkdir } from 'node:fs/promises';

/**
 * Gives the data directory to the user that the agent runs as. The kubelet makes a host directory as root, and the
 * volume group of a pod has no effect on host paths, so without this the unprivileged agent could not write there.
 * Shape: `owner` is `uid:gid`; empty, or a caller that is not root, leaves everything alone. Only the directory itself
 * changes: what is in it was made by its owner.
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
