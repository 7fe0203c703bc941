import { readFileSync, rmSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isBlameless } from '../../../base/errors.ts';

/** A place in a queue: a segment's number and a byte in it. */
export interface Position {
  readonly segment: number;
  readonly offset: number;
}

/**
 * The position up to which a queue was sent. If a part of the queue was being sent when this was saved, also the end of
 * that part.
 */
export interface Progress {
  readonly done: Position;
  readonly sending: Position | null;
}

/** A small file that the disk has failed to return for this long counts as damaged. Units: ms. */
const longestFailingMs = 60_000;

/**
 * The text of a small file of a queue: null when there is none, `lost` when the disk has failed to return it for a
 * minute. `failingMs`: for how long earlier tries have failed with an error. Units: ms. Errors: of the system.
 */
export function readSmallFile(
  path: string,
  failingMs: (error: unknown) => number,
): { readonly text: string } | 'lost' | null {
  try {
    return { text: readFileSync(path, 'utf8') };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    if (isBlameless(error) || failingMs(error) < longestFailingMs) throw error;
    return 'lost';
  }
}

/**
 * The saved progress; null when there is none, or a damaged one. One that the disk does not return is removed after a
 * minute: read at a later start, it would pass over files that were written since. `failingMs`: as for `readSmallFile`.
 * Errors: of the system.
 */
export function loadProgress(dir: string, failingMs: (error: unknown) => number): Progress | null {
  const path = join(dir, 'progress.json');
  const file = readSmallFile(path, failingMs);
  if (file === 'lost') rmSync(path, { force: true });
  if (file === 'lost' || file === null) return null;
  try {
    const value = JSON.parse(file.text) as Partial<Progress>;
    if (!isPosition(value.done)) return null;
    return { done: value.done, sending: isPosition(value.sending) ? value.sending : null };
  } catch {
    return null;
  }
}

export async function saveProgress(dir: string, progress: Progress): Promise<void> {
  const path = join(dir, 'progress.json');
  await writeFile(`${path}.tmp`, JSON.stringify(progress), { mode: 0o640 });
  await rename(`${path}.tmp`, path);
}

export function isBefore(a: Position, b: Position): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset);
}

function isPosition(value: unknown): value is Position {
  const { segment, offset } = (value ?? {}) as Partial<Position>;
  return Number.isSafeInteger(segment) && Number.isSafeInteger(offset) && segment! >= 0 && offset! >= 0;
}
