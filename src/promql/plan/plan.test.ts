import { explain, parse, planQuery } from '../index.ts';

const features = { experimentalFunctions: true };

/** The fragments that the nodes compute, as `kind op by/without (labels) expr`. */
function fragments(query: string, together = false): string[] {
  const { fragments: found } = planQuery(parse(query, features), { partitionLabel: 'node', together });
  return found.map(({ kind, op, grouping, without, expr }) =>
    kind !== 'agg' ? `${kind} ${expr}` : `agg ${op}${without ? ' without' : ''} (${grouping.join(',')}) ${expr}`,
  );
}

describe('a plan', () => {
  test.each([
    ['a function of each series runs on the nodes', 'rate(x[5m])', ['series rate(x[5m])']],
    ['an aggregation over local series sends partial states', 'sum by (a) (rate(x[5m]))', ['agg sum (a) rate(x[5m])']],
    [
      'an aggregation that keeps the node label is finished on the nodes',
      'quantile by (node) (0.9, x)',
      ['series quantile by (node) (0.9, x)'],
    ],
    ['without() keeps the node label unless it is listed', 'stddev without (a) (x)', ['series stddev without (a) (x)']],
    ['without(node) drops the node', 'sum without (node) (x)', ['agg sum without (node) x']],
    [
      'a quantile of buckets is computed centrally, its sums on the nodes',
      'histogram_quantile(0.9, sum by (le) (rate(x[5m])))',
      ['agg sum (le) rate(x[5m])'],
    ],
    ['each side of a ratio is pushed down alone', 'sum(x) / sum(y)', ['agg sum () x', 'agg sum () y']],
    ['matching that keeps the node is local to each node', 'x / on (node) y', ['series x / on (node) y']],
    ['matching all labels is local', 'sum(x / y)', ['agg sum () x / y']],
    ['matching other labels is not local', 'x / on (a) y', ['series x', 'series y']],
    [
      'a ratio that takes the node from one side is not local',
      'x * ignoring (a) group_left (node) y',
      ['series x', 'series y'],
    ],
    ['standard deviation needs the series', 'stddev(x)', ['series x']],
    [
      'if the parameter reads series, nothing is aggregated on the nodes',
      'topk(scalar(y), x)',
      ['series y', 'series x'],
    ],
    ['absence is decided centrally', 'absent(x)', ['series x']],
    ['a node label set by the query is not trusted', 'sum(label_replace(x, "node", "$1", "a", "(.*)"))', ['series x']],
    [
      'a subquery is as local as its expression',
      'max_over_time(rate(x[5m])[1h:1m])',
      ['series max_over_time(rate(x[5m])[1h:1m])'],
    ],
    ['inside a subquery sums are pushed down', 'max_over_time(sum(x)[1h:1m])', ['agg sum () x']],
    ['constants are computed centrally', 'vector(1) + time()', []],
    ['a choice of series by hash is local', 'limit_ratio(0.5, x)', ['series limit_ratio(0.5, x)']],
    ['counts of values are merged', 'count_values("v", x)', ['agg count_values () x']],
  ])('%s', (_, query, expected) => expect(fragments(query)).toEqual(expected));

  test.each([
    ['all of a query', 'stddev(x) / sum(rate(y[5m]))', ['whole stddev(x) / sum(rate(y[5m]))']],
    ['an expression that has a result without series', 'absent(x) or vector(0)', ['whole absent(x) or vector(0)']],
    ['a sorted result', 'sort_desc(x)', ['whole sort_desc(x)']],
    ['no scalar', 'scalar(sum(x)) + 1', ['whole sum(x)']],
    ['no constant', 'vector(1) + vector(2)', []],
    [
      'the argument of info(), but neither info() itself nor what contains it, because info() looks up other series',
      'sum(info(sum(x)))',
      ['whole sum(x)'],
    ],
    ['an expression without an aggregation, as a fragment of the kind `series`', 'rate(x[5m])', ['series rate(x[5m])']],
  ])('if all series lie on one node, the node computes %s', (_, query, expected) =>
    expect(fragments(query, true)).toEqual(expected),
  );

  test.each([
    [
      'topk(-1, x)',
      true,
      'partial state: the k largest and their equals; if these leave the answer open, the series are read',
    ],
    [
      'bottomk((2), x)',
      true,
      'partial state: the k smallest and their equals; if these leave the answer open, the series are read',
    ],
    ['limitk(time(), x)', false, 'its parameter is not a literal'],
    ['topk(scalar(y), x)', false, 'its parameter is not a literal'],
    ['quantile(scalar(y), x)', false, 'quantile needs all values of a group at once'],
    ['limit_ratio(scalar(y), x)', false, 'its parameter reads series'],
    // 1e300 is printed with all its digits: the text is longer than a query may be.
    [`sum(x${' > 1e300'.repeat(440)})`, false, 'its text would not read back as the same tree'],
    [`topk(2, x${' > 1e300'.repeat(440)})`, false, 'its text would not read back as the same tree'],
  ])('names the rule that decided last, in case %#', (query, pushed, reason) => {
    const { root } = planQuery(parse(query, features), { partitionLabel: 'node' });
    expect([root.fragment !== null, root.reasons.at(-1)]).toEqual([pushed, reason]);
  });

  test('is made once for each tree and its options', () => {
    const expr = parse('sum(x)');
    const plan = planQuery(expr, { partitionLabel: 'node' });
    expect(planQuery(expr, { partitionLabel: 'node', aggregates: true })).toBe(plan);
    expect(planQuery(expr, { partitionLabel: 'node', together: true })).not.toBe(plan);
  });

  test('says where each part is computed and why', () => {
    const query = 'histogram_quantile(0.9, sum by (le) (rate(x_bucket[5m]))) > scalar(max(y))';
    expect(explain(planQuery(parse(query), { partitionLabel: 'node' }))).toMatchInlineSnapshot(`
      "here : histogram_quantile(0.9, sum by (le) (rate(x_bucket[5m]))) > scalar(max(y))  [its groups span nodes]
        here : histogram_quantile(0.9, sum by (le) (rate(x_bucket[5m])))  [its groups span nodes]
          nodes partial: sum by (le) (rate(x_bucket[5m]))  [rate() treats each series, or the series of one group on one node, alone; partial state: exact expansion; native histograms as they are]
        here : scalar(max(y))  [scalar() is for exactly one series over all nodes]
          nodes partial: max(y)  [a series lies on one node; partial state: largest value]"
    `);
  });
});
