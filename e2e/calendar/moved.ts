import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sha256Hex } from '../../src/base/canonical-json.ts';
import type { Need } from '../../src/testing/needs.ts';
import { findGoPrograms } from '../cluster/go-programs.ts';

const moduleDir = fileURLToPath(new URL('./moved/', import.meta.url));
const text = ['go.mod', 'main.go'].map((file) => readFileSync(`${moduleDir}${file}`, 'utf8')).join();

/** The program that runs a command and its child processes at another date (ADR 39), from the cache or built now. */
export async function findMoved(): Promise<string> {
  const { moved } = await findGoPrograms({
    moduleDir,
    versionOf: 'golang.org/x/sys',
    folder: `moved-${sha256Hex(text).slice(0, 12)}`,
    packages: { moved: '.' },
    flags: () => ['-ldflags', '-s -w'],
    cold: 'seconds',
  });
  return moved;
}

/** The platform that the program is written for. */
export const movableDates: Need = {
  name: 'linux-x64',
  missing:
    process.platform === 'linux' && process.arch === 'x64'
      ? undefined
      : 'the program that moves the date knows the vDSO of Linux on x86-64 alone',
};
