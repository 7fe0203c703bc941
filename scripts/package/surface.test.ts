import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../build/bundle.ts';
import { readSurfaces, type Surface } from './surface.ts';
import { emitTypes, entries, entryNames, packagesMentioned, type Entry } from './types.ts';

let types: ReadonlyMap<string, string>;
let surfaces: ReadonlyMap<Entry, Surface>;
beforeAll(() => {
  types = emitTypes();
  surfaces = readSurfaces(types);
}, 300_000);

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string>;
  dependencies: Record<string, string>;
};

test('the checkout has the entry points of the published package, as unbuilt sources', () => {
  const paths = entryNames.map((entry) => [`./${entry}`, `./${entries[entry]}`]);
  expect(manifest.exports).toEqual(Object.fromEntries(paths));
});

test('docs:api has pages for every entry point', () => {
  const { entryPoints } = JSON.parse(readFileSync(join(root, 'typedoc.json'), 'utf8')) as { entryPoints: string[] };
  expect(entryPoints.toSorted()).toEqual(Object.values(entries).toSorted());
});

test.each(entryNames)(
  'surface/%s.txt is what the package exports: run npm run generate and commit the result',
  (entry) => {
    const committed = readFileSync(join(root, `surface/${entry}.txt`), 'utf8');
    expect(committed.slice(committed.indexOf('\n\n') + 2)).toBe(surfaces.get(entry)!.text);
  },
);

test.each(entryNames)('every name of svc-operator/%s has a docstring', (entry) => {
  const { names, undocumented } = surfaces.get(entry)!;
  expect(names.length).toBeGreaterThan(20);
  expect(undocumented).toEqual([]);
});

test.each(entryNames)('svc-operator/%s mentions no type of ours that cannot be imported', (entry) => {
  expect(surfaces.get(entry)!.hidden).toEqual([]);
});

test('the declarations mention only dependencies, and neither client-node nor undici', () => {
  const mentioned = packagesMentioned(types);
  expect(mentioned).toEqual(expect.arrayContaining(['prom-client', '@sinclair/typebox']));
  expect(mentioned.filter((name) => !(name in manifest.dependencies))).toEqual([]);
  expect(mentioned).not.toContain('@kubernetes/client-node');
  expect(mentioned).not.toContain('undici');
});

test('a name without a docstring, and a type that cannot be imported, are found', () => {
  const text = 'interface Below { a: number }\nexport declare function make(): Below;\nexport {};\n';
  const files = entryNames.map((entry) => [`package/${entry}.d.ts`, text] as const);
  const { undocumented, hidden, text: printed } = readSurfaces(new Map(files)).get('runtime')!;
  expect({ undocumented, hidden }).toEqual({ undocumented: ['make'], hidden: ['make mentions Below'] });
  expect(printed).toBe('function make(): Below;\n');
});
