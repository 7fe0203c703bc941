import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { lintSources } from './lint-sources.ts';

const checkout = join(import.meta.dirname, '../..');
let root: string;
const write = (file: string, text: string): void => writeFileSync(join(root, file), text);

/** A checkout of three files: `caller` imports from `called`, and `apart` is independent of both. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-lint-'));
  mkdirSync(join(root, 'src'));
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'));
  const compilerOptions = { target: 'es2024', lib: ['es2024'], module: 'nodenext', types: [], noEmit: true };
  const options = { strict: true, isolatedModules: true, allowImportingTsExtensions: true, skipLibCheck: true };
  write('tsconfig.json', JSON.stringify({ compilerOptions: { ...compilerOptions, ...options }, include: ['src'] }));
  write('package.json', '{ "type": "module" }');
  write('package-lock.json', '{ "version": 1 }');
  write(
    'eslint.config.js',
    `import tseslint from 'typescript-eslint';
export default tseslint.config({
  files: ['**/*.ts'],
  plugins: { '@typescript-eslint': tseslint.plugin },
  languageOptions: { parser: tseslint.parser, parserOptions: { projectService: true } },
  rules: { '@typescript-eslint/no-floating-promises': 'error' },
});
`,
  );
  write('src/called.ts', `export function save() { return 1; }\n`);
  write('src/caller.ts', `import { save } from './called.ts';\nexport function twice() { save(); save(); }\n`);
  write('src/apart.ts', `export const apart = 1;\n`);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Lints as `npm run lint` does. Returns the number of faults, their text, and the linted sources. */
async function lint(only?: string[]): Promise<{ faults: number; text: string; linted: string[] }> {
  const rules = ['eslint.config.js', 'package-lock.json'].map((file) => join(root, file));
  const { linted, ...rest } = await lintSources({
    ...{ root, projects: ['tsconfig.json'], stateDir: join(root, only ? 'types' : 'state'), rules, only },
  });
  const sources = linted.filter((file) => file.endsWith('.ts'));
  return { ...rest, linted: sources.map((file) => basename(file)).toSorted() };
}

test('a file is linted again only if its text or the types of its imports have changed', async () => {
  expect(await lint()).toEqual({ faults: 0, text: '', linted: ['apart.ts', 'called.ts', 'caller.ts'] });
  expect(await lint()).toEqual({ faults: 0, text: '', linted: [] });
  write('src/apart.ts', `export const apart = 2;\n`);
  expect((await lint()).linted).toEqual(['apart.ts']);
  write('src/called.ts', `export async function save() { return 1; }\n`);
  const found = await lint();
  expect(found).toMatchObject({ faults: 2, linted: ['called.ts', 'caller.ts'] });
  expect(found.text).toMatch(/caller\.ts[^]*no-floating-promises/);
  // A run with faults keeps no result, so the next run finds the faults again.
  expect(await lint()).toEqual(found);
}, 120_000);

test('a type error is a fault, even in an unchanged file, and the next run finds it again', async () => {
  expect((await lint()).faults).toBe(0);
  write('src/called.ts', `export function save(_: string) { return 1; }\n`);
  const found = await lint();
  expect(found.faults).toBe(2);
  expect(found.text).toMatch(/^src\/caller\.ts\(2,27\): error TS2554: Expected 1 arguments/);
  expect(await lint()).toEqual(found);
}, 120_000);

test('every file is linted again after a change of the lint rules or of package versions', async () => {
  await lint();
  expect((await lint()).linted).toEqual([]);
  write('package-lock.json', '{ "version": 2 }');
  expect((await lint()).linted).toEqual(['apart.ts', 'called.ts', 'caller.ts']);
}, 120_000);

test('given file names, only those files are linted, changed or not; types are checked in all files', async () => {
  expect(await lint(['src/apart.ts'])).toEqual({ faults: 0, text: '', linted: ['apart.ts'] });
  expect((await lint(['src/apart.ts'])).linted).toEqual(['apart.ts']);
  write('src/called.ts', `export async function save(_: string) { return 1; }\n`);
  const { text, linted } = await lint(['src/apart.ts']);
  expect(linted).toEqual(['apart.ts']);
  expect(text).toContain('src/caller.ts(2,27): error TS2554');
  expect((await lint(['src/caller.ts'])).text).toContain('no-floating-promises');
  // With an empty list, only types are checked.
  expect(await lint([])).toMatchObject({ faults: 2, linted: [] });
}, 120_000);
