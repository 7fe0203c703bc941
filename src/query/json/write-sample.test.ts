import fc from 'fast-check';
import { formatSample } from './format-value.ts';
import { maxSampleBytes, writeSample } from './utf8-text.ts';

const bytes = Buffer.alloc(maxSampleBytes);
const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** The double that lies `distance` steps above a positive value. */
function neighbour(value: number, distance: number): number {
  const double = Float64Array.of(value);
  new BigInt64Array(double.buffer)[0]! += BigInt(distance);
  return double[0]!;
}

const plain = fc.double({ min: 1e-7, max: 1e16, noNaN: true });
const power = fc.integer({ min: -7, max: 16 }).map((exponent) => Number(`1e${exponent}`));
const shapes: [what: string, numbers: fc.Arbitrary<number>][] = [
  ['any number from 1e-7 to 1e16', plain],
  ['any number times a power of ten', fc.tuple(plain, power).map(([value, scale]) => (value / 1e16) * scale)],
  ['a ratio', fc.tuple(fc.nat(), fc.integer({ min: 1, max: 3600 })).map(([a, b]) => a / b)],
  ['a short decimal', fc.tuple(fc.nat(), fc.integer({ min: 0, max: 12 })).map(([a, b]) => a / 10 ** b)],
  [
    'a neighbour of a short decimal',
    fc.tuple(fc.nat(), power, fc.integer({ min: -2, max: 2 })).map(([a, b, c]) => neighbour(a / b, c)),
  ],
  ['a neighbour of a power of ten', fc.tuple(power, fc.integer({ min: -9, max: 9 })).map(([a, b]) => neighbour(a, b))],
  [
    'a neighbour of a power of two',
    fc.tuple(fc.integer({ min: -20, max: 53 }), fc.integer({ min: -3, max: 3 })).map(([a, b]) => neighbour(2 ** a, b)),
  ],
];

test.each(shapes)('%s is written as formatSample writes it', (_, numbers) => {
  fc.assert(
    fc.property(numbers, fc.boolean(), (size, isNegative) => {
      const value = isNegative ? -size : size;
      const end = writeSample(view, 0, value);
      expect(bytes.toString('latin1', 0, end)).toBe(formatSample(value));
    }),
    { numRuns: 3000 },
  );
});
