import { column, inTurns } from './turns.ts';

test('each run begins with the other side than the run before', async () => {
  const order: string[] = [];
  const side = (name: string) => (run: number) => {
    order.push(`${name}${run}`);
    return Promise.resolve({ ms: run });
  };
  const turns = await inTurns(3, { ours: side('o'), peer: side('p') });
  expect(order).toEqual(['o0', 'p0', 'p1', 'o1', 'o2', 'p2']);
  expect(column(turns, ({ ms }) => 2 * ms)).toEqual({ ours: [0, 2, 4], peer: [0, 2, 4] });
});

test('without a peer, a figure has values of our side only', async () => {
  expect(column(await inTurns(2, { ours: (run) => Promise.resolve(run) }), (n) => n)).toEqual({ ours: [0, 1] });
});
