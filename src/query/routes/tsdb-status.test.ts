import { Pace } from '../../base/turns/turns.ts';
import { labelsFromObject } from '../../tsdb/index.ts';
import { TurnWatch } from '../../testing/turn-watch.ts';
import { storeStatus } from './tsdb-status.ts';

/** The longest that a process may compute without a turn for other work, in ms of CPU time. */
const longestCpuMs = 100;

test('metrics, labels and pairs are counted over all series, the most frequent first, equal ones by name', async () => {
  const series = [
    { __name__: 'b', pod: 'one' },
    { __name__: 'b', pod: 'two' },
    { __name__: 'a', pod: 'one', zone: 'é' },
  ].map(labelsFromObject);
  expect(await storeStatus(new Pace(), series, { minTime: 1, maxTime: 2, limit: 2 })).toEqual({
    headStats: { numSeries: 3, numLabelPairs: 5, chunkCount: 3, minTime: 1, maxTime: 2 },
    seriesCountByMetricName: [
      { name: 'b', value: 2 },
      { name: 'a', value: 1 },
    ],
    labelValueCountByLabelName: [
      { name: '__name__', value: 2 },
      { name: 'pod', value: 2 },
    ],
    memoryInBytesByLabelName: [
      { name: 'pod', value: 6 },
      { name: '__name__', value: 2 },
    ],
    seriesCountByLabelValuePair: [
      { name: '__name__=b', value: 2 },
      { name: 'pod=one', value: 2 },
    ],
  });
});

test('other work gets its turns while the labels of many series are counted', async () => {
  const series = Array.from({ length: 150_000 }, (_, i) =>
    labelsFromObject({ __name__: 'x', pod: `pod-${i}`, le: `${i % 20}`, node: `node-${i % 100}` }),
  );
  const watch = new TurnWatch();
  await storeStatus(new Pace(undefined, watch), series, { minTime: 0, maxTime: 1, limit: 10 });
  watch.look();
  expect(watch.longestMs).toBeLessThan(longestCpuMs);
});
