import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readIfPresent, replaceFile } from './durable-file.ts';

/**
 * Brings the instrument's file to these bytes; the same bytes are never written again. Resolves to whether they changed.
 */
export async function writeInstrumentFile(path: string, yaml: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true });
  const present = await readIfPresent(path);
  const changed = present === null || !present.equals(Buffer.from(yaml));
  if (changed) await replaceFile(path, yaml);
  return changed;
}
