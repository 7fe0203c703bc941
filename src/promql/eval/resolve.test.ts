import { parse } from '../parser/parser.ts';
import { print } from '../parser/printer.ts';
import { resolve } from './resolve.ts';

const features = { experimentalFunctions: true };
const spans = [
  { start: 1_000_000, end: 1_600_000, step: 60_000 },
  { start: 2_000_000, end: 2_300_000, step: 30_000 },
] as const;

test.each([
  ['x @ start()', ['x @ 1000.000', 'x @ 2000.000']],
  ['x[5m:1m] @ end()', ['x[5m:1m] @ 1600.000', 'x[5m:1m] @ 2300.000']],
  ['rate(x[step()])', ['rate(x[1m])', 'rate(x[30s])']],
  ['x offset (range()/2)', ['x offset 5m', 'x offset 2m30s']],
  ['x > start()', ['x > 1000', 'x > 2000']],
  ['max_over_time(x[5m:])', ['max_over_time(x[5m:1m])', 'max_over_time(x[5m:30s])']],
])('%s is resolved again for each time range', (query, expected) => {
  const tree = parse(query, features);
  const twice = [...spans, ...spans].map((span) => print(resolve(tree, span, query, () => span.step)));
  expect(twice).toEqual([...expected, ...expected]);
});

test('an expression that does not depend on the time range is resolved once per tree', () => {
  const tree = parse('sum by (a) (rate(x[5m] @ 10 offset 1m)) / max_over_time(y[1h:1m])');
  const [first, second] = spans.map((span) => resolve(tree, span, '', () => span.step));
  expect(second).toBe(first);
  expect(resolve(parse('x'), spans[0], 'x', () => 1)).not.toBe(resolve(parse('x'), spans[0], 'x', () => 1));
});
