import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeAtomically } from './atomic-folder.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'atomic-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const payload = (files: Record<string, string>, mode = 0o644) =>
  new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]));
const visible = (): string[] => readdirSync(folder).filter((n) => !n.startsWith('..'));

test('a write shows new content, adds and removes names, and leaves one version of the files', async () => {
  await writeAtomically(folder, payload({ a: '1', 'sub/b': '2' }, 0o600));
  expect(readFileSync(join(folder, 'sub/b'), 'utf8')).toBe('2');
  expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o600);
  expect(await writeAtomically(folder, payload({ a: '3', c: '4' }))).toBe(true);
  expect(visible().sort()).toEqual(['a', 'c']);
  expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('3');
  expect(readdirSync(folder).filter((n) => n.startsWith('..v-'))).toHaveLength(1);
});

test('touches nothing when nothing changed', async () => {
  await writeAtomically(folder, payload({ a: '1' }));
  const before = statSync(join(folder, 'a')).ino;
  expect(await writeAtomically(folder, payload({ a: '1' }))).toBe(false);
  expect(statSync(join(folder, 'a')).ino).toBe(before);
});
