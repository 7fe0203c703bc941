import fc from 'fast-check';
import { RE2JS } from 're2js';
import { maxPatternCost, patternCost, refuseDearPattern } from './pattern-cost.ts';
import { regexShape } from './regex-shape.ts';

describe('the cost of a regular expression', () => {
  test.each([
    ['a literal costs nothing: it never reaches the engine', 'abc', 0],
    ['alternatives of literals cost nothing', 'abc|def', 0],
    ['in any other pattern a character costs one', 'abc.', 4],
    ['a Unicode class costs more', '\\pL', 81],
    ['a Unicode class within brackets costs even more', '[\\pL]', 305],
    ['a class of Perl costs more', '\\d.', 7],
    ['a class of Perl is read once, however often it is repeated', '\\d{10}', 215],
    ['the digits of a character in hexadecimal are no count', '.\\x{2014}', 2],
    ['a repetition costs more', 'a+', 21],
    ['a counted repetition multiplies', 'a{10}', 210],
    ['a nested counted repetition multiplies again', '(?:a{10}){10}', 2320],
    ['a brace that begins no count is a character', 'a{x}', 4],
    ['a closing bracket that comes first in a class is a member of it', '[]a]', 7],
    ['a range costs as much as its characters', '[a-z]', 8],
    ['a hyphen that comes last is a member', '[a-]', 7],
    ['a bracket that ends a range begins no name', '[A-[:]:]]', 12],
    ['a range that is read to ignore case costs more', '(?i)[a-z]', 14],
    ['a range of characters beyond those with a case does not', '(?i)[ -/\u{1E944}-\u{10FFFF}]', 15],
    ['a range of all characters does not', '(?i)[\\x00-\\x{10FFFF}]', 12],
    ['a range is read once, however often it is repeated', '(?i)[\u4E00-\u9FFF]{2}', 1372],
    ['the characters of each kind of range are counted', '(?i)[^\\x41-\\x{C0}\\101-\\300\\t-\\xC0\\!-À]', 53],
    ['a group without a flag i ignores no case', '(?-i)[\u4E00-\u9FFF]', 13],
    ['a named class costs more than a character', '[[:alpha:]x]', 11],
    ['quoted characters cost one each', '\\Q[(\\E.', 3],
    ['a repetition after a quotation applies to the last quoted character', '\\Qab\\E{10}', 211],
    ['a quotation may end with the pattern', '.\\Q((', 3],
  ])('%s', (_, pattern, cost) => {
    expect(patternCost(pattern).compile).toBe(cost);
  });

  test.each([
    ['a range whose case is ignored', '(?i)[\u4E00-\u9FFF]', 1_324, 12],
    ['a class of Perl', '\\d.', 7, 2],
  ])('%s is read once: a match does not pay for it', (_, pattern, compile, match) => {
    expect(patternCost(pattern)).toEqual({ compile, match });
  });

  test('the patterns of everyday queries are far below the limit', () => {
    const pods = Array.from({ length: 500 }, (_, i) => `checkout-7f9c4d5b6-${i}\\.shop`).join('|');
    for (const pattern of [
      pods,
      '5..|4\\d\\d',
      '(?i).*timeout.*',
      '[a-z]([-a-z0-9]{0,61}[a-z0-9])?',
      '(?i)[a-zà-ÿ一-龥]{2,40}\\d+',
    ]) {
      expect(refuseDearPattern(pattern)).toBeNull();
    }
  });

  test.each([
    ['Unicode classes in a row', '\\pL'.repeat(13_000)],
    ['Unicode classes within brackets', `[${'\\pL'.repeat(1_000)}]`],
    ['counted repetitions in a row', '(?:.?){690}'.repeat(10)],
    ['counted repetitions after a quoted bracket', `\\Q[\\E${'(?:.?){690}'.repeat(10)}`],
    ['three megabytes of anything', `.*${'a'.repeat(3_000_000)}`],
    ['wide ranges whose case is ignored', `(?i)[${'B-\u{1E942}'.repeat(80)}]`],
    ['wide ranges whose case is ignored within a group', `(?ms-U:a)(?si-m:${'[^!-\u{1E942}]'.repeat(3)})`],
    ['wide ranges in hexadecimal', `(?i)[${'\\x42-\\x{1e942}'.repeat(3)}]`],
    ['wide ranges from an octal number', `(?i)[${'\\102-\u{1E942}'.repeat(3)}]`],
    ['wide ranges from a closing bracket that comes first', `(?i)${'[]-\u{1E942}]'.repeat(3)}`],
    ['wide ranges after Unicode classes', `(?i)[${'\\p{L}--\u{1E942}'.repeat(3)}]`],
    ['ranges whose ends cannot be read', `(?i)[${'\\y-z'.repeat(3)}]`],
    ['repetitions behind a bracket that ends a range', `[A-[:]${'(?:.?){690}'.repeat(10)}:]]`],
    ['repetitions of what is before flags', `(?:${'.'.repeat(4000)})(?s){300}`],
    ['classes whose names have no end', '[[:a]'.repeat(400_000)],
    ['a class of names without an end', `[${'[:'.repeat(1_000_000)}`],
  ])('%s are refused, and the refusal names cost and limit', (_, pattern) => {
    expect(refuseDearPattern(pattern)).toMatch(new RegExp(`cost \\d+, at most ${maxPatternCost}$`));
  });

  test('no pattern compiles to a larger program than its cost says', () => {
    const piece = fc.constantFrom(
      ...['(', '(?:', '(?i)', ')', '[', '[^', ']', '[:alpha:]', '\\Q', '\\E', '\\pL', '\\d', '\\x{41}', '\\]', '\\['],
      ...['\\x{1e942}', '\\101', '\u{1E942}', 'A-', 'A-[', '(?-s)', `(?:${'.'.repeat(30)})`, '\\p{Lu}', '\\W'],
      ...['{9}', '{2,}', '{0,30}', '?', '*', '+', '|', '.', '^', '$', 'a', 'b', ':', '-', '{', '}', ','],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const pattern = pieces.join('');
        if (regexShape(pattern).kind !== 'other') return;
        let size: number;
        try {
          size = RE2JS.compile(pattern).programSize();
        } catch {
          return;
        }
        // Start, end and match are in every program, and an empty group is an instruction that costs nothing.
        expect(size).toBeLessThanOrEqual(patternCost(pattern).match + pattern.length + 3);
      }),
      { numRuns: 2_000 },
    );
  });

  test('the cost of any text can be computed, even of an invalid pattern', () => {
    for (const text of ['(((', ')))', '[', '[^', '\\', '{5}', 'a{5', '*', '[[:', '[\\']) {
      expect(patternCost(text).match).toBeGreaterThan(0);
    }
    const piece = fc.constantFrom('(', ')', '[', ']', '^', '\\', 'p', '{', '}', '9', ',', '*', '|', ':', 'a', '(?');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        expect(patternCost(text).match).toBeGreaterThanOrEqual(regexShape(text).kind === 'other' ? 1 : 0);
      }),
    );
  });

  test('the most expensive allowed patterns compile and match a label within 0.4 s of CPU time', () => {
    const patterns = ['\\pL'.repeat(245), `[${'\\pL'.repeat(65)}]`, '(?:.?){460}', '[a-z]'.repeat(2_400)];
    for (const pattern of patterns) {
      expect(refuseDearPattern(pattern)).toBeNull();
      expect(patternCost(pattern).compile).toBeGreaterThan(0.95 * maxPatternCost);
      const before = process.cpuUsage();
      RE2JS.compile(pattern).testExact('a'.repeat(256));
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1000).toBeLessThan(400);
    }
  });
});
