import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { registeredMetrics } from './registered-metrics.ts';

const root = join(import.meta.dirname, '../..');
const page = await readFile(join(root, 'docs/reference/metrics.md'), 'utf8');
const row = /^\| `([a-z0-9_]+)` +\| (\w+) +\| ([^|]*?) +\| (.*?) +\|$/gm;
const rows = [...page.matchAll(row)].map(([, name = '', type, labels = '', meaning]) => ({
  name,
  type,
  labels: [...labels.matchAll(/`([^`]+)`/g)].map((m) => m[1]),
  meaning,
}));

test('docs/reference/metrics.md has a row for every metric of a program, with its type and labels', () => {
  const byName = new Map(rows.map((r) => [r.name, r]));
  const registered = Object.values(registeredMetrics()).flat();
  expect(registered.length).toBeGreaterThan(100);
  for (const { name, type, labels } of registered) {
    expect([name, byName.get(name)]).toEqual([name, expect.objectContaining({ name, type, labels })]);
  }
});

test('every metric in docs/reference/metrics.md exists in the sources, and has one row', async () => {
  const registered = new Set(
    Object.values(registeredMetrics())
      .flat()
      .map((m) => m.name),
  );
  const files = await readdir(join(root, 'src'), { recursive: true });
  const sources = await Promise.all(
    files.filter((f) => /(?<!\.test)\.ts$/.test(f)).map((f) => readFile(join(root, 'src', f), 'utf8')),
  );
  const isNamed = (name: string): boolean =>
    sources.some((text) => new RegExp(`(?<![a-z0-9_])${name}(?![a-z0-9_])`).test(text));
  expect(rows.length).toBeGreaterThan(registered.size);
  expect(rows.filter((r) => !registered.has(r.name) && !isNamed(r.name)).map((r) => r.name)).toEqual([]);
  expect(new Set(rows.map((r) => r.name)).size).toBe(rows.length);
});

test('every row says what the metric means', () => {
  expect(rows.filter((r) => (r.meaning ?? '').length < 8)).toEqual([]);
});
