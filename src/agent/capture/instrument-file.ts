import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readIfPresent, replaceFile } from './durable-file.ts';

export interface InstrumentFileState {
  /** False when the bytes were there already: then nothing was written and the instrument need not restart. */
  readonly changed: boolean;
  /** When the file got its present bytes. Units: ms since the epoch. */
  readonly modifiedMs: number;
}

/** Brings the instrument's file to these bytes; the same bytes are never written again. */
export async function writeInstrumentFile(path: string, yaml: string): Promise<InstrumentFileState> {
  await mkdir(dirname(path), { recursive: true });
  const present = await readIfPresent(path);
  const changed = present === null || !present.equals(Buffer.from(yaml));
  if (changed) await replaceFile(path, yaml);
  return { changed, modifiedMs: (await stat(path)).mtimeMs };
}
