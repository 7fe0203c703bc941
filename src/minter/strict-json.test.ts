import fc from 'fast-check';
import { isOperatorError } from '../base/errors.ts';
import { members, parseStrictJson } from './strict-json.ts';

const parse = (text: string): unknown => parseStrictJson(Buffer.from(text));

test.each([
  ['a name twice', '{"a":1,"a":2}'],
  ['a name twice, the second time with an escape', '{"a":1,"\\u0061":2}'],
  ['a name twice deep inside', '[{"x":{"a":1,"b":[],"a":2}}]'],
  ['__proto__ twice', '{"__proto__":1,"__proto__":2}'],
  ['an empty name twice', '{"":1,"":2}'],
  ['a byte-order mark', '\ufeff{}'],
  ['bytes after the value', '{}x'],
  ['two values', '{}{}'],
  ['a comment', '{}/**/'],
  ['a trailing comma', '{"a":1,}'],
  ['nothing', ''],
  ['NaN', 'NaN'],
  ['33 levels of nesting', '['.repeat(33) + ']'.repeat(33)],
])('refuses %s', (_sentence, text) => {
  expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'ERR_INPUT_INVALID' }));
});

test('accepts a repeated name in another object, and quotes and braces in strings', () => {
  expect(parse('[{"a":1},{"a":"{\\"a\\":"},{"b":{"a":1},"a":2}]')).toEqual([
    { a: 1 },
    { a: '{"a":' },
    { b: { a: 1 }, a: 2 },
  ]);
});

test('names with a meaning in JavaScript are names like any other', () => {
  expect([...members(parse('{"__proto__":{"x":1},"constructor":2}')).keys()]).toEqual(['__proto__', 'constructor']);
});

/** JSON texts with a piece taken out or put in: about half of them are no longer JSON. */
const nearJson = fc
  .tuple(
    fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
    fc.nat(),
    fc.nat(1),
    fc.constantFrom('', ' ', ',', '"', '{', '}', '1', 'x', '\u0000'),
  )
  .map(([text, at, taken, put]) => {
    const i = at % (text.length + 1);
    return text.slice(0, i) + put + text.slice(i + taken);
  });

test('reads back any JSON value, and refuses anything else with ERR_INPUT_INVALID', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(parse(text))).toBe(text);
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const read = outcomeOf(() => parseStrictJson(bytes));
      if ('error' in read) expect(isOperatorError(read.error, 'ERR_INPUT_INVALID')).toBe(true);
      else expect(read.value).toEqual(JSON.parse(Buffer.from(bytes).toString()));
    }),
  );
  const met = { refused: 0, read: 0 };
  fc.assert(
    fc.property(nearJson, (text) => {
      const [ours, plain] = [outcomeOf(() => parse(text)), outcomeOf(() => JSON.parse(text) as unknown)];
      if ('error' in plain) expect(isOperatorError('error' in ours && ours.error, 'ERR_INPUT_INVALID')).toBe(true);
      else if ('value' in ours) expect(ours.value).toEqual(plain.value);
      met['error' in plain ? 'refused' : 'read']++;
    }),
    { numRuns: 300 },
  );
  expect(Math.min(met.refused, met.read)).toBeGreaterThan(30);
});

function outcomeOf<T>(read: () => T): { value: T } | { error: unknown } {
  try {
    return { value: read() };
  } catch (error) {
    return { error };
  }
}
