import { addressOf, placeOf, views, withParams } from './place.ts';

const at = (address: string): { view: string; params: Record<string, string> } => {
  const { view, params } = placeOf(new URL(address, 'https://x/svc/'));
  return { view, params: Object.fromEntries(params) };
};

test.each(views)('the URL of view %s restores the view, even below a prefix', (view) => {
  const params = { ns: 'shop', name: 'a&b=c "d"' };
  expect(at(addressOf(view, params))).toEqual({ view, params });
});

test('without a view the page begins with the services, or with the query in the URL', () => {
  expect(at('').view).toBe('services');
  expect(at('?g0.expr=up').view).toBe('graph');
  expect(at('nonsense').view).toBe('services');
});

test('empty parameters are left out of a URL', () => {
  expect(addressOf('map', { window: '', ns: undefined })).toBe('map');
});

test('the given parameters are copied, not changed', () => {
  const before = new URLSearchParams('a=1&b=2');
  expect(withParams(before, { a: undefined, b: '3', c: '' }).toString()).toBe('b=3');
  expect(before.toString()).toBe('a=1&b=2');
});
