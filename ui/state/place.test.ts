import { addressOf, placeOf, views, withParams } from './place.ts';

const at = (address: string): { view: string; params: Record<string, string> } => {
  const { view, params } = placeOf(new URL(address, 'https://x/svc/'));
  return { view, params: Object.fromEntries(params) };
};

test.each(views)('the address of %s restores it, below a prefix too', (view) => {
  const params = { ns: 'shop', name: 'a&b=c "d"' };
  expect(at(addressOf(view, params))).toEqual({ view, params });
});

test('without a view the page begins with the services, or with the query that the address carries', () => {
  expect(at('').view).toBe('services');
  expect(at('?g0.expr=up').view).toBe('graph');
  expect(at('nonsense').view).toBe('services');
});

test('empty parameters are left out of an address', () => {
  expect(addressOf('map', { window: '', ns: undefined })).toBe('map');
});

test('changed parameters leave the given ones as they are', () => {
  const before = new URLSearchParams('a=1&b=2');
  expect(withParams(before, { a: undefined, b: '3', c: '' }).toString()).toBe('b=3');
  expect(before.toString()).toBe('a=1&b=2');
});
