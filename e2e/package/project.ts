import { spawn } from 'node:child_process';
import { chmod, cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { signalGroup, toolEnvironment } from '../cluster/processes.ts';

const checkout = join(import.meta.dirname, '../..');

/** Runs a script; returns what it printed on both streams. Errors: an exit code other than 0, with the output. */
export function runShell(script: string, cwd: string, env: Record<string, string>, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd,
      env: toolEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, so that processes that a script leaves running end with it.
      detached: true,
    });
    const late = setTimeout(() => signalGroup(child.pid!, 'SIGKILL'), timeoutMs);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
    child.once('error', reject);
    child.once('exit', () => signalGroup(child.pid!, 'SIGKILL'));
    child.once('close', (code, signal) => {
      clearTimeout(late);
      if (code === 0) resolve(output);
      else reject(new Error(`${script}\nended with ${code ?? signal}:\n${output}`));
    });
  });
}

/**
 * A `PATH` with this Node, and with an `npx` that runs the unpacked package for `npx svc-operator`: the real npx would
 * look the name up in a registry.
 */
export async function toolPath(dir: string, packageDir: string): Promise<string> {
  const bin = join(dir, 'bin');
  await mkdir(bin, { recursive: true });
  const npx = `#!/bin/sh\n[ "$1" = svc-operator ] || exit 127\nshift\nexec node ${packageDir}/bin/svc-operator.js "$@"\n`;
  await writeFile(join(bin, 'npx'), npx);
  await chmod(join(bin, 'npx'), 0o755);
  return [bin, dirname(process.execPath), process.env['PATH'] ?? ''].join(':');
}

/**
 * Copies the given packages and all that they need from the checkout's `node_modules` into that of a project, so that
 * `npm install --offline` finds every dependency in place.
 */
export async function bringPackages(names: readonly string[], project: string): Promise<void> {
  const modules = join(checkout, 'node_modules');
  const seen = new Set<string>();
  const visit = async (name: string, from: string): Promise<void> => {
    const folder = await findPackage(name, from);
    if (folder === undefined || seen.has(folder)) return;
    seen.add(folder);
    const text = await readFile(join(folder, 'package.json'), 'utf8');
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(text) as Record<string, object | undefined>;
    for (const next of [...Object.keys(dependencies), ...Object.keys(optionalDependencies)]) await visit(next, folder);
  };
  for (const name of names) await visit(name, checkout);
  // A package inside another one's folder is copied with that one.
  const top = [...seen].filter((folder) => !folder.slice(modules.length + 1).includes('node_modules/'));
  for (const folder of top) {
    await cp(folder, join(project, 'node_modules', folder.slice(modules.length + 1)), { recursive: true });
  }
}

/** Where Node finds a package that a folder asks for; undefined for an optional one that is not installed. */
async function findPackage(name: string, from: string): Promise<string | undefined> {
  for (let dir = from; dir.startsWith(checkout); dir = dirname(dir)) {
    const folder = join(dir, 'node_modules', name);
    if (await stat(join(folder, 'package.json')).catch(() => undefined)) return folder;
  }
  return undefined;
}
