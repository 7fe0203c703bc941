import { mkdir } from 'node:fs/promises';
import { errorText, isDiskFull, isOperatorError, OperatorError } from '../base/errors.ts';
import { openStore, type Store, type StoreOptions } from '../tsdb/index.ts';

/**
 * Opens the store in the agent's data directory. A full disk is not an error: existing data is served, and appending
 * resumes once there is room.
 * Errors: those of `openStore`; ERR_STORE_WRITE, with the remedy, when the directory cannot be written at all (a
 * read-only volume, another owner, no room for a new file or folder).
 */
export async function openDataDir(dataDir: string, options: StoreOptions): Promise<Store> {
  try {
    await mkdir(dataDir, { recursive: true });
    return await openStore(options);
  } catch (cause) {
    if (isOperatorError(cause)) throw cause;
    const remedy = isDiskFull(cause)
      ? 'make room on its volume'
      : 'mount it writable for the user of the agent, or name another one with --data-dir';
    throw new OperatorError('ERR_STORE_WRITE', `data-dir ${dataDir}: ${errorText(cause)}; ${remedy}`, { cause });
  }
}
