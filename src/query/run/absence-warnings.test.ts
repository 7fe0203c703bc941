import { parse } from '../../promql/index.ts';
import { absenceWarnings } from './absence-warnings.ts';

test.each<[query: string, warnings: RegExp[]]>([
  ['sum(rate(a[5m]))', []],
  ['a / 2', []],
  ['absent(a)', [/^absent\(\) may be true only because/]],
  ['-(max_over_time(topk(3, a)[1h:1m]))', [/^topk chooses among/]],
  ['sum(a) / sum(b) == 0', [/^a comparison with == may hold/, /^a ratio may lack a node/]],
  ['a unless b', [/^unless keeps series/]],
])('the warnings for %s say what a missing node does to the result', (query, warnings) => {
  expect(absenceWarnings(parse(query))).toEqual(warnings.map((w) => expect.stringMatching(w)));
});
