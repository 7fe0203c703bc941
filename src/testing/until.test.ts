import { readPatience } from './until.ts';

test('the time limits of waits stay as they are, unless SVC_TEST_PATIENCE stretches them', () => {
  expect(readPatience({})).toBe(1);
  expect(readPatience({ SVC_TEST_PATIENCE: '2.5' })).toBe(2.5);
});

test.each(['', '0', '0.5', 'long', 'Infinity'])('a patience of "%s" is refused', (text) => {
  expect(() => readPatience({ SVC_TEST_PATIENCE: text })).toThrow('SVC_TEST_PATIENCE: must be a number of at least 1');
});
