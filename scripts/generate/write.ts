import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { GeneratedFile } from './generated-file.ts';

/** Writes generated files below `root`, an absolute path. */
export function writeFiles(root: string, files: readonly GeneratedFile[]): void {
  for (const file of files) {
    const path = join(root, file.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.content);
  }
}

/** Paths of the files that are missing below `root`, or have other content there. Writes nothing. */
export function staleFiles(root: string, files: readonly GeneratedFile[]): string[] {
  return files.filter((file) => contentOf(join(root, file.path)) !== file.content).map(({ path }) => path);
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
