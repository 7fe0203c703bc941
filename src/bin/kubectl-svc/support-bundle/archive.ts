import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { errorText } from '../../../base/errors.ts';
import { PluginError } from '../errors.ts';
import type { BundleFile } from './bundle.ts';

export interface ArchiveOptions {
  readonly file: string;
  /** The top-level folder of the archive. */
  readonly folder: string;
  /** Wall time of every entry, ms since the epoch. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/**
 * Writes files as a gzipped tar that only its owner may read.
 * Errors: PluginError when the file already exists or cannot be written; then no partial file is left.
 */
export async function writeArchive(files: readonly BundleFile[], options: ArchiveOptions): Promise<void> {
  const { file, folder, now, signal } = options;
  const tar = pack();
  for (const { path, content } of files) {
    tar.entry({ name: `${folder}/${path}`, mode: 0o600, mtime: new Date(now), size: content.length }, content);
  }
  tar.finalize();
  let began = false;
  try {
    const target = createWriteStream(file, { flags: 'wx', mode: 0o600 }).on('open', () => (began = true));
    await pipeline(tar, createGzip(), target, { signal });
  } catch (cause) {
    if (began) await rm(file, { force: true });
    if (signal.aborted) throw cause;
    const exists = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    const hints = exists ? ['name another file with --output, or move that one away'] : [];
    throw new PluginError('ERR_INPUT_INVALID', `${file}: ${exists ? 'is there already' : errorText(cause)}`, {
      hints,
      cause,
    });
  }
}
