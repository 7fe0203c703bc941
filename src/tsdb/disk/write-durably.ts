import type { FileLayer, WritableFile } from './file-layer.ts';

/**
 * Replaces a small file as a whole: after a crash, it has its old content or all of the new content. The new content is
 * on disk when the promise resolves.
 * Errors: those of the system; after an error, too, the file has its old content or all of the new content.
 */
export async function writeDurably(files: FileLayer, dir: string, name: string, content: Uint8Array): Promise<void> {
  const path = `${dir}/${name}`;
  await files.remove(`${path}.tmp`);
  await changeFile(files, `${path}.tmp`, 'create', (file) => file.write(content, 0));
  await files.rename(`${path}.tmp`, path);
  await files.syncDir(dir);
}

/** Opens a file, changes and syncs it, and closes it whatever fails. */
export async function changeFile(
  files: FileLayer,
  path: string,
  mode: 'create' | 'existing',
  change: (file: WritableFile) => Promise<void>,
): Promise<void> {
  const file = await files.openWrite(path, mode);
  try {
    await change(file);
    await file.sync();
  } finally {
    await file.close();
  }
}
