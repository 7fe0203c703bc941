import fc from 'fast-check';
import { formatFloatG, formatOpenMetricsFloat } from './format.ts';
import {
  CompensatedSum,
  almostEqual,
  goMax,
  goMin,
  power,
  quantile,
  quantileOfSorted,
  sortNumbers,
} from './numbers.ts';
import { formatFloatPlain } from './parser/printer.ts';

/** The exact sum of doubles, rounded once. Each double is n · 2^-1074 with an integer n; these integers are added. */
function exactSum(values: readonly number[]): number {
  let total = 0n;
  for (const value of values) {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value);
    const bits = view.getBigUint64(0);
    const exponent = Number((bits >> 52n) & 0x7ffn);
    const fraction = bits & 0xfffffffffffffn;
    const magnitude = exponent === 0 ? fraction : (fraction | (1n << 52n)) << BigInt(exponent - 1);
    total += value < 0 ? -magnitude : magnitude;
  }
  const size = (total < 0n ? -total : total).toString(2).length;
  const shift = BigInt(Math.max(0, size - 900));
  return Number(total >> shift) * 2 ** -537 * 2 ** (Number(shift) - 537);
}

describe('numbers', () => {
  test('powers of one are one, where JS gives NaN', () => {
    expect([power(1, NaN), power(1, Infinity), power(-1, -Infinity), power(2, 3)]).toEqual([1, 1, 1, 8]);
  });

  test('goMax of +Inf and NaN is +Inf, goMin of −Inf and NaN is −Inf, and NaN wins over other numbers', () => {
    expect([goMax(Infinity, NaN), goMin(NaN, -Infinity), goMax(1, NaN)]).toEqual([Infinity, -Infinity, NaN]);
  });

  test('a quantile is the weighted mean of the two values next to it', () => {
    const q = (p: number, ...values: number[]): number => quantile(p, Float64Array.from(values));
    expect([q(0.5, 3, 1, 2), q(0.25, 1, 2), q(-1, 1), q(2, 1), q(NaN, 1), q(0.5)]).toEqual([
      2,
      1.25,
      -Infinity,
      Infinity,
      NaN,
      NaN,
    ]);
    expect(q(0, NaN, 5)).toBeNaN();
    expect(q(1, NaN, 5)).toBe(5);
  });

  test('no order of values makes a quantile slow', () => {
    // In this order, every pivot that `select` takes is the smallest of the values that are left.
    const length = 12_000;
    const places = Uint32Array.from({ length }, (_, i) => i);
    const values = new Float64Array(length);
    for (let low = 0, seed = 0x2545f491; low < length; low++) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      const pivot = low + (seed % (length - low));
      values[places[pivot]!] = low;
      places[pivot] = places[low]!;
    }
    let reads = 0;
    const counted = new Proxy(values, {
      get(array, key) {
        const value: unknown = Reflect.get(array, key, array);
        if (typeof key === 'string' && /^\d/.test(key)) reads++;
        return typeof value === 'function' ? value.bind(array) : value;
      },
    });
    expect(quantile(1, counted)).toBe(length - 1);
    expect(reads).toBeLessThan(20 * length);
  });

  test('a quantile of many values is that of the sorted ones, whatever their order', () => {
    const value = fc.oneof(fc.double(), fc.constantFrom(0, -0, NaN, 1, Infinity, -Infinity));
    const many = fc.array(value, { minLength: 10_001, maxLength: 10_050, size: 'max' });
    fc.assert(
      fc.property(many, fc.double({ min: 0, max: 1, noNaN: true }), (values, q) => {
        const sorted = sortNumbers(Float64Array.from(values));
        expect(quantile(q, Float64Array.from(values))).toBe(quantileOfSorted(q, sorted));
      }),
      { numRuns: 10 },
    );
  });

  test('a compensated sum is the exact sum to the last digits', () => {
    const value = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 });
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 50 }), (values) => {
        const sum = new CompensatedSum();
        for (const v of values) sum.add(v);
        const magnitude = values.reduce((total, v) => total + Math.abs(v), 0);
        expect(Math.abs(sum.sum + sum.compensation - exactSum(values))).toBeLessThanOrEqual(
          magnitude * 2 ** -80 + Math.abs(exactSum(values)) * 2 ** -51,
        );
      }),
      { numRuns: 500, seed: 13 },
    );
    const cancelling = new CompensatedSum();
    for (const v of [1, 1e100, 1, -1e100]) cancelling.add(v);
    expect(cancelling.sum + cancelling.compensation).toBe(2);
  });

  test('almostEqual compares relative differences, and NaN equals NaN', () => {
    expect([
      almostEqual(1, 1 + 1e-9, 1e-6),
      almostEqual(1, 1.1, 1e-6),
      almostEqual(NaN, NaN, 0),
      almostEqual(0, 1e-12, 1e-6),
    ]).toEqual([true, false, true, false]);
  });

  test.each([
    [1e6, '1e+06', '1000000'],
    [100_000, '100000', '100000'],
    [0.00001, '1e-05', '0.00001'],
    [1e21, '1e+21', '1000000000000000000000'],
    [-0, '-0', '-0'],
    [1.5, '1.5', '1.5'],
    [Infinity, '+Inf', '+Inf'],
    [NaN, 'NaN', 'NaN'],
  ])('%d is printed as %s in messages and as %s in labels', (value, general, plain) => {
    expect(formatFloatG(value)).toBe(general);
    expect(formatFloatPlain(value)).toBe(plain);
  });

  test('OpenMetrics floats always show that they are floats', () => {
    expect([1, 0.5, 1e9].map(formatOpenMetricsFloat)).toEqual(['1.0', '0.5', '1e+09']);
  });
});
