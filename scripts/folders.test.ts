import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';

/** The highest number of files in a folder that a stranger takes in at a glance. */
const filesInAFolder = 30;

const root = join(import.meta.dirname, '..');

/** The number of source files, tests included, that lie directly in each folder. Recorded data does not count. */
function programsByFolder(files: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const file of files) {
    if (!/\.tsx?$/.test(file) || file.includes('/testdata/')) continue;
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  }
  return counts;
}

test('no folder holds more source files than a stranger takes in at a glance', () => {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
  const counts = programsByFolder(files);
  expect(counts.size).toBeGreaterThan(100);
  expect([...counts].filter(([, count]) => count > filesInAFolder)).toEqual([]);
});

test('a folder counts neither the files of its subfolders nor recorded data', () => {
  const counts = programsByFolder(['a/one.ts', 'a/one.test.ts', 'a/b/two.tsx', 'a/testdata/three.ts', 'a/notes.md']);
  expect([...counts]).toEqual([
    ['a', 2],
    ['a/b', 1],
  ]);
});
