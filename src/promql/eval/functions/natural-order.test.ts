import fc from 'fast-check';
import { compareStrings } from '../../labels.ts';
import { naturallyBefore } from './natural-order.ts';

const chunksOf = (text: string): string[] => text.match(/\d+|\D+/g) ?? [];

function numberOf(chunk: string): bigint | null {
  const isNumber = /^\d+$/.test(chunk) && BigInt(chunk) < 2n ** 63n;
  return isNumber ? BigInt(chunk) : null;
}

/** The definition, chunk by chunk. */
function before(a: string, b: string): boolean {
  const [left, right] = [chunksOf(a), chunksOf(b)];
  let longer = 0;
  for (const [i, x] of left.entries()) {
    const y = right[i];
    if (y === undefined) return false;
    const [m, n] = [numberOf(x), numberOf(y)];
    if (x !== y && (m === null || n === null)) return compareStrings(x, y) < 0;
    if (m !== n) return m! < n!;
    longer ||= x.length - y.length;
  }
  return left.length === right.length ? longer > 0 : true;
}

test('texts are in the order of their chunks, numbers by value', () => {
  const chunk = fc.constantFrom('', '0', '00', '1', '01', '10', '9'.repeat(18), `${2n ** 63n}`, 'a', 'ab', '￿', '😀');
  const text = fc.array(chunk, { maxLength: 6 }).map((chunks) => chunks.join(''));
  fc.assert(
    fc.property(text, text, (a, b) => {
      fc.pre(a !== b);
      expect([a, b, naturallyBefore(a, b)]).toEqual([a, b, before(a, b)]);
    }),
    { numRuns: 20_000, seed: 7 },
  );
});
