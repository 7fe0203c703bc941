import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { signsOfLife } from './progress.ts';
import { processIdentity } from './processes.ts';

type Link = (existing: string, path: string) => void;

export interface LockOptions {
  /** Where a wait is reported. */
  log: (line: string) => void;
  /** Ends a wait. */
  signal?: AbortSignal | undefined;
  /** Makes a hard link. Default: that of the system. */
  link?: Link;
}

/** What a file system without hard links answers, or one that gives a file no more of them. */
const noLinks: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** How long a lock that names no holder is left alone: another program may be writing it. Units: ms. */
const namelessMs = 5_000;

/**
 * Makes the folder, and does the work under the folder's lock, a file beside it that names its holder. A lock whose
 * holder is gone is taken over.
 * Errors: a sentence with the path, if the folder or the lock cannot be made; the signal's reason.
 */
export async function underLock<T>(dir: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const path = `${dir}.lock`;
  await take(path, dir, options);
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

async function take(path: string, dir: string, { log, signal, link = linkSync }: LockOptions): Promise<void> {
  let end: (() => void) | undefined;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const holder = tryToTake(path, dir, link);
      if (holder === undefined) return;
      if (!end) {
        const say = (): void => log(`waiting for another build (${path} held by process ${holder})`);
        say();
        end = signsOfLife(say);
      }
      await sleep(systemClock, 1000, signal);
    }
  } finally {
    end?.();
  }
}

/** Takes the lock if it is free, or if its holder is gone. Otherwise returns the holder: its pid, or `unknown`. */
function tryToTake(path: string, dir: string, link: Link): string | undefined {
  try {
    mkdirSync(dir, { recursive: true });
    while (!write(path, link)) {
      const found = readIfThere(path);
      if (!found) continue;
      const holder = holderOf(found.text);
      const lives = holder ? processIdentity(holder.pid) === holder.identity : found.ageMs < namelessMs;
      if (lives) return String(holder?.pid ?? 'unknown');
      rmSync(path, { force: true });
    }
    return undefined;
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).message;
    const wayOut = 'set XDG_CACHE_HOME to a folder where this user can write';
    throw new Error(`the lock ${path} cannot be taken (${reason}): ${wayOut}`, { cause });
  }
}

/**
 * False if the lock exists. Written aside and linked into its place, a lock never lacks the name of its holder; without
 * hard links it does for a moment.
 */
function write(path: string, link: Link): boolean {
  const aside = `${path}.${randomUUID()}`;
  const text = `${process.pid} ${processIdentity(process.pid) ?? ''}`;
  try {
    writeFileSync(aside, text, { flag: 'wx' });
    try {
      link(aside, path);
    } catch (error) {
      if (!noLinks.has((error as NodeJS.ErrnoException).code)) throw error;
      writeFileSync(path, text, { flag: 'wx' });
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(aside, { force: true });
  }
}

function readIfThere(path: string): { text: string; ageMs: number } | undefined {
  try {
    return { ageMs: Date.now() - statSync(path).mtimeMs, text: readFileSync(path, 'utf8') };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

/** The process that a lock's text names: its pid, and its identity, which may contain blanks. */
export function holderOf(text: string): { pid: number; identity: string } | undefined {
  const [, pid, identity = ''] = /^(\d+) (.*)$/.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), identity };
}
