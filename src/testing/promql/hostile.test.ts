import { parse } from '../../promql/index.ts';
import { hostileQuestion } from './hostile.ts';
import { Random } from './random.ts';

const questions = (seed: number, count: number) => {
  const random = new Random(seed);
  return Array.from({ length: count }, () => hostileQuestion(random));
};

test('equal seeds give equal queries, and different seeds give different queries', () => {
  expect(questions(7, 50)).toEqual(questions(7, 50));
  expect(questions(8, 50)).not.toEqual(questions(7, 50));
});

test('most queries are valid PromQL, so that they are refused for their cost only', () => {
  const asked = questions(1, 400).flatMap(({ query }) => (query === undefined ? [] : [query]));
  const parsed = asked.filter((query) => {
    try {
      return parse(query) !== undefined;
    } catch {
      return false;
    }
  });
  expect(parsed.length / asked.length).toBeGreaterThan(0.7);
  for (const what of ['label_replace', 'count_values', ':1ms]', '10y', 'group_left', 'topk(1000000', 'or', '=~'])
    expect(asked.some((query) => query.includes(what))).toBe(true);
});
