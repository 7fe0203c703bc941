import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file so that a reader sees the old or the new bytes, never a part, also after a power loss:
 * temporary name in the same directory, fsync, rename, fsync of the directory.
 */
export async function replaceFile(path: string, bytes: string | Uint8Array, mode = 0o644): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    const file = await open(temporary, 'w', mode);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * Gives a file this content; a file that already has it is not written again. Resolves to whether the file changed.
 */
export async function keepFile(path: string, text: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true });
  const present = await readIfPresent(path);
  const changed = present === null || !present.equals(Buffer.from(text));
  if (changed) await replaceFile(path, text);
  return changed;
}

/** The file's bytes, or null when there is none. */
export async function readIfPresent(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
