import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes the files below a folder to the disk and takes them out of the kernel's cache.
 * Assumptions: no process maps the files. Errors: `dd` fails.
 */
export function dropFromCache(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const done = spawnSync('dd', [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none']);
    if (done.status !== 0) throw new Error(`dd cannot drop ${file} from the cache: ${done.stderr.toString().trim()}`);
  }
}
