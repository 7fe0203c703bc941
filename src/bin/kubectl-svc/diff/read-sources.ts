import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errorText } from '../../../base/errors.ts';
import { PluginError } from '../errors.ts';
import type { Source } from './documents.ts';

/** The most that is taken of the standard input, and of `kubectl kustomize`. */
const maxBytes = 64 * 1024 * 1024;
const extensions = /\.(ya?ml|json)$/;

/**
 * Reads files, the YAML and JSON files of folders, and the standard input (`-`).
 * Errors: PluginError that names the unreadable path, or a folder without such files.
 */
export async function readSources(
  paths: readonly string[],
  { recursive, stdin }: { recursive: boolean; stdin: (maxBytes: number) => Promise<string> },
): Promise<Source[]> {
  const sources: Source[] = [];
  for (const path of paths) {
    if (path === '-') sources.push({ file: '-', text: await stdin(maxBytes) });
    else
      for (const file of await filesOf(path, recursive))
        sources.push({ file, text: await named(file, () => readFile(file, 'utf8')) });
  }
  return sources;
}

async function filesOf(path: string, recursive: boolean): Promise<string[]> {
  if (!(await named(path, () => stat(path))).isDirectory()) return [path];
  const entries = await named(path, () => readdir(path, { withFileTypes: true, recursive }));
  const files = entries
    // The files of a mounted ConfigMap are links; kubectl reads them too.
    .filter((entry) => (entry.isFile() || entry.isSymbolicLink()) && extensions.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  if (files.length > 0) return files;
  throw new PluginError('ERR_INPUT_INVALID', `${path}: no .yaml, .yml or .json file in this folder`, {
    hints: recursive ? [] : ['-R looks into the folders below as well'],
  });
}

/** Puts the path before the error of a read. */
async function named<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new PluginError('ERR_INPUT_INVALID', `${path}: ${errorText(cause)}`, { cause });
  }
}

/** The output of `kubectl kustomize` for a folder. Errors: PluginError with kubectl's own message. */
export async function kustomized(folder: string, signal: AbortSignal): Promise<Source> {
  try {
    const { stdout } = await promisify(execFile)('kubectl', ['kustomize', folder], {
      signal,
      maxBuffer: maxBytes,
    });
    return { file: folder, text: stdout };
  } catch (cause) {
    const { stderr, code } = cause as { stderr?: string; code?: unknown };
    const hints = code === 'ENOENT' ? ['kubectl must be in PATH'] : [];
    throw new PluginError('ERR_INPUT_INVALID', `kubectl kustomize ${folder}: ${stderr?.trim() || errorText(cause)}`, {
      cause,
      hints,
    });
  }
}
