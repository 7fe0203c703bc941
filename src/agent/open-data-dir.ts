import { mkdir } from 'node:fs/promises';
import { errorText, isBlameless, isDiskFull, isOperatorError, OperatorError } from '../base/errors.ts';
import { openStore, type Store, type StoreOptions } from '../tsdb/index.ts';

/**
 * Opens the store in the agent's data directory. A full disk is not an error: existing data is served, and appending
 * resumes once there is room.
 * Errors: those of `openStore`; ERR_STORE_WRITE, with the remedy, when the directory cannot be used at all (a read-only
 * volume, another owner, no room for a new file or folder, a lack of memory or file descriptors).
 */
export async function openDataDir(dataDir: string, options: StoreOptions): Promise<Store> {
  try {
    await mkdir(dataDir, { recursive: true });
    return await openStore(options);
  } catch (cause) {
    throw isOperatorError(cause) ? cause : unusableDataDir(dataDir, cause);
  }
}

/** The error ERR_STORE_WRITE, with the remedy, for a data directory that the system does not let the agent use. */
export function unusableDataDir(dataDir: string, cause: unknown): OperatorError {
  return new OperatorError('ERR_STORE_WRITE', `data-dir ${dataDir}: ${errorText(cause)}; ${remedyOf(cause)}`, {
    cause,
  });
}

function remedyOf(cause: unknown): string {
  const { code } = cause as { code?: unknown };
  if (isDiskFull(cause)) return 'make room on its volume';
  if (code === 'EMFILE' || code === 'ENFILE') return 'raise the limit of open files';
  if (code === 'EACCES' || code === 'EPERM') return 'let the user of the agent read and write it and the files in it';
  if (isBlameless(cause)) return 'give the agent more memory';
  return 'mount it writable for the user of the agent, or name another one with --data-dir';
}
