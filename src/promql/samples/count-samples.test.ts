import { parse } from '../parser/parser.ts';
import { countSamples } from './count-samples.ts';

/** The expressions that a query is counted by, with their steps, and what comes of it when each gives `value` a step. */
async function counted(
  query: string,
  span: { start: number; end: number; step: number },
  value: number | ((text: string) => number) = 1,
) {
  const asked: string[] = [];
  const step = Math.max(1, span.step);
  const frame = { start: span.start, step, count: Math.floor((span.end - span.start) / step) + 1 };
  const counts = await countSamples(
    parse(query, { experimentalFunctions: true }),
    span,
    frame,
    async (text, { start, step, count }) => {
      asked.push(`${text} from ${start} by ${step} × ${count}`);
      return new Float64Array(count).fill(typeof value === 'number' ? value : value(text));
    },
  );
  return { asked, queryable: [...counts.queryable], read: [...counts.read] };
}

const instant = { start: 600_000, end: 600_000, step: 0 };
const range = { start: 600_000, end: 720_000, step: 60_000 };

test('a selector counts its series at each step, each selector of a query once for the same steps', async () => {
  expect(await counted('sum(a{b="c"} offset 5m) / sum(a{b="c"} offset 5m) + 1', range)).toEqual({
    asked: ['count(a{b="c"} offset 5m) from 600000 by 60000 × 3'],
    queryable: [2, 2, 2],
    read: [2, 2, 2],
  });
});

test('a window counts whole at each step, and as read only by what it has over the one before', async () => {
  const { asked, queryable, read } = await counted('rate(a[5m])', range, (text) => (text.includes('[5m]') ? 10 : 2));
  expect(asked).toEqual([
    'sum(count_over_time(a[5m])) from 600000 by 60000 × 3',
    'sum(count_over_time(a[1m])) from 600000 by 60000 × 3',
  ]);
  expect([queryable, read]).toEqual([
    [10, 10, 10],
    [10, 2, 2],
  ]);
  expect((await counted('rate(a[1m])', range)).asked).toHaveLength(1);
});

test('what is the same at every step counts at each, and is read at the first', async () => {
  expect(await counted('rate(a[5m] @ 100) + a @ end()', range, 4)).toEqual({
    asked: [
      'sum(count_over_time(a[5m] @ 100.000)) from 600000 by 60000 × 1',
      'count(a @ 720.000) from 600000 by 60000 × 1',
    ],
    queryable: [8, 8, 8],
    read: [8, 0, 0],
  });
});

test('a subquery counts by its points, and as read by what lies below it', async () => {
  expect(await counted('max_over_time(rate(a[2m])[5m:1m])', instant, 3)).toEqual({
    asked: [
      'sum(count_over_time(rate(a[2m])[5m:1m])) from 600000 by 1 × 1',
      'sum(count_over_time(a[2m])) from 360000 by 60000 × 5',
      'sum(count_over_time(a[1m])) from 360000 by 60000 × 5',
    ],
    queryable: [3],
    read: [15],
  });
});

test('a subquery that is the answer counts all below it', async () => {
  expect(await counted('a[5m:1m]', instant, 2)).toMatchObject({ queryable: [10], read: [10] });
});

test('info() counts by its first argument, and numbers do not count', async () => {
  const { asked, queryable } = await counted('vector(1) + time()', range);
  expect([asked, queryable]).toEqual([[], [0, 0, 0]]);
  expect(await counted('info(a, {b="c"}) + 1', range, 3)).toEqual({
    asked: ['count(a) from 600000 by 60000 × 3'],
    queryable: [3, 3, 3],
    read: [3, 3, 3],
  });
});
