import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { ExportQueue } from './queue/export-queue.ts';

/** Removes the folders of destinations that no longer exist, and logs what is lost with them. */
export function sweepFolders(dir: string, isUsed: (id: string) => boolean, logger: Logger): void {
  let names: string[] = [];
  try {
    names = readdirSync(dir);
  } catch {
    return; // no destination has had a folder yet
  }
  for (const folder of names.filter((id) => !isUsed(id))) {
    const bytes = unsentBytes(join(dir, folder));
    if (bytes !== 0) logger.warn('export data dropped unsent', { folder, bytes, reason: 'removed' });
    removeFolder(dir, folder, logger);
  }
}

/** Synchronous, so that a queue opened in the folder afterwards is not removed with it. */
export function removeFolder(dir: string, folder: string, logger: Logger): void {
  try {
    rmSync(join(dir, folder), { recursive: true, force: true });
  } catch (error) {
    logger.warn('export folder cannot be removed', { folder, error: errorText(error) });
  }
}

/** What waits in a queue's folder; undefined if that cannot be read. Units: bytes. */
function unsentBytes(dir: string): number | undefined {
  try {
    return ExportQueue.open({ dir, maxBytes: Infinity, onDropped: () => {} }).pendingBytes;
  } catch {
    return undefined;
  }
}
