import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A `svc` to run, and how to be rid of it. */
export interface Program {
  readonly program: string;
  readonly remove: () => void;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The sources as they are. */
export function sourceProgram(): Program {
  return { program: join(root, 'src/bin/svc.ts'), remove: () => {} };
}

/** What images have: JavaScript, made of the sources as they are now, in a folder of its own beside the dependencies. */
export async function buildProgram(): Promise<Program> {
  const dir = join(root, 'node_modules/.cache/bench-agent');
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const args = ['-p', join(root, 'tsconfig.build.json'), '--outDir', join(dir, 'dist'), '--noCheck'];
  await promisify(execFile)(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...args]);
  symlinkSync(join(root, 'package.json'), join(dir, 'package.json'));
  return {
    program: join(dir, 'dist/bin/svc.js'),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
