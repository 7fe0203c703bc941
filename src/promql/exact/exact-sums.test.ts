import { ExactSums, type SumState } from './exact-sums.ts';
import { fromUnits, toDoubles, toUnits } from './units.ts';

const one = new Uint8Array([1]);

/** Does work in one go. */
function finished<T>(work: Generator<number, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** The sum and mean of values, added in one piece or in several that are merged. */
function added(values: readonly number[], pieces = 1): { sum: number; mean: number } {
  const parts = Array.from({ length: pieces }, () => new ExactSums(1));
  values.forEach((value, i) => parts[i % pieces]!.addAll(new Float64Array([value]), one, 1));
  const all = new ExactSums(1);
  for (const part of parts) finished(all.merge(finished(part.toState())));
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

describe('sums that need big integers', () => {
  const steps = 1_000;
  const kinds = new Uint8Array(steps).fill(1);
  const valuesOf = (value: number) => new Float64Array(steps).fill(value);

  /** Adds a value at each step. Returns the pieces of work on big integers in which it was done. */
  function addTo(sums: ExactSums, value: number): number[] {
    const pieces: number[] = [];
    for (let at = 0; at < steps;) {
      at = sums.addAll(valuesOf(value), kinds, 1, at);
      pieces.push(sums.takeWork());
    }
    return pieces;
  }

  /** Sums with a big integer at each step. */
  function bigSums(): ExactSums {
    const sums = new ExactSums(steps);
    for (const value of [1e290, 1.1, 1.7e-300]) addTo(sums, value);
    return sums;
  }

  /** A sum far beyond the largest double. */
  const many = new Array<number>(steps).fill(Number.MAX_VALUE);
  const oneStep = (values: readonly number[]): SumState => ({
    ...finished(new ExactSums(1).toState()),
    rest: [{ step: 0, values }],
  });

  test('are added in small pieces, and their work and memory can be read', () => {
    const sums = new ExactSums(steps);
    expect([...addTo(sums, 1e290), ...addTo(sums, 1.1)]).toEqual([0, 0]);
    expect(sums.extra).toBe(0);
    const pieces = addTo(sums, 1.7e-300);
    expect(pieces.reduce((sum, work) => sum + work)).toBeGreaterThanOrEqual(200 * steps);
    expect(Math.max(...pieces)).toBeLessThan(21_000);
    expect(sums.extra).toBe(19 * steps);
    expect([sums.takeGrowth(), sums.takeGrowth()]).toEqual([19 * steps, 0]);
    expect(sums.takeWork()).toBe(0);
    sums.mean(0);
    expect(sums.takeWork()).toBeGreaterThanOrEqual(500);
  });

  test.each([
    ['their state is made', () => bigSums().toState()],
    ['a state is merged', () => new ExactSums(steps).merge(finished(bigSums().toState()))],
    ['sums are made of a state', () => ExactSums.from(finished(bigSums().toState()))],
    ['a state has many doubles for a step', () => new ExactSums(1).merge(oneStep(many))],
    ['the state of a step with many doubles is made', () => finished(ExactSums.from(oneStep(many))).toState()],
  ])('are cut into small pieces when %s', (_, start) => {
    const pieces = [...start()];
    expect(pieces.reduce((sum, work) => sum + work)).toBeGreaterThanOrEqual(200 * steps);
    expect(Math.max(...pieces)).toBeLessThan(21_000);
  });
});

describe('units of the smallest double', () => {
  test.each([0, 5e-324, -5e-324, 2.2250738585072014e-308, 1, -1 / 3, 1e300, Number.MAX_VALUE])(
    'convert %p back and forth',
    (value) => {
      expect(fromUnits(toUnits(value))).toBe(value);
      expect([...toDoubles(toUnits(value))]).toEqual(value === 0 ? [] : [value]);
    },
  );

  test('round to even at a tie; a total beyond the largest double is Infinity, or several doubles', () => {
    expect(fromUnits(toUnits(1) + toUnits(2 ** -53))).toBe(1);
    expect(fromUnits(toUnits(1) + toUnits(2 ** -53) + 1n)).toBe(1 + 2 ** -52);
    expect(fromUnits(3n * toUnits(Number.MAX_VALUE))).toBe(Infinity);
    expect([...toDoubles(2n * toUnits(Number.MAX_VALUE))]).toEqual([Number.MAX_VALUE, Number.MAX_VALUE]);
  });
});
