import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** This folder is a framework of its own. It can be copied together with `kube`, `base` and two files of `api`. */
const folder = import.meta.dirname;
const files = (await readdir(folder, { recursive: true })).filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'));
const sources = await Promise.all(
  files.map(async (name) => ({ name, text: await readFile(join(folder, name), 'utf8') })),
);
const imports = sources.flatMap(({ name, text }) =>
  [...text.replace(/^ \*.*$/gm, '').matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(([, path = '']) => ({
    name,
    path: path.startsWith('.') ? relative(folder, join(folder, name, '..', path)) : path,
  })),
);

test('the framework imports only itself, the Kubernetes client, `base` and the object metadata', () => {
  const allowed =
    /^((watch\/|apply\/|control\/)?[a-z-]+\.ts|\.\.\/(kube\/(index|dot-i)|base\/((text|collections)\/)?[a-z0-9-]+|api\/meta)\.ts|node:.*|prom-client|@opentelemetry\/.*)$/;
  expect(imports.length).toBeGreaterThan(80);
  expect(imports.filter(({ path }) => !allowed.test(path))).toEqual([]);
});

test('the framework names none of the product’s kinds, groups or components', () => {
  const names = /svc[-.]|TrafficMonitor|ClusterTrafficPolicy|MinterDeployment|\bminter\b/i;
  const found = sources.flatMap(({ name, text }) =>
    text.split('\n').flatMap((line) => (names.test(line) ? [`${name}: ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});
