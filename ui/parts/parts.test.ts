import { levelOf } from './level.ts';
import { orderOf, orderText, sorted } from './sort.ts';
import { sparkPath } from './spark-path.ts';

test('rows without a value come last in both directions, and equal rows keep their order', () => {
  const rows = [
    { id: 'a', v: 1 },
    { id: 'b', v: null },
    { id: 'c', v: 3 },
    { id: 'd', v: 1 },
  ];
  const ids = (down: boolean): string =>
    sorted(rows, ({ v }) => v, down)
      .map(({ id }) => id)
      .join('');
  expect([ids(false), ids(true)]).toEqual(['adcb', 'cadb']);
});

test('a sort order that was written to a URL is read back', () => {
  const orders = [
    { key: 'rate', down: true },
    { key: 'name', down: false },
  ];
  expect(orders.map((order) => orderOf(orderText(order), orders[0]!))).toEqual(orders);
  expect(orderOf(null, orders[0]!)).toBe(orders[0]);
});

test('a missing point is a gap in a sparkline and in the area below it, and a single point is a dot', () => {
  const { line, area } = sparkPath([0, 2, null, 1], 30, 10);
  expect(line).toBe('M0.0 8.0L10.0 2.0M30.0 5.0h0');
  expect(area.match(/Z/g)).toHaveLength(2);
  expect(sparkPath([null, null], 30, 10).line).toBe('');
});

test('without requests the level of errors is none, and a few failures are a warning and not yet bad', () => {
  expect([levelOf(null), levelOf(0), levelOf(0.001), levelOf(0.05)]).toEqual(['none', 'good', 'warn', 'bad']);
});
