import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Slab } from './slab.ts';

const pageBytes = 262_144;

/** Steps that allocate a piece of `size`, or free a piece. */
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ size: fc.integer({ min: 1, max: 1_500 }) }) },
    { weight: 1, arbitrary: fc.record({ size: fc.integer({ min: 1, max: 40_000 }) }) },
    { weight: 5, arbitrary: fc.record({ free: fc.nat() }) },
  ),
  { maxLength: 400, size: 'max' },
);

test('pieces keep their bytes whatever else is allocated and freed; when all are freed, one page is left', () => {
  fc.assert(
    fc.property(steps, (history) => {
      const slab = new Slab();
      const pieces: { address: number; size: number; mark: number }[] = [];
      let mark = 0;
      const check = ({ address, size, mark: expected }: (typeof pieces)[number]): void => {
        const bytes = slab.read(address, size);
        expect(bytes.length === size && bytes.every((byte) => byte === expected)).toBe(true);
        slab.free(address, size);
      };
      for (const step of history) {
        if ('size' in step) {
          mark = (mark % 255) + 1;
          const { size } = step;
          const address = slab.alloc(size);
          const from = slab.offset(address);
          slab.page(address).fill(mark, from, from + size);
          pieces.push({ address, size, mark });
        } else if (pieces.length > 0) check(pieces.splice(step.free % pieces.length, 1)[0]!);
      }
      for (const piece of pieces) check(piece);
      expect(slab.bytes).toBeLessThanOrEqual(pageBytes);
    }),
    { numRuns: 200 },
  );
});

test('pieces that all grow at the same time take little more memory than their size', () => {
  const slab = new Slab();
  const pieces = Array.from({ length: 20_000 }, () => slab.alloc(96));
  let size = 96;
  for (; size < 480; size += 64) {
    pieces.forEach((old, i) => {
      const larger = slab.alloc(size + 64);
      slab.copy(old, larger, size);
      slab.free(old, size);
      pieces[i] = larger;
    });
  }
  expect(slab.bytes).toBeLessThan(1.05 * pieces.length * size);
});

test('pages without a piece are released, except one', () => {
  const slab = new Slab();
  const pieces = Array.from({ length: 3_000 }, () => slab.alloc(1_000));
  expect(slab.bytes).toBeGreaterThan(10 * pageBytes);

  for (const piece of pieces) slab.free(piece, 1_000);
  expect(slab.bytes).toBe(pageBytes);

  slab.alloc(1_000);
  expect(slab.bytes).toBe(pageBytes);
});
