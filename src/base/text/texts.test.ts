import fc from 'fast-check';
import { anyText } from '../../testing/any-text.ts';
import { commonLengths, cutToBytes, cutToUnits } from './texts.ts';

test.each([
  ['a text that fits', 'a\u{1f600}', 3, 'a\u{1f600}'],
  ['a character that does not fit as a whole', 'a\u{1f600}b', 2, 'a'],
  ['a character that just fits', 'a\u{1f600}b', 3, 'a\u{1f600}'],
  ['nothing', '\u{1f600}', 0, ''],
  ['the first half of a character', 'a\ud83db', 2, 'a\ufffd'],
  ['the second half of a character', '\ude00\ude00', 1, '\ufffd'],
])('cutToUnits cuts to whole characters: %s', (_what, text, max, expected) => {
  expect(cutToUnits(text, max)).toBe(expected);
});

test('a cut text is the beginning of the text, and lacks less than one more character of the limit', () => {
  fc.assert(
    fc.property(anyText(), fc.nat(12), (text, max) => {
      const whole = text.toWellFormed();
      const [units, bytes] = [cutToUnits(whole, max), cutToBytes(whole, max)];
      const nextOf = (cut: string): string => String.fromCodePoint(whole.codePointAt(cut.length) ?? 0);
      expect([whole.startsWith(units), whole.startsWith(bytes)]).toEqual([true, true]);
      expect([units.isWellFormed(), bytes.isWellFormed()]).toEqual([true, true]);
      expect(units.length <= max && Buffer.byteLength(bytes) <= max).toBe(true);
      expect(units === whole || units.length + nextOf(units).length > max).toBe(true);
      expect(bytes === whole || Buffer.byteLength(bytes + nextOf(bytes)) > max).toBe(true);
    }),
  );
});

test('commonLengths says for each index of a text how much of the other one stands there', () => {
  const lengthAt = (part: string, text: string, at: number): number => {
    let length = 0;
    while (length < part.length && part[length] === text[at + length]) length++;
    return length;
  };
  const repetitive = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 20 });
  fc.assert(
    fc.property(repetitive, repetitive, (part, text) => {
      expect([...commonLengths(part, text)]).toEqual([...text].map((_, at) => lengthAt(part, text, at)));
    }),
  );
});
