import { randomExpression } from '../testing/promql/random-expression.ts';
import { nodeLabel, randomSeries } from '../testing/promql/random-series.ts';
import { Random } from '../testing/promql/random.ts';
import { SplitNodes } from '../testing/promql/split-nodes.ts';
import { Engine, QueryError } from './index.ts';
import type { QueryRead, SelectRequest } from './index.ts';

const features = { experimentalFunctions: true, fillModifiers: true, extendedRangeSelectors: true };
const start = 1_700_000_000_000;
const end = start + 30 * 60_000;
const text = ({ matchers, mint, maxt }: QueryRead): string =>
  `${matchers.map(({ name, type, value }) => `${name}${type}${value}`).join()} ${mint} ${maxt}`;

test('engine.reads predicts the requests to the source, for 400 random expressions', async () => {
  const series = randomSeries(new Random(5), { start, interval: 30_000, samples: 20, nodes: 2, histograms: true });
  const { whole } = new SplitNodes(nodeLabel, series);
  const engine = new Engine({ ...features, lookbackDeltaMs: 120_000 });
  const random = new Random(1789);
  let [asked, infos] = [0, 0];
  for (let i = 0; i < 400; i++) {
    const query = randomExpression(random, { histograms: true, experimental: true, start, end });
    for (const span of [
      { start: end, end, step: 0 },
      { start: start + 10 * 60_000, end, step: 120_000 },
    ]) {
      const requests: SelectRequest[] = [];
      const source = { select: (request: SelectRequest) => (requests.push(request), whole.select(request)) };
      const { start: from, end: to, step } = span;
      const run =
        step === 0 ? engine.instant(query, from, { source }) : engine.range(query, from, to, step, { source });
      const failed = await run.then(
        () => false,
        (error: unknown) => {
          if (error instanceof QueryError) return true;
          throw error;
        },
      );
      if (requests.length === 0 && failed) continue;
      const reads = engine.reads(query, span);
      const told = new Set(reads.map(text));
      for (const request of requests) {
        asked++;
        const { matchers, mint, maxt, hints } = request;
        if (told.has(text(request))) continue;
        // info() derives its matchers from the labels that it finds.
        const isTold = reads.some(
          (read) =>
            read.mint === mint && read.maxt === maxt && read.matchers.every((m) => matchers.some((n) => n === m)),
        );
        infos++;
        expect({ query, request: text(request), isTold }).toMatchObject({ isTold: hints.func === 'info' });
      }
      if (failed || query.includes('info(')) continue;
      expect({ query, asked: new Set(requests.map(text)) }).toEqual({ query, asked: told });
    }
  }
  expect([asked > 800, infos > 0]).toEqual([true, true]);
});
