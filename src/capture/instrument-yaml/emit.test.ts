import fc from 'fast-check';
import { parse } from 'yaml';
import { anyText } from '../../testing/any-text.ts';
import { emitYaml } from './emit.ts';

test('any well-formed string reads back as a key and as a value, and is written in ASCII', () => {
  const text = anyText({ maxLength: 30 }).filter((s) => s.isWellFormed() && s !== '__proto__');
  fc.assert(
    fc.property(text, text, (key, value) => {
      const yaml = emitYaml({ [key]: { list: [value, value], map: [{ [key]: value }], nested: [[value]] } });

      expect(yaml).toMatch(/^[\n\u0020-\u007e]*$/);
      expect(parse(yaml)).toEqual({ [key]: { list: [value, value], map: [{ [key]: value }], nested: [[value]] } });
      expect(parse(yaml, { version: '1.1' })).toEqual(parse(yaml));
    }),
    { numRuns: 150 },
  );
});

test.each(['true', 'no', 'Off', 'null', '~', '0.1', '1e3', '0o7', '2026-01-01', '=', '<<', '-', '.inf', ''])(
  'the string %j stays a string',
  (text) => expect(parse(emitYaml({ a: text }), { version: '1.1' })).toEqual({ a: text }),
);

test('members that are undefined are left out, and maps and lists without members are written as empty', () => {
  expect(emitYaml({ a: undefined, b: { c: undefined }, d: [], e: [{}], f: [{ g: undefined, h: 1 }] })).toBe(
    'b: {}\nd: []\ne:\n  - {}\nf:\n  - h: 1\n',
  );
});

test('half of a surrogate pair and NaN are refused', () => {
  expect(() => emitYaml({ a: '\ud800' })).toThrow(/surrogate/);
  expect(() => emitYaml({ a: Number.NaN })).toThrow(/NaN/);
});
