import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, rename, stat } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { OperatorError } from '../../base/errors.ts';
import { keepFile } from '../capture/durable-file.ts';

/** Names inside the folder; the instrument's container starts `ld.so --library-path lib node supervise.mjs`. */
export const supervisorFiles = { loader: 'ld.so', libraries: 'lib', node: 'node', script: 'supervise.mjs' } as const;

/**
 * Puts the supervisor into a folder, with everything that it needs to run in an image that holds only one static
 * program: this Node.js, the shared libraries that it has loaded, their loader, and the script.
 * Guarantees: each file is replaced atomically; one that has the same bytes already is not written, so a folder that
 * outlives a reboot of its node needs no free space. Cost: about 130 MB.
 * Errors: ERR_CONFIG_INVALID for a Node.js whose loader cannot be found; those of the file system.
 */
export async function installSupervisor(dir: string): Promise<void> {
  const shared = sharedObjects();
  const loader = shared.find((path) => /^ld-.*\.so/.test(basename(path)));
  if (loader === undefined) {
    throw new OperatorError(
      'ERR_CONFIG_INVALID',
      'the supervisor of the instrument: this Node.js has loaded no dynamic loader (ld-*.so)',
    );
  }
  const libraries = join(dir, supervisorFiles.libraries);
  await mkdir(libraries, { recursive: true });
  for (const path of shared) await install(path, join(libraries, basename(path)));
  await install(loader, join(dir, supervisorFiles.loader));
  await install(process.execPath, join(dir, supervisorFiles.node));
  await keepFile(join(dir, supervisorFiles.script), await scriptText());
}

/** The libraries of this process by the names they were loaded with; the kernel's own (vDSO) has no path. */
function sharedObjects(): string[] {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean };
  // Without this the report looks up the names of all network addresses.
  report.excludeNetwork = true;
  const { sharedObjects: found } = report.getReport() as { sharedObjects: string[] };
  return found.filter((path) => path.startsWith('/') && path !== process.execPath);
}

async function install(from: string, to: string): Promise<void> {
  if (await haveSameBytes(from, to)) return;
  await copyFile(from, `${to}.tmp`);
  await chmod(`${to}.tmp`, 0o555);
  await rename(`${to}.tmp`, to);
}

/** Compares contents, because a power loss can leave a file of the right length without its bytes. */
async function haveSameBytes(from: string, to: string): Promise<boolean> {
  const present = await stat(to).catch(() => null);
  return present?.size === (await stat(from)).size && (await digestOf(to).catch(() => null)) === (await digestOf(from));
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** The program as JavaScript. A build contains it as such; in a source tree, its types are stripped. */
async function scriptText(): Promise<string> {
  const own = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const text = await readFile(fileURLToPath(new URL(`./supervise.${own}`, import.meta.url)), 'utf8');
  return own === 'ts' ? stripTypeScriptTypes(text) : text;
}
