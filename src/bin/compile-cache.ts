import { readdir, rm } from 'node:fs/promises';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import type { BuildInfo } from '../base/build-info.ts';
import type { Clock } from '../base/clock.ts';

/** After this time the agent has ingested samples, so the code compiled for that is kept as well. Units: ms. */
const warmAfterMs = 60_000;

/**
 * Keeps in `parent` the compiled form of all modules that are loaded after this call, so that the next start of the
 * same build need not compile them.
 * Flow: call it before the modules are loaded → `keep` once the program serves: a minute later the folder is written,
 * and those of other builds are removed. A process that ends earlier writes the folder at its end.
 * Guarantees: never fails. A folder that cannot be written, is damaged or was written by another version of Node is
 * ignored: Node checks each entry against its source and checksums.
 * Caveats: whoever may write the folder decides what the program does.
 */
export function compileCache(parent: string, { version, commit }: BuildInfo): { keep: (clock: Clock) => void } {
  const name = `${version}-${commit}`;
  enableCompileCache(join(parent, name));
  return {
    keep: (clock) =>
      void clock.setTimeout(() => {
        flushCompileCache();
        void removeOthers(parent, name).catch(() => {});
      }, warmAfterMs),
  };
}

async function removeOthers(parent: string, name: string): Promise<void> {
  for (const other of await readdir(parent)) {
    if (other !== name) await rm(join(parent, other), { recursive: true, force: true });
  }
}
