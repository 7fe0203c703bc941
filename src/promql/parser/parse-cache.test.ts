import { ParseError } from '../errors.ts';
import { ParseCache } from './parse-cache.ts';
import { parse } from './parser.ts';

const cache = (): ParseCache => new ParseCache({ experimentalFunctions: true });

test('a recently parsed text gives the same tree again, which equals that of the parser', () => {
  const one = cache();
  const tree = one.parse('sum(rate(x[5m]))');
  expect(tree).toEqual(parse('sum(rate(x[5m]))'));
  expect(one.parse('sum(rate(x[5m]))')).toBe(tree);
});

test('beyond 256 texts the least recently used one is forgotten, and a text in use is not', () => {
  const one = cache();
  const [first, second] = [one.parse('x0'), one.parse('x1')];
  for (let i = 2; i <= 256; i++) {
    one.parse(`x${i}`);
    expect(one.parse('x0')).toBe(first);
  }
  expect(one.parse('x1')).not.toBe(second);
});

test('very long texts are not kept, and neither are errors', () => {
  const one = cache();
  const long = `x == ${'1'.repeat(5000)}`;
  expect(one.parse(long)).not.toBe(one.parse(long));
  for (let i = 0; i < 2; i++) expect(() => one.parse('sum(')).toThrow(ParseError);
});
