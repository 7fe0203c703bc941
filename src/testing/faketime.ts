import { existsSync, readdirSync } from 'node:fs';
import type { Need } from './needs.ts';

/** The path of libfaketime: `SVC_LIBFAKETIME` or Debian's; undefined when there is neither. */
export function findFaketime(): string | undefined {
  const named = process.env['SVC_LIBFAKETIME'];
  if (named) return named;
  if (process.platform !== 'linux') return undefined;
  // Debian has a folder for each architecture.
  const folders = readdirSync('/usr/lib', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => `/usr/lib/${name}/faketime/libfaketime.so.1`).find((path) => existsSync(path));
}

/** The requirement of tests that run at another date. */
export const libfaketime: Need = {
  name: 'libfaketime',
  missing:
    findFaketime() === undefined
      ? 'no libfaketime: install it (Debian: apt-get install libfaketime) or name the library in SVC_LIBFAKETIME'
      : undefined,
};

/** The variables that pass this process's faked date to a child process that does not inherit the environment. */
export function sameDate(): Record<string, string> {
  const names = ['LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
