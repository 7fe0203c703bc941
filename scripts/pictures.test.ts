import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const linked = [...readme.matchAll(/!\[([^\]]+)\]\((docs\/pictures\/[^)]+\.png)\)/g)];

test('the README shows two pictures of the page, each with an alternative text', () => {
  expect(linked).toHaveLength(2);
  for (const [, words, file] of linked) {
    expect(words!.length).toBeGreaterThan(20);
    expect(existsSync(join(root, file!))).toBe(true);
  }
});

test('every kept picture is in the README, and is smaller than 200 KiB', () => {
  const kept = readdirSync(join(root, 'docs/pictures'));
  expect(kept.map((name) => `docs/pictures/${name}`).sort()).toEqual(linked.map(([, , file]) => file).sort());
  for (const name of kept) expect(statSync(join(root, 'docs/pictures', name)).size).toBeLessThan(200 * 1024);
});
