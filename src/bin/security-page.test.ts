import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ports } from '../render/index.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/security.md'), 'utf8');
const files = [...page.matchAll(/`((?:src|e2e|ui|scripts)\/[\w./-]+)`/g)].map(([, path]) => path!);

test('every test that docs/security.md names exists', () => {
  expect(files.length).toBeGreaterThan(25);
  expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect(files.filter((path) => !/\.(test|e2e)\.ts$/.test(path))).toEqual([]);
});

test('every port of the product has a row that says what it asks of a caller', () => {
  const rows = page.split('\n').filter((line) => /^\| \d/.test(line));
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  const missing = Object.values(ports).filter(
    (port) => !cells.some(([, whose, , asked]) => whose!.includes(String(port)) && /\w{4}/.test(asked!)),
  );
  expect(missing).toEqual([]);
});

test('every link of the page and of SECURITY.md leads to a file', () => {
  for (const [file, text] of [
    ['docs', page],
    ['.', readFileSync(join(root, 'SECURITY.md'), 'utf8')],
  ] as const) {
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path]) => path!);
    expect(links).not.toHaveLength(0);
    expect(links.filter((path) => !existsSync(join(root, file, path)))).toEqual([]);
  }
});
