import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const text = readFileSync(`${root}docs/architecture.md`, 'utf8');

test.each([
  ['docs/architecture.md', 60],
  ['CONTRIBUTING.md', 40],
])('every file and folder that %s names exists', (file, least) => {
  const document = readFileSync(`${root}${file}`, 'utf8');
  const named = [...document.matchAll(/`((?:src|e2e|bench|scripts|ui)(?:\/[\w./-]+)?)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(least);
  expect(named.filter((path) => !existsSync(`${root}${path}`))).toEqual([]);
});

test('every folder of the sources is in the table of docs/architecture.md', () => {
  const folders = readdirSync(`${root}src`).map((name) => `src/${name}`);
  expect(folders.filter((folder) => !text.includes(`| \`${folder}\``) && !text.includes(`\`${folder}\`,`))).toEqual([]);
});

test('docs/architecture.md lists every decision record of docs/adr by its title', () => {
  const missing = readdirSync(`${root}docs/adr`).filter((name) => {
    const title = readFileSync(`${root}docs/adr/${name}`, 'utf8').split('\n')[0]!.replace(/^# /, '');
    return !text.includes(`- [${title}](adr/${name})`);
  });
  expect(missing).toEqual([]);
});
