import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { generatedFiles } from './generate/files.ts';
import { surfaceFiles } from './generate/surface.ts';

/** `npm run generate`: writes every file that follows from the sources. The result is committed. */
const root = join(import.meta.dirname, '..');
for (const file of [...generatedFiles(), ...surfaceFiles()]) {
  const path = join(root, file.path);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, file.content);
  console.log(file.path);
}
