import type { FileLayer } from './file-layer.ts';

/**
 * Replaces a small file as a whole: after a crash, it has its old content or all of the new content. The new content is
 * on disk when the promise resolves.
 * Errors: those of the system; after an error, too, the file has its old content or all of the new content.
 */
export async function writeDurably(files: FileLayer, dir: string, name: string, content: Uint8Array): Promise<void> {
  const path = `${dir}/${name}`;
  await files.remove(`${path}.tmp`);
  const file = await files.openWrite(`${path}.tmp`, 'create');
  try {
    await file.write(content, 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(`${path}.tmp`, path);
  await files.syncDir(dir);
}
