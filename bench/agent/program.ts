import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../../scripts/build/bundle.ts';

/** A `svc` to run, and how to remove it. */
export interface Program {
  readonly program: string;
  readonly remove: () => void;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A program that runs from the sources. */
export function sourceProgram(): Program {
  return { program: join(root, 'src/bin/svc.ts'), remove: () => {} };
}

/** The program that images contain: a bundle of the current sources, in a folder of its own. */
export async function buildProgram(): Promise<Program> {
  const dir = join(root, 'node_modules/.cache/bench-agent');
  rmSync(dir, { recursive: true, force: true });
  await bundle('svc', { outDir: join(dir, 'dist') });
  symlinkSync(join(root, 'package.json'), join(dir, 'package.json'));
  return {
    program: join(dir, 'dist/svc/svc.js'),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
