import { chmodSync } from 'node:fs';

/** Runs something as a user who may neither list nor read what is in a directory. */
export async function withoutRight(dir: string, run: () => Promise<void>): Promise<void> {
  chmodSync(dir, 0);
  const isRoot = process.geteuid!() === 0;
  if (isRoot) process.seteuid!(65_534);
  try {
    await run();
  } finally {
    if (isRoot) process.seteuid!(0);
    chmodSync(dir, 0o700);
  }
}
