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
  ['constructor', false],
  ['!toString', true],
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

test.each(['=', 'a in b', 'a=b=c', 'a b', 'a in (b,c', 'a,', 'a in ((b),c)'])(
  'the selector %p is refused; the error names the parameter',
  (selector) => {
    expect(() => parseLabelSelector(selector, 'labelSelector')).toThrow(/labelSelector/);
  },
);

test.each([',', '(,', '),', 'a in (b),'])('a selector of very many %p is refused in a moment', (part) => {
  const before = process.threadCpuUsage();
  expect(() => parseLabelSelector(part.repeat(200_000), 'labelSelector')).toThrow(/labelSelector/);
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(1);
});

test.each(['#a', 'a=#!', '!#!', 'a#b', 'a in#(b', 'a in (b#!', 'a#'])(
  'a selector like %p with very many blanks is read in a moment',
  (selector) => {
    const before = process.threadCpuUsage();
    try {
      parseLabelSelector(selector.replace('#', ' '.repeat(64 * 1024)), 'labelSelector');
    } catch (error) {
      expect(String(error)).toMatch(/labelSelector/);
    }
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(0.5);
  },
);

test('a selector may name hundreds of values', () => {
  const values = Array.from({ length: 900 }, (_, i) => `v${i}`);
  const [term] = parseLabelSelector(`app in (${values.join(',')})`, 'labelSelector');
  expect(term?.values).toEqual(values);
  expect(() => parseLabelSelector(`app in (${'v,'.repeat(2_000)}v)`, 'labelSelector')).toThrow(/commas/);
});
