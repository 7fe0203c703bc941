import { exactText } from '../../testing/promql/exact-text.ts';
import { randomExpression } from '../../testing/promql/random-expression.ts';
import { nodeLabel, randomSeries } from '../../testing/promql/random-series.ts';
import { Random } from '../../testing/promql/random.ts';
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
