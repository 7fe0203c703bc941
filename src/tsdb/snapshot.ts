import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { BlockSet } from './block-set.ts';
import { writeCheckpoint } from './checkpoint.ts';
import type { FileLayer } from './disk/file-layer.ts';
import { writeFormat } from './disk/store-format.ts';
import type { Head } from './head/head.ts';

/** What a snapshot copies. */
export interface Copied {
  /** The store's directory. */
  readonly dir: string;
  readonly files: FileLayer;
  readonly blocks: BlockSet;
  readonly head: Head;
}

/**
 * Writes a copy of the store into `snapshots/<name>`: hard links to its blocks, a checkpoint of its head, its format.
 * Returns the path of the copy. Errors: those of the system. An unfinished copy is removed, since its links would keep
 * the space of blocks that retention removes.
 */
export async function writeSnapshot({ dir, files, blocks, head }: Copied, name: string): Promise<string> {
  const path = `${dir}/snapshots/${name}`;
  const temporary = `${path}.tmp`;
  try {
    await files.makeDir(`${temporary}/wal`);
    await blocks.linkTo(`${temporary}/blocks`);
    await writeCheckpoint(`${temporary}/wal`, files, head, 1);
    await writeFormat(temporary, files);
    await files.rename(temporary, path);
  } catch (error) {
    await files.remove(temporary).catch(() => {});
    throw error;
  }
  await files.syncDir(`${dir}/snapshots`);
  return path;
}

/** Removes the snapshots that a process left unfinished when it ended. One that cannot be removed is only logged. */
export async function removeUnfinishedSnapshots(dir: string, files: FileLayer, logger: Logger): Promise<void> {
  const names = await files.list(`${dir}/snapshots`);
  for (const name of names.filter((n) => n.endsWith('.tmp'))) {
    const path = `${dir}/snapshots/${name}`;
    await files.remove(path).catch((error: unknown) => {
      logger.warn('store: an unfinished snapshot cannot be removed', { path, error: errorText(error) });
    });
  }
}
