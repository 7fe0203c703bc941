import { jsonPieces } from './json-pieces.ts';

test.each([
  [[]],
  [{}],
  [[1, 'two', null, { three: [3] }]],
  [
    {
      empty: [],
      nodes: [{ id: 'a' }, { id: 'b', of: undefined }],
      by: 'workload',
      window: { endMs: 1 },
      no: undefined,
    },
  ],
  [{ '"': '\n', list: [[1], []] }],
])('the pieces of %j are its JSON', (value) => {
  expect([...jsonPieces(value)].join('')).toBe(JSON.stringify(value));
});

test('the pieces of a map are those of an object with its entries', () => {
  expect([...jsonPieces(new Map([['a', [1, 2]]]))]).toEqual([...jsonPieces({ a: [1, 2] })]);
});

test('a long list becomes many pieces, none of them longer than an element', () => {
  const edges = Array.from({ length: 1_000 }, (_, id) => ({ id }));
  const pieces = [...jsonPieces({ edges })];
  expect(pieces.length).toBeGreaterThan(1_000);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(20);
});
