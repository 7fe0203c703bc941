import { seriesOf } from './exemplar-handler.ts';

test('the exemplars of one agent are checked in turns', async () => {
  let [work, turns] = [0, 0];
  const pacing = {
    spend: (more: number) => (work += more) > 100_000,
    turn: (): Promise<void> => {
      work = 0;
      turns++;
      return Promise.resolve();
    },
  };
  const exemplar = { labels: { trace_id: 'a' }, value: 'Infinity', timestamp: 1 };
  const series = { seriesLabels: { k8s_node_name: 'node-1' }, exemplars: [exemplar] };
  const checked = await seriesOf(Array(10_000).fill(series), pacing, 'node-1');
  expect(checked).toHaveLength(10_000);
  expect(checked[9_999]).toEqual({ ...series, exemplars: [{ ...exemplar, value: '+Inf' }] });
  expect(turns).toBeGreaterThan(10);
  const broken = [series, { ...series, exemplars: [{ ...exemplar, value: 1 }] }];
  await expect(seriesOf(broken, pacing, 'node-1')).rejects.toThrow('exemplars of series 1 /exemplars/0/value');
  await expect(seriesOf({}, pacing, 'node-1')).rejects.toThrow('exemplars: must be a list');
});
