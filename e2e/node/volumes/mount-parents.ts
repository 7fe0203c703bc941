import { mkdir, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

interface Mount {
  mountPath: string;
  target: string;
}

/**
 * Lets a program use the folder above its mounts, such as `/etc/app` if `/etc/app/rules` is mounted: makes that folder
 * under `root`, with a link for each mount, and returns it as a further mount.
 * Caveats: it makes only the folder right above a mount. It makes no folder of the first level, because `/etc` holds
 * more than its mounts.
 */
export async function mountParents(mounts: readonly Mount[], root: string): Promise<Mount[]> {
  const mounted = mounts.map((mount) => mount.mountPath.replace(/\/+$/, ''));
  const parents = new Map<string, string>();
  for (const [index, path] of mounted.entries()) {
    const parent = dirname(path);
    if (dirname(parent) === '/' || parent === '/') continue;
    if (mounted.some((other) => parent === other || parent.startsWith(`${other}/`))) continue;
    const target = join(root, parent);
    await mkdir(target, { recursive: true });
    const link = join(target, basename(path));
    await rm(link, { recursive: true, force: true });
    await symlink(mounts[index]!.target, link);
    parents.set(parent, target);
  }
  return [...parents].map(([mountPath, target]) => ({ mountPath, target }));
}
