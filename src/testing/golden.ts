import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The part of Jest's global that is used here: the production build does not know Jest's types. */
declare const expect: { (actual: string): { toBe(expected: string): void }; getState(): object };

/**
 * Compares a text with a golden file, so that the diff of a change shows its effect, not only its code.
 * `npm run test:update-golden` (jest's `-u`) rewrites the files instead.
 * Shape: `folder` is the test's `import.meta.dirname`; the file is `<folder>/testdata/<name>`.
 * Errors: fails the test where the file is missing or differs.
 */
export function expectGolden(folder: string, name: string, actual: string): void {
  const path = join(folder, 'testdata', name);
  if (updating()) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, actual);
    return;
  }
  if (!existsSync(path)) throw new Error(`${path} is missing: run npm run test:update-golden and review it`);
  expect(actual).toBe(readFileSync(path, 'utf8'));
}

/** Whether jest runs with `-u`. */
function updating(): boolean {
  const state = expect.getState() as { snapshotState?: { _updateSnapshot?: string } };
  return state.snapshotState?._updateSnapshot === 'all';
}
