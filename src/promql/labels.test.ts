import fc from 'fast-check';
import { anyText } from '../testing/any-text.ts';
import {
  compareLabels,
  compareStrings,
  dropMetadata,
  labelsKey,
  mergedLabels,
  partialKey,
  setLabel,
  sortedLabels,
} from './labels.ts';
import type { Label } from './types.ts';

describe('labels', () => {
  test('strings sort by their UTF-8 bytes, also above U+FFFF', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 6 }), anyText({ maxLength: 6 }), (a, b) => {
        expect(Math.sign(compareStrings(a, b))).toBe(Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))));
      }),
      { numRuns: 500, seed: 3 },
    );
    expect(compareStrings('\uffff', '\u{10000}')).toBeLessThan(0);
  });

  test('keys are equal exactly for equal labels, whatever bytes the values hold', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\x00', '\x01', '0', '1', 'é'), maxLength: 4 });
    const labels = fc
      .uniqueArray(fc.tuple(text, text), { selector: ([name]) => name, maxLength: 3 })
      .map((pairs) => sortedLabels(pairs.map(([n, v]): Label => [n, v])));
    fc.assert(
      fc.property(labels, labels, (a, b) => {
        expect(labelsKey(a) === labelsKey(b)).toBe(compareLabels(a, b) === 0);
      }),
      { numRuns: 500, seed: 5 },
    );
  });

  test('keys of long labels are short, and equal exactly for equal labels', () => {
    const base = 'x'.repeat(5_000);
    // Lone surrogates are equal in UTF-8.
    const sets = [`${base}a`, `${base}b`, `${base}\ud800`, `${base}\ud801`].map((value): Label[] => [['a', value]]);
    for (const key of [labelsKey, (labels: Label[]): string => partialKey(labels, () => true)]) {
      expect(new Set(sets.map(key)).size).toBe(sets.length);
      for (const labels of sets) expect(key(labels.map(([name, value]): Label => [name, value]))).toBe(key(labels));
      expect(Math.max(...sets.map((labels) => key(labels).length))).toBeLessThanOrEqual(1_024);
    }
  });

  test('setting a label keeps the order, and an empty value removes the label', () => {
    const labels = sortedLabels([
      ['b', '2'],
      ['a', '1'],
    ]);
    expect(setLabel(labels, 'ab', 'x')).toEqual([
      ['a', '1'],
      ['ab', 'x'],
      ['b', '2'],
    ]);
    expect(setLabel(labels, 'a', '')).toEqual([['b', '2']]);
  });

  test('two lists without a common name are merged in order', () => {
    const labels = fc.uniqueArray(anyText({ maxLength: 3 }), { maxLength: 8 });
    fc.assert(
      fc.property(labels, fc.nat(8), (names, first) => {
        const pairs = names.map((name): Label => [name, 'x']);
        const [a, b] = [sortedLabels(pairs.slice(0, first)), sortedLabels(pairs.slice(first))];
        expect(mergedLabels(a, b)).toEqual(sortedLabels(pairs));
      }),
      { numRuns: 300, seed: 9 },
    );
  });

  test('dropping the name drops type and unit, too', () => {
    const labels = sortedLabels([
      ['__name__', 'x'],
      ['__type__', 'counter'],
      ['__unit__', 'bytes'],
      ['a', '1'],
    ]);
    expect(dropMetadata(labels)).toEqual([['a', '1']]);
  });
});
