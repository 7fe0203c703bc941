import { matchesLabels, parseLabelSelector, toMatchers } from './label-selector.ts';

const labels = { app: 'web', 'app.kubernetes.io/name': 'shop', tier: 'front' };

test.each<[string, boolean]>([
  ['', true],
  ['app=web', true],
  ['app==web,tier=front', true],
  ['app!=web', false],
  ['missing!=web', true],
  ['app in (api, web)', true],
  ['app notin (api,web),tier', false],
  ['!app', false],
  ['!missing , app.kubernetes.io/name=shop', true],
])('the selector %p matches the labels of a pod: %p', (selector, matches) => {
  expect(matchesLabels(parseLabelSelector(selector, 'labelSelector'), labels)).toBe(matches);
});

test('the terms of a selector become matchers on series', () => {
  expect(toMatchers(parseLabelSelector('a=b,c!=d,e in (f.g,h),i,!j', 's'))).toEqual([
    { type: '=', name: 'a', value: 'b' },
    { type: '!=', name: 'c', value: 'd' },
    { type: '=~', name: 'e', value: 'f\\.g|h' },
    { type: '!=', name: 'i', value: '' },
    { type: '=', name: 'j', value: '' },
  ]);
});

test.each(['=', 'a in b', 'a=b=c', 'a b'])('the selector %p is refused; the error names the parameter', (selector) => {
  expect(() => parseLabelSelector(selector, 'labelSelector')).toThrow(/labelSelector/);
});
