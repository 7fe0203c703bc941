import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { staleFiles, writeFiles } from './write.ts';

const files = ['crds/a.yaml', 'crds/b.yaml'].map((path) => ({ path, content: `of ${path}\n` }));
let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'svc-generate-'))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

test('a check names the files that differ from their sources, and writes nothing', () => {
  expect(staleFiles(root, files)).toEqual(['crds/a.yaml', 'crds/b.yaml']);
  writeFiles(root, files);
  expect(staleFiles(root, files)).toEqual([]);
  writeFileSync(join(root, 'crds/b.yaml'), 'edited by hand\n');
  expect(staleFiles(root, files)).toEqual(['crds/b.yaml']);
  expect(readFileSync(join(root, 'crds/b.yaml'), 'utf8')).toBe('edited by hand\n');
});
