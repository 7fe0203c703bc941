import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';

/** A stranger takes in this many files of a folder at one look. */
const filesInAFolder = 30;

const root = join(import.meta.dirname, '..');

/** How many programs, tests included, lie directly in each folder; recorded data is no program. */
function programsByFolder(files: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const file of files) {
    if (!/\.tsx?$/.test(file) || file.includes('/testdata/')) continue;
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  }
  return counts;
}

test('no folder holds more programs and tests than one look takes in', () => {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
  const counts = programsByFolder(files);
  expect(counts.size).toBeGreaterThan(100);
  expect([...counts].filter(([, count]) => count > filesInAFolder)).toEqual([]);
});

test('a folder is counted without what lies deeper and without recorded data', () => {
  const counts = programsByFolder(['a/one.ts', 'a/one.test.ts', 'a/b/two.tsx', 'a/testdata/three.ts', 'a/notes.md']);
  expect([...counts]).toEqual([
    ['a', 2],
    ['a/b', 1],
  ]);
});
