import { columnsOf, heatOf, isolated, positive, stacked, stepFor } from './chart-data.ts';

const from10to30 = { start: 10, end: 30, step: 10 };

test('series share the times that were asked for, and a point that a series lacks is a gap', () => {
  const series = [
    {
      metric: {},
      values: [
        [10, '1'],
        [30, 'NaN'],
      ] as const,
    },
    {
      metric: {},
      values: [
        [20, '2'],
        [30, '+Inf'],
      ] as const,
    },
  ];
  expect(columnsOf(series, from10to30)).toEqual({
    ...{ start: 10, end: 30, times: [10, 20, 30] },
    columns: [
      [1, null, null],
      [null, 2, null],
    ],
  });
});

test('times at which no series has a value are gaps, at both ends and within', () => {
  const series = [
    {
      metric: {},
      values: [
        [20, '1'],
        [50, '2'],
      ] as const,
    },
  ];
  expect(columnsOf(series, { start: 10, end: 65, step: 10 })).toEqual({
    ...{ start: 10, end: 65, times: [10, 20, 30, 40, 50, 60] },
    columns: [[null, 1, null, null, 2, null]],
  });
});

test('the server rounds times to milliseconds; a point counts for the time that it was asked for', () => {
  const times = { start: 0.0004, end: 0.9004, step: 0.3 };
  const series = [{ metric: {}, values: [0, 0.3, 0.6, 0.9].map((t, i) => [t, `${i}`] as const) }];
  expect(columnsOf(series, times).columns).toEqual([[0, 1, 2, 3]]);
  // 3600 s less the rounding error of a double.
  const hour = { start: 1_700_000_000.1, end: 1_700_000_000.1 + 3600 - 1e-6, step: 15 };
  const [column] = columnsOf([{ metric: {}, values: [[1_700_003_600.1, '7']] }], hour).columns;
  expect([column!.length, column!.at(-1)]).toEqual([241, 7]);
});

test('points without a neighbour, which no line can show, are found', () => {
  expect(isolated([1, null, 2, 3, null, null, 4, null])).toEqual([0, 6]);
  expect([isolated([5]), isolated([null]), isolated([1, 2])]).toEqual([[0], [], []]);
});

test('each stacked line is added to the line below it; a gap adds nothing', () => {
  expect(
    stacked([
      [1, null, 3, null],
      [10, 20, null, null],
    ]),
  ).toEqual([
    [1, null, 3, null],
    [11, 20, 3, null],
  ]);
});

test('a logarithmic axis leaves out values of 0 and below', () => {
  expect(positive([[0, -1, 2, null]])).toEqual([[null, null, 2, null]]);
});

test('a step is never below a second', () => {
  expect([0, 0.001, 10, 375, 900, 86_400].map(stepFor)).toEqual([1, 1, 1, 2, 4, 346]);
});

test('native histograms become cells by time and bucket; a wide bucket is spread over the narrow ones in it', () => {
  const histogram = (...buckets: [number, string, string, string][]) => ({ count: '0', sum: '0', buckets });
  const series = [
    { metric: {}, histograms: [[10, histogram([0, '0', '1', '4'], [0, '1', '2', '2'])] as const] },
    {
      metric: {},
      histograms: [
        [10, histogram([0, '0', '2', '2'])],
        [30, histogram([0, '1', '2', '8'])],
      ] as const,
    },
  ];
  expect(heatOf(series, from10to30)).toEqual({
    times: [10, 20, 30],
    bounds: [0, 1, 2],
    // At a time without histograms the column is empty: columns are as far apart as their times.
    counts: [
      [5, 3],
      [0, 0],
      [0, 8],
    ],
    most: 8,
  });
  expect(heatOf([{ metric: {}, values: [[10, '1']] }], from10to30)).toBeUndefined();
});

test('a bucket may reach to infinity on either side, as those of own bounds do', () => {
  const buckets = [
    [3, '-Inf', '1', '4'],
    [0, '1', '5', '2'],
    [0, '5', '+Inf', '3'],
  ] as const;
  const heat = heatOf([{ metric: {}, histograms: [[20, { count: '9', sum: '0', buckets }]] }], from10to30)!;
  expect([heat.bounds, heat.counts[1], heat.most]).toEqual([[-Infinity, 1, 5, Infinity], [4, 2, 3], 4]);
});

test('the largest count is found in a heat map of very many cells', () => {
  const buckets = Array.from({ length: 1_000 }, (_, i) => [0, String(i), String(i + 1), String(i)] as const);
  const histograms = Array.from({ length: 300 }, (_, t) => [t, { count: '0', sum: '0', buckets }] as const);
  expect(heatOf([{ metric: {}, histograms }], { start: 0, end: 299, step: 1 })!.most).toBe(999);
});
