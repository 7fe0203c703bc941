import fc from 'fast-check';
import {
  compareLabels,
  compareUtf8,
  labelsFromObject,
  labelsFromPairs,
  labelsKey,
  labelsToObject,
  withExternalLabels,
} from './index.ts';
import { assertLabels, type Labels } from './labels.ts';

test('texts are ordered by their UTF-8 bytes, also above U+FFFF', () => {
  expect(['\u{1F600}', '\uFFFD', 'z', 'é'].sort(compareUtf8)).toEqual(['z', 'é', '\uFFFD', '\u{1F600}']);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (a, b) => {
      expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

test('labels are sorted, and empty values are left out', () => {
  const labels = labelsFromPairs([
    ['b', '1'],
    ['__name__', 'up'],
    ['a', ''],
    ['B', '2'],
    ['b', '3'],
  ]);
  expect(labels).toEqual([
    ['B', '2'],
    ['__name__', 'up'],
    ['b', '3'],
  ]);
  expect(labelsToObject(labels)).toEqual({ B: '2', __name__: 'up', b: '3' });
});

test('keys are equal for equal labels and for no others', () => {
  // Few characters, among them some that a key could use as separators.
  const character = fc.constantFrom('a', '\x00', '\x01', '\x1f', '\xff', '"', ',', '=');
  const text = fc.string({ unit: character, minLength: 1, maxLength: 3 });
  const pairs = fc.array(fc.tuple(text, text), { maxLength: 3 });
  const outcomes = [0, 0];
  fc.assert(
    fc.property(pairs, fc.oneof(pairs, fc.constant(null)), (a, other) => {
      const x = labelsFromPairs(a);
      const y = labelsFromPairs(other ?? a.toReversed());
      const isEqual = JSON.stringify(x) === JSON.stringify(y);
      outcomes[Number(isEqual)]!++;
      expect(labelsKey(x) === labelsKey(y)).toBe(isEqual);
      expect(compareLabels(x, y) === 0).toBe(isEqual);
    }),
    { numRuns: 500 },
  );
  expect(Math.min(...outcomes)).toBeGreaterThan(50);
  // Two labels have another key than one label whose value contains the text of the second label.
  const glue = fc.constantFrom('', '\x00', '\x01', '\x1f', '\xff', '"', ',', '=', ':', '1:');
  fc.assert(
    fc.property(text, text, text, glue, glue, (a, b, c, between, within) => {
      const two = labelsFromPairs([
        ['a', a],
        ['b', c],
      ]);
      expect(labelsKey(labelsFromPairs([['a', `${a}${between}b${within}${c}`]]))).not.toBe(labelsKey(two));
      expect(labelsKey(labelsFromPairs([['a', `${b}${a}`]]))).not.toBe(labelsKey(labelsFromPairs([[`a${b}`, a]])));
    }),
    { numRuns: 2_000 },
  );
});

test('external labels are added where a series lacks them, and never replace its own labels', () => {
  const external = labelsFromObject({ node: 'n1', region: 'r' });
  const own = labelsFromObject({ a: '1', node: 'mine' });
  expect(labelsToObject(withExternalLabels(own, external))).toEqual({ a: '1', node: 'mine', region: 'r' });
  const whole = labelsFromObject({ node: 'x', region: 'y' });
  expect(withExternalLabels(whole, external)).toBe(whole);
});

test('whether labels are refused does not depend on which of their pairs were checked before in another series', () => {
  const pool: Labels = [...'abcdef'].map((name) => [name, '1'] as const);
  const valid = fc.subarray([...pool]);
  // Pairs of the pool in any order, repeated, or replaced by invalid ones.
  const strange = fc.constantFrom(['b', '2'] as const, ['d', ''] as const, ['', 'x'] as const);
  const any = fc.oneof(valid, fc.array(fc.oneof(fc.constantFrom(...pool), strange), { maxLength: 6 }));
  const isRefused = (labels: Labels, checked: Labels): boolean => {
    try {
      assertLabels(labels, checked);
      return false;
    } catch {
      return true;
    }
  };
  const outcomes = [0, 0];
  fc.assert(
    fc.property(any, valid, (labels, checked) => {
      const refused = isRefused(labels, []);
      outcomes[Number(refused)]!++;
      expect(isRefused(labels, checked)).toBe(refused);
    }),
    { numRuns: 1_000 },
  );
  expect(Math.min(...outcomes)).toBeGreaterThan(50);
});
