import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Relative path → content. */
export type Payload = ReadonlyMap<string, { data: Uint8Array; mode: number }>;

/**
 * Makes a folder hold exactly these files, atomically: the files are in a hidden folder, `..data` points to that
 * folder, and each visible name is a link through `..data`. A reader sees the old set or the new one. Returns whether
 * anything changed.
 * Source: the layout is kubelet's, and programs that watch mounted config maps count on it.
 */
export async function writeAtomically(folder: string, payload: Payload): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  const version = `..v-${digest(payload)}`;
  const before = await readlink(join(folder, '..data')).catch(() => undefined);
  if (before === version) return false;
  await rm(join(folder, version), { recursive: true, force: true });
  await mkdir(join(folder, version), { recursive: true });
  for (const [path, file] of payload) {
    const target = join(folder, version, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, file.data);
    await chmod(target, file.mode);
  }
  await rm(join(folder, '..data_tmp'), { force: true });
  await symlink(version, join(folder, '..data_tmp'));
  await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  const visible = new Set([...payload.keys()].map((path) => path.split('/')[0] ?? path));
  const present = new Set(await readdir(folder));
  for (const name of visible) if (!present.has(name)) await symlink(join('..data', name), join(folder, name));
  for (const name of present) if (!name.startsWith('..') && !visible.has(name)) await rm(join(folder, name));
  if (before !== undefined) await rm(join(folder, before), { recursive: true, force: true });
  return true;
}

function digest(payload: Payload): string {
  const hash = createHash('sha256');
  for (const [path, file] of [...payload].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${path}\0${file.mode}\0${file.data.length}\0`).update(file.data);
  }
  return hash.digest('hex').slice(0, 16);
}
