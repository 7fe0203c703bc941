import { errorText, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { FileLayer } from './file-layer.ts';
import { writeDurably } from './write-durably.ts';

/**
 * The number of a store's format, for log, checkpoints and blocks together. It grows by one with each change that an
 * earlier version would treat as damage, so that such a version refuses the store instead of cutting off the parts that
 * it cannot read.
 */
export const storeFormat = 1;

const fileName = 'format';

/**
 * Refuses a store that a later version wrote, before any of it is read or changed; writes the format file when it is
 * missing or damaged. A store without the file has format 1. A full disk does not prevent opening: the next open writes
 * the file.
 * Errors: ERR_STORE_FORMAT, whose text names the remedy.
 */
export async function claimFormat(dir: string, files: FileLayer, logger: Logger): Promise<void> {
  const path = `${dir}/${fileName}`;
  if ((await files.list(dir)).includes(fileName)) {
    const text = new TextDecoder().decode(await files.readAll(path));
    const found = /^(\d{1,9})\n$/.exec(text)?.[1];
    if (found !== undefined && Number(found) > storeFormat) throw tooNew(dir, found);
    if (found !== undefined) return;
    logger.warn('store: the file that names its format is damaged and is written again', { path });
  }
  try {
    await writeFormat(dir, files);
  } catch (error) {
    logger.warn('store: the file that names its format could not be written', { path, error: errorText(error) });
  }
}

/** Writes the format of a store or of a snapshot, durably. Errors: those of the system. */
export async function writeFormat(dir: string, files: FileLayer): Promise<void> {
  await writeDurably(files, dir, fileName, new TextEncoder().encode(`${storeFormat}\n`));
}

function tooNew(dir: string, found: string): OperatorError {
  return new OperatorError(
    'ERR_STORE_FORMAT',
    `store ${dir} was written by a later version, in format ${found}; this version reads up to format ${storeFormat}. ` +
      'Nothing was changed: run the later version again, or move the directory away and begin with an empty one',
  );
}
