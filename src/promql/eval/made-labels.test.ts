import { MemorySource } from '../../testing/promql/memory-source.ts';
import { emptyHistogram, Engine } from '../index.ts';
import { parseMetric } from '../../testing/promql/series-description.ts';
import { queryLimits } from '../limits.ts';

const { labelsLength } = queryLimits;
const each = 4_000;
const most = Math.floor(labelsLength / (each + 3));

const source = new MemorySource();
for (const metric of ['x{job="j",instance="i"}', `target_info{job="j",instance="i",more="${'y'.repeat(each)}"}`]) {
  source.load(parseMetric(metric), [{ time: 0, value: 1 }]);
}
const indexes = Array.from({ length: 4_096 }, (_, i) => i);
const positive = { indexes, counts: indexes.map(() => 1) };
source.load(parseMetric('wide'), [
  { time: 0, value: NaN, histogram: { ...emptyHistogram, schema: 8, count: 4_096, positive } },
]);
const engine = new Engine({ experimentalFunctions: true });
const ask = (query: string): Promise<unknown> => engine.instant(query, 0, { source });

/** A vector with this many long labels, which share one text. */
const withLabels = (count: number, of = 'vector(1)'): string => {
  let query = `label_replace(${of}, "l0", "${'x'.repeat(each)}", "", "")`;
  for (let i = 1; i < count; i++) query = `label_replace(${query}, "l${i}", "$1", "l0", "(.*)")`;
  return query;
};
const more = `label_join(${withLabels(1)}, "more", "", "l0")`;

const refusal = {
  errorType: 'execution',
  message: expect.stringMatching(/^labels of \d+ characters, at most 65536$/),
};

test.each([
  ['label_replace', withLabels(most + 1)],
  ['label_join', `label_join(${withLabels(most)}, "more", "", "l0")`],
  ['group_left', `${withLabels(most)} * on () group_left (more) ${more}`],
  ['group_right', `${more} * on () group_right (more) ${withLabels(most)}`],
  ['count_values', 'count_values("v", wide)'],
  ['info', `info(${withLabels(most, 'x')})`],
])('labels that %s makes too long together are refused, and the error tells the limit', async (_, query) => {
  await expect(ask(query)).rejects.toMatchObject(refusal);
});

test('labels as long as is let in are answered', async () => {
  await expect(ask(`${withLabels(most)} or x`)).resolves.toBeDefined();
});
