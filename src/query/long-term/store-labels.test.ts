import { labelsFromObject, labelsToObject, type ReadQuery } from '../../tsdb/index.ts';
import type { ReadSeries } from '../fanout/merge/series-collector.ts';
import { foreignLabels, hideStoreLabels, parseStoreLabels } from './store-labels.ts';

const series = (labels: Record<string, string>, ...times: number[]): ReadSeries => ({
  labels: labelsFromObject(labels),
  timestamps: Float64Array.from(times),
  values: Float64Array.from(times),
});
const options = { deadlineMs: 1, budget: { left: 1 }, signal: new AbortController().signal };
const query = (...matchers: [name: string, type: '=' | '!=' | '=~' | '!~', value: string][]): ReadQuery => ({
  startMs: 0,
  endMs: 9,
  matchers: matchers.map(([name, type, value]) => ({ name, type, value })),
});

test('a store label is hidden, its value is matched, and series that differ only in it are merged', async () => {
  const asked: (readonly ReadQuery[])[] = [];
  const store = hideStoreLabels(
    {
      read: async (queries) => {
        asked.push(queries);
        return [
          [
            series({ __name__: 'x', cluster: 'eu', replica: 'a' }, 1, 3),
            series({ __name__: 'x', cluster: 'eu', replica: 'b' }, 1, 2, 3),
            series({ __name__: 'y', cluster: 'eu', replica: 'b' }, 2),
          ],
        ];
      },
    },
    parseStoreLabels('cluster=eu,replica'),
  );
  const [found] = await store.read([query(['__name__', '=~', '.+'])], options);
  expect(found!.map(({ labels, timestamps }) => [labelsToObject(labels), [...timestamps]])).toEqual([
    [{ __name__: 'x' }, [1, 2, 3]],
    [{ __name__: 'y' }, [2]],
  ]);
  expect(asked[0]![0]!.matchers).toEqual([
    { name: '__name__', type: '=~', value: '.+' },
    { name: 'cluster', type: '=', value: 'eu' },
  ]);
});

test('a matcher on a store label sees an empty value: the store is asked without the matcher, or not at all', async () => {
  const asked: ReadQuery[] = [];
  const store = hideStoreLabels(
    {
      read: async (queries) => {
        asked.push(...queries);
        return queries.map(() => [series({ __name__: 'x', cluster: 'eu' }, 1)]);
      },
    },
    parseStoreLabels('cluster'),
  );
  const found = await store.read(
    [
      query(['cluster', '=', 'eu']),
      query(['cluster', '!=', 'us']),
      query(['cluster', '=~', 'eu|']),
      query(['cluster', '!=', '']),
    ],
    options,
  );
  expect(found.map((one) => one.length)).toEqual([0, 1, 1, 0]);
  expect(asked.map(({ matchers }) => matchers)).toEqual([[], []]);
  asked.length = 0;
  expect(await store.read([query(['cluster', '=', 'eu'])], options)).toEqual([[]]);
  expect(asked).toEqual([]);
});

test.each([
  [
    'is on all of the store’s and none of the agents’ series',
    [
      { a: '1', r: 'x' },
      { b: '1', r: 'y' },
    ],
    [{ a: '1' }],
    ['r'],
  ],
  ['is on some of the store’s series only', [{ a: '1', r: 'x' }, { a: '2' }], [{ a: '1' }], []],
  ['is on one of the agents’ series too', [{ a: '1', r: 'x' }], [{ a: '1' }, { a: '1', r: 'z' }], []],
  ['cannot be compared with any series of the agents', [{ a: '1', r: 'x' }], [], []],
])('a label that %s: store %j and agents %j give the foreign labels %j', (_, old, recent, foreign) => {
  const all = (list: object[]): ReadSeries[] => list.map((labels) => series(labels as Record<string, string>, 1));
  expect(foreignLabels(all(old), all(recent))).toEqual(foreign);
});
