import { askEarly, questionOf, takeEarly } from './early.ts';

const held = { sessionStorage: { getItem: () => 'of-ann' }, fetch: () => Promise.reject(new Error('no network')) };
const before = { sessionStorage: globalThis.sessionStorage, fetch: globalThis.fetch };
beforeAll(() => Object.assign(globalThis, held));
afterAll(() => Object.assign(globalThis, before));

test('a request sent before the page has its code is taken over once, by an equal request with the same token', async () => {
  const path = questionOf('services', { window: '5m' });
  askEarly(path);
  expect(takeEarly(questionOf('services', { window: '1h' }), 'of-ann')).toBeUndefined();
  expect(takeEarly(path, 'of-bob')).toBeUndefined();
  await expect(takeEarly(path, 'of-ann')!.response).rejects.toThrow('no network');
  expect(takeEarly(path, 'of-ann')).toBeUndefined();
});
