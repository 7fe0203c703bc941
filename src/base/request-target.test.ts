import fc from 'fast-check';
import { anyText } from '../testing/any-text.ts';
import { originForm, requestTarget } from './request-target.ts';

test.each<[string, string | undefined]>([
  ['/', '/'],
  ['//', '//'],
  ['//host/path', '//host/path'],
  ['/a/../b?x=%', '/a/../b?x=%'],
  ['*', '*'],
  ['http://host', '/'],
  ['HTTPS://host:9095/api/v1/query?query=up', '/api/v1/query?query=up'],
  ['http://host?x=1', '/?x=1'],
  ['http://', undefined],
  ['host:443', undefined],
  ['javascript:alert(1)', undefined],
  ['/a#b', undefined],
  ['', undefined],
])('the origin form of %j is %j', (target, origin) => {
  expect(originForm(target)).toBe(origin);
});

test('a target is split without decoding its path', () => {
  const { path, search, params } = requestTarget({ url: '/a%2Fb?query=up%7B%7D&query=2' });
  expect([path, search, params.getAll('query')]).toEqual(['/a%2Fb', '?query=up%7B%7D&query=2', ['up{}', '2']]);
});

test('requestTarget never throws, whatever the target', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('', '/', 'http://', 'https://host', 'http://host?', '/?', '/a?b=%', '//'),
      anyText(),
      (start, rest) => {
        const target = requestTarget({ url: start + rest });
        expect(target.path === '*' || target.path.startsWith('/')).toBe(true);
        expect(target.path + target.search).toBe(originForm(start + rest) ?? '*');
        expect([...target.params]).toEqual([...new URLSearchParams(target.search)]);
      },
    ),
  );
});
