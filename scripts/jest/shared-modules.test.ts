import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

let dir: string;
beforeEach(async () => (dir = await mkdtemp(join(tmpdir(), 'svc-shared-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Runs Jest as `npm test` does, but in one process, on these files one after another. Returns what it prints. */
async function runFiles(files: Readonly<Record<string, string>>): Promise<string> {
  const config = {
    rootDir: dir,
    extensionsToTreatAsEsm: ['.ts'],
    testMatch: ['**/*.test.ts'],
    testSequencer: join(dir, 'in-order.cjs'),
    transform: { '\\.ts$': join(root, 'scripts/jest/strip-types.cjs') },
    testEnvironment: join(root, 'scripts/jest/one-realm.cjs'),
    runtime: join(root, 'scripts/jest/shared-modules.cjs'),
    setupFilesAfterEnv: [join(root, 'scripts/jest/no-exit.cjs'), join(root, 'scripts/jest/quick-equality.cjs')],
  };
  const sequencer = `module.exports = class { sort(tests) { return tests.toSorted((a, b) => (a.path < b.path ? -1 : 1)); }
    allFailedTests(tests) { return tests; } async cacheResults() {} shard(tests) { return tests; } };`;
  const all = { ...files, 'in-order.cjs': sequencer, 'jest.config.json': JSON.stringify(config) };
  for (const [name, text] of Object.entries(all)) await writeFile(join(dir, name), text);
  const child = spawn(
    process.execPath,
    [
      '--experimental-vm-modules',
      join(root, 'node_modules/jest/bin/jest.js'),
      '-i',
      '--no-cache',
      '-c',
      'jest.config.json',
    ],
    { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let text = '';
  for (const output of [child.stdout, child.stderr])
    output.setEncoding('utf8').on('data', (part: string) => (text += part));
  await once(child, 'close');
  return text;
}

test('test files share modules, and nothing else: no globals, variables, mocks, equality testers or hooks', async () => {
  const printed = await runFiles({
    'counted.ts': `export const counted = { loads: 0, more: () => import('./late.ts') };`,
    'late.ts': `export const late = 'imported when the file that loaded its importer has ended';`,
    'a.test.ts': `
      import { counted } from './counted.ts';
      let tests = 0;
      afterEach(() => void tests++);
      afterAll(() => void (globalThis.leftBehind = tests));
      expect.addEqualityTesters([() => true]);
      test('the first', () => {
        counted.loads++;
        process.env.LEFT_BEHIND = 'yes';
        globalThis.structuredClone = () => 'another';
        expect(1).toEqual(2);
      });`,
    'b.test.ts': `
      import { counted } from './counted.ts';
      test('the second', async () => {
        expect(counted.loads).toBe(1);
        expect(globalThis.leftBehind).toBe(undefined);
        expect(process.env.LEFT_BEHIND).toBe(undefined);
        expect(structuredClone(1)).toBe(1);
        expect(1).not.toEqual(2);
        expect((await counted.more()).late).toMatch(/imported/);
      });
      test('process.exit throws in the second file, too', () => expect(() => process.exit(1)).toThrow('was called'));`,
  });
  expect(printed).toMatch(/Tests: +1 failed, 2 passed, 3 total/);
  expect(printed).toMatch(/process\.exit is never called outside of src\/bin, but this test did/);
});

test('built-in classes are the same in tests and in modules, whichever file loaded the module first', async () => {
  const made = `export const make = () => [new Error('no'), [1], { a: new Map() }, new Uint8Array(1), Promise.resolve()];`;
  const asks = `
    import { make } from './made.ts';
    test('they are', () => {
      const [error, array, object, bytes, promise] = make();
      expect(error).toBeInstanceOf(Error);
      expect(array).toStrictEqual([1]);
      expect(object).toStrictEqual({ a: new Map() });
      expect(bytes).toBeInstanceOf(Uint8Array);
      expect(promise).toBeInstanceOf(Promise);
    });`;
  const printed = await runFiles({ 'made.ts': made, 'a.test.ts': asks, 'b.test.ts': asks });
  expect(printed).toMatch(/Tests: +2 passed, 2 total/);
});
