import { constants } from 'node:fs';
import { open, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { maxRuleFileBytes } from '../../api/v1alpha1/rule-file-size.ts';
import { errorText } from '../../base/errors.ts';
import { foldName, isRepositoryName } from '../names.ts';
import { parseRuleFile, type RuleFault, type RuleFile, type RuleFileOptions } from './rule-file.ts';
import { hashOf, type RuleSet } from './rule-set.ts';

const maxFiles = 200;
const suffix = '.yaml';

/** The rule files at one moment: name → bytes, or the fault that prevented reading the file. */
export type RuleSources = ReadonlyMap<string, RuleSource>;
export type RuleSource = { bytes: Uint8Array } | { fault: RuleFault };

/**
 * Reads every rule file of a directory. A mounted ConfigMap may swap its `..data` link during the read; then the read
 * is repeated, so that files of two versions are never mixed.
 * Errors: rejects with the system's error when the directory cannot be listed (ENOENT when it is absent).
 */
export async function readRuleDirectory(dir: string): Promise<RuleSources> {
  for (let attempt = 0; ; attempt++) {
    const before = await dataLink(dir);
    const sources = await readOnce(dir);
    if (attempt >= 4 || before === (await dataLink(dir))) return sources;
  }
}

/**
 * Compiles the files read. A faulty file keeps its last good version in force. Without one, requests for the repository
 * of the file are denied, and never decided by the catch-all file. A deleted file is no longer in force.
 */
export function compileRules(sources: RuleSources, last: RuleSet, options: RuleFileOptions): RuleSet {
  const files = new Map<string, RuleFile | null>();
  const faults: RuleFault[] = [];
  let catchAll: RuleFile | null = null;
  for (const [name, source] of [...sources].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const repository = name.slice(0, -suffix.length);
    const key = foldName(repository);
    const parsed = 'fault' in source ? source : parseRuleFile(name, source.bytes, options);
    const old = name === suffix ? last.catchAll : last.files.get(key);
    let file = 'file' in parsed ? parsed.file : old?.name === name ? old : null;
    if ('fault' in parsed) faults.push(parsed.fault);
    if (files.has(key)) {
      faults.push({ file: name, message: 'differs from another file only by case: both are off' });
      file = null;
    }
    if (file && 'file' in parsed) faults.push(...parsed.file.faults);
    if (name === suffix) catchAll = file;
    else files.set(key, file);
  }
  const inForce = [...files.values(), catchAll].filter((file) => file !== null);
  return { files, catchAll, faults, hash: hashOf(inForce) };
}

async function readOnce(dir: string): Promise<RuleSources> {
  const root = await realpath(dir);
  const entries = (await readdir(root)).filter((name) => name.endsWith(suffix) && !name.startsWith('..')).sort();
  const sources = new Map<string, RuleSource>();
  for (const [index, name] of entries.entries()) {
    const repository = name.slice(0, -suffix.length);
    if (name !== suffix && !isRepositoryName(repository)) {
      sources.set(name, { fault: { file: name, message: 'file name is not <repository>.yaml' } });
    } else if (index >= maxFiles) {
      sources.set(name, { fault: { file: name, message: `more than ${maxFiles} files` } });
    } else {
      const source = await readFileInside(root, name);
      if (source) sources.set(name, source);
    }
  }
  return sources;
}

/**
 * Null when the file was deleted, or is a link whose target was deleted: a key removed from a ConfigMap leaves such a
 * link behind.
 */
async function readFileInside(root: string, name: string): Promise<RuleSource | null> {
  const fault = (message: string): { fault: RuleFault } => ({ fault: { file: name, message } });
  try {
    const path = await realpath(join(root, name));
    if (!path.startsWith(root + sep)) return fault('link leads out of the directory');
    const stats = await stat(path);
    if (!stats.isFile()) return fault('is not a regular file');
    // A link or a pipe that has replaced the file since must not redirect or block the read.
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const buffer = Buffer.alloc(Math.min(stats.size, maxRuleFileBytes) + 1);
      let length = 0;
      for (;;) {
        const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
        length += bytesRead;
        if (bytesRead === 0 || length === buffer.length) break;
      }
      if (length > Math.min(stats.size, maxRuleFileBytes))
        return length <= maxRuleFileBytes
          ? fault('changed while it was read')
          : fault(`is larger than ${maxRuleFileBytes} bytes`);
      return { bytes: buffer.subarray(0, length) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return null;
    return fault(`cannot be read: ${code ?? errorText(error)}`);
  }
}

async function dataLink(dir: string): Promise<string> {
  return readlink(join(dir, '..data')).catch(() => '');
}
