import { exactText } from '../../testing/promql/exact-text.ts';
import { randomExpression } from '../../testing/promql/random-expression.ts';
import { nodeLabel, randomSeries } from '../../testing/promql/random-series.ts';
import { Random } from '../../testing/promql/random.ts';
import { parseMetric, parseSeriesLine } from '../../testing/promql/series-description.ts';
import { SplitNodes } from '../../testing/promql/split-nodes.ts';
import { Engine, parse, ParseError, print, withMatchers, type Distribution, type QueryResult } from '../index.ts';

const features = { experimentalFunctions: true, fillModifiers: true, extendedRangeSelectors: true };
const start = 1_700_000_000_000;
const end = start + 30 * 60_000;

/** Runs a query. Returns the answer with its counts of samples, or the error, as text. */
async function told(run: () => Promise<QueryResult>): Promise<string> {
  try {
    const answer = await run();
    const { queryable, read } = answer.stats.samples!;
    return `${exactText(answer)} ${queryable} ${read}`;
  } catch (error) {
    return `${(error as Error).name} ${(error as Error).message}`;
  }
}

function world(nodes: number, seed: number, mayBeWhole = false): SplitNodes {
  const shape = { start, interval: 30_000, samples: 60, nodes, histograms: true };
  return new SplitNodes(nodeLabel, randomSeries(new Random(seed), shape), mayBeWhole);
}

/** A random expression with all selectors restricted to one node. Expressions that do not parse are skipped. */
function pinnedExpression(random: Random, node: string | null): string {
  for (;;) {
    const text = randomExpression(random, { histograms: true, experimental: true, start, end });
    if (node === null) return text;
    try {
      return print(withMatchers(parse(text, features), [{ type: '=', name: nodeLabel, value: node }]));
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
    }
  }
}

/** Compares the answers with and without distribution. Returns whether there was an answer with values. */
async function bothWays(engine: Engine, nodes: SplitNodes, query: string): Promise<boolean> {
  const ask = async (distribution?: Distribution): Promise<string[]> => {
    const options = {
      source: nodes.whole,
      countSamples: true,
      ...(distribution === undefined ? {} : { distribution }),
    };
    return [
      await told(() => engine.instant(query, end, options)),
      await told(() => engine.range(query, start + 10 * 60_000, end, 120_000, options)),
    ];
  };
  const answers = await ask();
  expect({ query, answers: await ask(nodes) }).toEqual({ query, answers });
  return answers.some((text) => !/^\w*Error /.test(text) && /\d/.test(text));
}

test('the series that nodes send for topk, bottomk and limitk count towards the limit of samples as elsewhere', async () => {
  const series = Array.from({ length: 40 }, (_, i) => ({
    labels: parseMetric(`x{${nodeLabel}="n${i % 2}",i="${i}"}`),
    samples: [{ time: end, value: Math.floor(i / 4) }],
  }));
  const engine = new Engine({ ...features, maxSamples: 2_000 });
  const ran = async (query: string): Promise<string[]> => {
    const split = new SplitNodes(nodeLabel, series);
    for (const options of [{}, { distribution: split }]) {
      const answer = engine.range(query, end, end + 99_000, 1_000, { source: split.whole, ...options });
      await expect(answer).rejects.toMatchObject({ errorType: 'execution', code: 'ERR_QUERY_LIMIT' });
    }
    return split.ran.map(({ kind }) => kind);
  };
  expect(await ran('topk(1, x * 0)')).toEqual(['agg']);
  expect(await ran('bottomk(1, x * 0)')).toEqual(['agg']);
  expect(await ran('limitk(40, x)')).toEqual(['agg']);
  // Few candidates, but of equal values: all series are needed.
  expect(await ran('topk(1, x)')).toEqual(['agg', 'series']);
});

describe('a query answered by the nodes is the same, bit for bit, as one answered from all series', () => {
  test.each([
    [1, 100],
    [3, 200],
    [20, 40],
  ])('over %i nodes, for %i random expressions', async (nodes, count) => {
    const split = world(nodes, nodes);
    const random = new Random(4711 + nodes);
    let answered = 0;
    const engines = [new Engine(features), new Engine({ ...features, delayedNameRemoval: true })];
    for (let i = 0; i < count; i++) {
      const query = randomExpression(random, { histograms: true, experimental: true, start, end });
      if (await bothWays(engines[i % 2]!, split, query)) answered++;
    }
    expect(answered).toBeGreaterThan(count / 2);
    expect(split.ran.length).toBeGreaterThan(count / 2);
  });

  test.each<[title: string, nodes: number, pin: string | null]>([
    ['over a single node', 1, null],
    ['over three nodes, for expressions that select one of them', 3, 'n1'],
    ['over three nodes, for expressions that select a node that does not exist', 3, 'n7'],
  ])('%s, if a node may compute the whole query', async (_, nodes, pin) => {
    const split = world(nodes, nodes, true);
    const random = new Random(815 + nodes);
    let answered = 0;
    const engines = [new Engine(features), new Engine({ ...features, delayedNameRemoval: true })];
    for (let i = 0; i < 100; i++) {
      const query = pinnedExpression(random, pin);
      if (await bothWays(engines[i % 2]!, split, query)) answered++;
    }
    expect(answered).toBeGreaterThan(pin === 'n7' ? 0 : 50);
    const wholes = split.ran.filter(({ kind }) => kind === 'whole').length;
    expect(wholes > 60).toBe(pin !== 'n7');
    expect(split.ran.some(({ kind }) => kind === 'agg')).toBe(pin === 'n7');
  });

  test.each([
    'sum(rate({__name__=~"h_.*"}[5m]))',
    'avg(increase({__name__=~"h_.*"}[5m]))',
    'sum(rate({__name__=~"h_.*",node!="n0"}[5m]))',
    'sum(last_over_time({__name__=~"h_.*",node!="n0"}[5m]))',
  ])('for histograms of several names, each on a node of its own, and of several schemas: %s', async (query) => {
    const growing = (histogram: string) => `{{${histogram}}}+{{${histogram}}}x60`;
    const custom = (sum: string) => growing(`schema:-53 custom_values:[1] count:4 sum:${sum} buckets:[2 2]`);
    const lines = [
      `h_c{node="n0"} ${growing('schema:0 count:2 sum:1 buckets:[1 1]')}`,
      // In the order of nodes, the sum is about 1; in that of names it is 0.
      `h_c{node="n1"} ${custom('1e100')}`,
      `h_d{node="n2"} ${custom('-1e100')}`,
      `h_b{node="n3"} ${custom('1e50')}`,
      `h_e{node="n4"} ${custom('-1e50')}`,
      `h_a{node="n5"} ${custom('1')}`,
    ];
    const series = lines.map(parseSeriesLine).map(({ labels, values }) => ({
      labels,
      samples: values.map((value, i) => ({
        time: start + i * 30_000,
        value: NaN,
        ...(value.kind === 'histogram' ? { histogram: value.histogram } : {}),
      })),
    }));
    for (const delayedNameRemoval of [false, true]) {
      const split = new SplitNodes(nodeLabel, series);
      expect(await bothWays(new Engine({ ...features, delayedNameRemoval }), split, query)).toBe(true);
      expect(split.ran.map(({ kind }) => kind)).toContain('agg');
    }
  });

  test.each([
    'absent(x{job=~"a.*",job="api"})',
    'absent(x{job="a",job!="b"})',
    'absent_over_time(x{job=~"a.*",job="api"}[5m])',
    'absent(x{job!="b",job="a"}) or absent(x{job="a",job!="b"})',
  ])('where the labels of an absent result depend on the order of its matchers: %s', async (query) => {
    const split = world(1, 1, true);
    expect(await bothWays(new Engine(features), split, query)).toBe(true);
    expect(split.ran.map(({ kind }) => kind)).toContain('whole');
  });
});
