import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Builds the programs and the page into `dist`, as the image does. What the build prints goes to stderr. */
export async function buildPrograms(): Promise<void> {
  const cwd = join(import.meta.dirname, '../..');
  const child = spawn(process.execPath, ['scripts/build/main.ts'], { cwd, stdio: ['ignore', 2, 2] });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the build ended with ${code}`);
}
