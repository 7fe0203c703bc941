import { nodeLabel } from '../testing/promql/random-series.ts';
import { parseMetric } from '../testing/promql/series-description.ts';
import { SplitNodes } from '../testing/promql/split-nodes.ts';
import { Annotations } from './annotations.ts';
import { Engine, type QueryResult } from './index.ts';

const at = { start: 0, end: 1 };
const noSource = { select: () => Promise.resolve({ series: [] }) };

/** Raises a warning at each step: with its time, in seconds from 2 on. */
const warnings = (steps: number, before = ''): Promise<QueryResult> => {
  const query = `${before}histogram_quantile(time(), vector(1))`;
  return new Engine().range(query, 2_000, (steps + 1) * 1_000, 1_000, { source: noSource });
};

test('the first 500 different warnings of a query are kept, sorted, and the others are counted', async () => {
  const { warnings: kept, omittedWarnings, omittedInfos } = await warnings(1_200, '\n\n  ');
  const text = (value: number): string =>
    `PromQL warning: quantile value should be between 0 and 1, got ${value} (3:22)`;
  expect(kept).toEqual(Array.from({ length: 500 }, (_, i) => text(i + 2)).sort());
  // 700 quantiles, and the bucket without `le`.
  expect([omittedWarnings, omittedInfos]).toEqual([701, 0]);
  expect(await warnings(499)).toMatchObject({ omittedWarnings: 0 });
});

test('a kept message takes in what is raised later, and a message that is not kept collects nothing', () => {
  const annotations = new Annotations();
  for (let i = 0; i < 600; i++) annotations.info(`${i}`, at);
  annotations.startTimeOverlap('first', at);
  for (let i = 0; i < 600; i++) annotations.warn(`${i}`, at);
  for (let i = 0; i < 2; i++) annotations.startTimeOverlap('first', at);
  annotations.startTimeOverlap('late', at);
  annotations.forcedMonotonicity('late', at, 0, { minBound: 0, maxBound: 1, maxDiff: 1 });
  expect([annotations.omittedWarnings, annotations.omittedInfos]).toEqual([102, 101]);
  expect(annotations.messages('info')).toHaveLength(500);
  const shown = annotations.texts('warning', 'x');
  expect(shown).toContainEqual(expect.stringContaining('for metric "first" (3 occurrences)'));
  expect(annotations.export().filter(({ message }) => message.includes('late'))).toEqual([]);
});

test('warnings of sources are bounded by themselves, and long messages by their length', () => {
  const annotations = new Annotations();
  for (let i = 0; i < 501; i++) annotations.sourceWarning(`node-${i} did not answer`);
  annotations.warn('own', at);
  expect(annotations.messages('warning')).toHaveLength(501);
  expect(annotations.omittedWarnings).toBe(1);
  for (let i = 0; i < 3; i++) annotations.info(`${i}`.repeat(200_000), at);
  expect(annotations.messages('info')).toHaveLength(2);
  expect(annotations.omittedInfos).toBe(1);
});

test('what agents leave out is added up', async () => {
  const series = Array.from({ length: 1_400 }, (_, i) => ({
    labels: parseMetric(`gauge_${i}{${nodeLabel}="n${i % 2}",i="${i}"}`),
    samples: [0, 30_000].map((time) => ({ time, value: 1 })),
  }));
  const distribution = new SplitNodes(nodeLabel, series);
  const query = 'sum(rate({__name__=~"gauge.*"}[5m]))';
  const answer = await new Engine().instant(query, 30_000, { source: distribution.whole, distribution });
  expect(distribution.ran).toHaveLength(1);
  expect(answer).toMatchObject({ warnings: [], omittedWarnings: 0 });
  expect(answer.infos.length + answer.omittedInfos).toBe(1_400);
  expect(answer.infos).toHaveLength(500);
});
