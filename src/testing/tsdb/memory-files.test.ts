import { expect, test } from '@jest/globals';
import { MemoryFiles } from './memory-files.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (files: MemoryFiles, path: string): string => new TextDecoder().decode(files.bytesOf(path));

async function synced(text: string) {
  const files = new MemoryFiles();
  const file = await files.openWrite('f', 'create');
  await file.write(bytes(text), 0);
  await file.sync();
  return { files, file };
}

test.each([
  [0, 'abcdef'],
  [0.5, 'abcd'],
  [1, 'ab'],
])('a crash that carries out the fraction %d of an unsynced truncation leaves %s in the file', async (share, left) => {
  const { files, file } = await synced('abcdef');
  await file.truncate(2);
  files.crash(() => share);
  expect(textOf(files, 'f')).toBe(left);
});

test('a synced truncation survives a crash, and so do bytes that were written over the cut ones', async () => {
  const { files, file } = await synced('abcdef');
  await file.truncate(2);
  await file.write(bytes('xyz'), 2);
  await file.sync();
  await file.truncate(4);
  files.crash();
  expect(textOf(files, 'f')).toBe('abxyz');
});

test('a byte that a disk damages does not make the unsynced bytes after it durable', async () => {
  const { files, file } = await synced('abc');
  await file.write(bytes('def'), 3);
  files.flip('f', 0);
  files.crash();
  expect(textOf(files, 'f')).toBe('!bc');
});
