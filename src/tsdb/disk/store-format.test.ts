import { createLogger } from '../../base/logger.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryFiles } from '../../testing/tsdb/memory-files.ts';
import { readSamples } from '../../testing/tsdb/read-samples.ts';
import { labelsFromObject, openStore, type Store } from '../index.ts';

const start = Date.UTC(2026, 0, 1);
const series = labelsFromObject({ __name__: 'm' });
let files: MemoryFiles;
let lines: string[];
beforeEach(() => {
  files = new MemoryFiles();
  lines = [];
});

const open = (dir = '/s'): Promise<Store> =>
  openStore({ dir, files, clock: new FakeClock(start), logger: createLogger({ write: (line) => lines.push(line) }) });
const textOf = async (path: string): Promise<string> => Buffer.from(await files.readAll(path)).toString();

async function put(path: string, text: string): Promise<void> {
  await files.remove(path);
  const file = await files.openWrite(path, 'create');
  await file.write(Buffer.from(text), 0);
  await file.sync();
  await file.close();
}

async function filled(): Promise<void> {
  const store = await open();
  store.append(series, start, 1);
  await store.commit();
  await store.close();
}

test('a new store names its format, and so does a snapshot', async () => {
  const store = await open();
  const snapshot = await store.snapshot();
  await store.close();
  expect([await textOf('/s/format'), await textOf(`${snapshot}/format`)]).toEqual(['1\n', '1\n']);
});

test('a store that a later version wrote is not opened or changed, and the error names a remedy', async () => {
  await filled();
  // A later version may write a log that this version takes for damaged.
  await put('/s/wal/00000099', 'SVCWAL9\nwhatever it holds');
  await put('/s/format', '2\n');
  const bytes = async (): Promise<unknown> =>
    Promise.all(
      files
        .paths()
        .toSorted()
        .map(async (path) => [path, await textOf(path)]),
    );
  const before = await bytes();
  await expect(open()).rejects.toMatchObject({
    code: 'ERR_STORE_FORMAT',
    message: expect.stringMatching(/written by a later version, in format 2; .* run the later version again/),
  });
  expect(await bytes()).toEqual(before);
});

test.each([
  ['is not there', async () => files.remove('/s/format')],
  ['is empty', async () => put('/s/format', '')],
  ['is damaged', async () => put('/s/format', '\0\0')],
])('a store whose format file %s is opened, and the file is rewritten', async (_, arrange) => {
  await filled();
  await arrange();
  const store = await open();
  expect(readSamples(store).size).toBe(1);
  await store.close();
  expect(await textOf('/s/format')).toBe('1\n');
});

test('a store opens even if the disk is too full to write the format file', async () => {
  await filled();
  await files.remove('/s/format');
  files.fault = (call, path) => call === 'write' && path.includes('/format');
  const store = await open();
  files.fault = undefined;
  expect(readSamples(store).size).toBe(1);
  await store.close();
  expect(lines.join('')).toContain('the file that names its format could not be written');
  await (await open()).close();
  expect(await textOf('/s/format')).toBe('1\n');
});
