import { join } from 'node:path';
import { generatedFiles } from './generate/files.ts';
import { surfaceFiles } from './generate/surface.ts';
import { staleFiles, writeFiles } from './generate/write.ts';

/**
 * `npm run generate`: writes every generated file. These files are committed. `--check`: writes nothing, names the
 * files that differ from what their sources give, and fails if there are any.
 */

const root = join(import.meta.dirname, '..');
const files = [...generatedFiles(), ...surfaceFiles()];
if (process.argv.includes('--check')) {
  const stale = staleFiles(root, files);
  if (stale.length > 0) {
    console.error(`not as their sources give them: run npm run generate and commit the result\n${stale.join('\n')}`);
    process.exitCode = 1;
  }
} else {
  writeFiles(root, files);
  for (const { path } of files) console.log(path);
}
