import { ExactSums } from './exact-sums.ts';
import { fromUnits, toDoubles, toUnits } from './units.ts';

const one = new Uint8Array([1]);

/** The sum and mean of values, added in one piece or in several that are merged. */
function added(values: readonly number[], pieces = 1): { sum: number; mean: number } {
  const parts = Array.from({ length: pieces }, () => new ExactSums(1));
  values.forEach((value, i) => parts[i % pieces]!.addAll(new Float64Array([value]), one, 1));
  const all = new ExactSums(1);
  for (const part of parts) all.merge(part.toState());
  return { sum: all.sum(0), mean: all.mean(0) };
}

describe('an exact sum', () => {
  test.each([
    ['rounds once', [0.1, 0.2, 0.3], 0.6, 0.6 / 3],
    ['keeps what cancellation leaves', [1e100, 1, -1e100, 1], 2, 0.5],
    ['keeps three magnitudes apart', [1e300, 1e100, 1, -1e300, -1e100], 1, 0.2],
    ['survives an intermediate overflow', [1.7e308, 1.7e308, -1.7e308], 1.7e308, 1.7e308 / 3],
    ['is infinite when the total overflows, though the mean is not', [1.7e308, 1.7e308], Infinity, 1.7e308],
    ['is NaN when a value is NaN', [1, NaN], NaN, NaN],
    ['is infinite when a value is infinite', [1, Infinity, -1e308], Infinity, Infinity],
    ['is NaN for opposite infinities', [Infinity, -Infinity], NaN, NaN],
    ['keeps the smallest doubles', [5e-324, 5e-324, 1, -1], 1e-323, 0],
  ])('%s, in any number of pieces', (_, values, sum, mean) => {
    for (const pieces of [1, 2, 3]) expect(added(values, pieces)).toEqual({ sum, mean });
    expect(added([...values].reverse(), 2)).toEqual({ sum, mean });
  });

  test('is the same for every order and split of numbers of any magnitude', () => {
    let state = 1;
    const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    for (let run = 0; run < 200; run++) {
      const values = Array.from({ length: 30 }, () => (random() - 0.5) * 10 ** Math.floor(random() * 40 - 20));
      const exact = fromUnits(values.reduce((total, value) => total + toUnits(value), 0n));
      expect(added(values).sum).toBe(exact);
      const shuffled = [...values].sort(() => random() - 0.5);
      expect(added(shuffled, 1 + (run % 7))).toEqual(added(values));
    }
  });
});

describe('units of the smallest double', () => {
  test.each([0, 5e-324, -5e-324, 2.2250738585072014e-308, 1, -1 / 3, 1e300, Number.MAX_VALUE])(
    'convert %p back and forth',
    (value) => {
      expect(fromUnits(toUnits(value))).toBe(value);
      expect(toDoubles(toUnits(value))).toEqual(value === 0 ? [] : [value]);
    },
  );

  test('round to even at a tie; a total beyond the largest double is Infinity, or several doubles', () => {
    expect(fromUnits(toUnits(1) + toUnits(2 ** -53))).toBe(1);
    expect(fromUnits(toUnits(1) + toUnits(2 ** -53) + 1n)).toBe(1 + 2 ** -52);
    expect(fromUnits(3n * toUnits(Number.MAX_VALUE))).toBe(Infinity);
    expect(toDoubles(2n * toUnits(Number.MAX_VALUE))).toEqual([Number.MAX_VALUE, Number.MAX_VALUE]);
  });
});
