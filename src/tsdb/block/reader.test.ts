import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodePoints, highBits, lowBits } from '../chunk/index.ts';
import { nodeFiles } from '../disk/file-layer.ts';
import { labelsFromObject } from '../labels.ts';
import { Block } from './reader.ts';
import { writeBlock } from './writer.ts';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'svc-block-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/**
 * A block of values that compress badly. A series takes several kilobytes, and the block is longer than three read
 * windows (the parts of the file that are read in one go).
 */
async function blockOf(series: number, chunksEach: number): Promise<Block> {
  let seed = 1;
  const value = (): number => (seed = (seed * 48_271) % 0x7fffffff) / 7;
  const sources = Array.from({ length: series }, (_, i) => ({
    labels: labelsFromObject({ __name__: 'm', n: String(i).padStart(5, '0') }),
    chunks: Array.from({ length: chunksEach }, (_chunk, c) => {
      const points = Array.from({ length: 100 }, (_point, p) => {
        const v = value();
        return { t: c * 100_000 + p * 1_000, high: highBits(v), low: lowBits(v) };
      });
      return encodePoints(points, 100)[0]!;
    }),
  }));
  const { path } = (await writeBlock(dir, nodeFiles, { from: 0, to: 7_200_000 }, sources))!;
  return Block.open(path, nodeFiles);
}

const bytesOf = (chunks: readonly { readonly bytes: Uint8Array }[]): string[] =>
  chunks.map(({ bytes }) => Buffer.from(bytes).toString('base64'));

test('lent chunks, valid until the next read, have the bytes of kept ones, even across a window’s end', async () => {
  const block = await blockOf(120, 12);
  block.acquire();
  const read: string[][] = [];
  const lent: string[][] = [];
  for (let i = 0; i < 120; i++) read.push(bytesOf(block.readChunks(i, block.index.series(i).chunks)));
  for (let i = 0; i < 120; i++) lent.push(bytesOf(block.lendChunks(i, block.index.series(i).chunks)));
  expect(lent).toEqual(read);
  expect(block.bytes).toBeGreaterThan(3 * 262_144);
  block.release();
  block.retire();
});

test('chunks that were read do not change while others are lent from the same block', async () => {
  const block = await blockOf(120, 12);
  block.acquire();
  const held = block.readChunks(3, block.index.series(3).chunks);
  const before = bytesOf(held);
  for (let i = 0; i < 120; i++) block.lendChunks(i, block.index.series(i).chunks);
  const later = block.readChunks(80, block.index.series(80).chunks);
  const then = bytesOf(later);
  for (let i = 0; i < 120; i++) block.lendChunks(i, block.index.series(i).chunks);
  expect(bytesOf(held)).toEqual(before);
  expect(bytesOf(later)).toEqual(then);
  block.release();
  block.retire();
});
