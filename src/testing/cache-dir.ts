import { homedir } from 'node:os';
import { join } from 'node:path';

/** The folder outside the checkout for files that take long to download or build. */
export function defaultCacheDir(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'svc-operator');
}

/** The folder of the compiled code of programs that tests start, shared by all runs and kept between them. */
export const compileCacheDir = join(defaultCacheDir(), 'compile-cache');
