import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readIfPresent, replaceFile } from './durable-file.ts';

/**
 * Gives the instrument's file these bytes; it is not rewritten when it already has them. Resolves to whether it
 * changed.
 */
export async function writeInstrumentFile(path: string, yaml: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true });
  const present = await readIfPresent(path);
  const changed = present === null || !present.equals(Buffer.from(yaml));
  if (changed) await replaceFile(path, yaml);
  return changed;
}
