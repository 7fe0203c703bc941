import { lstatSync, mkdirSync } from 'node:fs';

/**
 * Makes the folder, unless it exists. For a folder whose name others can guess, in a folder where all users may make
 * files, such as /tmp.
 * Guarantees: when it returns, the path is a real folder. It belongs to this user, and no other user can write to it or
 * has written what it contains.
 * Errors: a sentence with the way out, if another user has made something at this path; ENOENT if another process
 * removes the folder at this moment.
 */
export function claimFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const found = lstatSync(path);
  const orElse = 'or set TMPDIR to a folder of your own.';
  const wayOut = `Remove it, ${orElse}`;
  if (!found.isDirectory()) throw new Error(`${path} is not a folder, so it is not used. ${wayOut}`);
  if (found.uid !== (process.getuid?.() ?? 0)) {
    throw new Error(`${path} belongs to another user (uid ${found.uid}), so it is not used. ${wayOut}`);
  }
  if ((found.mode & 0o022) !== 0) {
    const bits = (found.mode & 0o777).toString(8);
    // An earlier version made it so where the umask leaves new folders to a group, and may still use it.
    const waiting = 'Wait for what still uses it to end, and keep what you need of it. Then remove it';
    throw new Error(`other users can write to ${path} (mode ${bits}), so it is not used. ${waiting}, ${orElse}`);
  }
}
