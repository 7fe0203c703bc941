import { columnsOf, heatOf, positive, stacked, stepFor } from './chart-data.ts';

test('series share one time axis, and a point that a series lacks is a gap', () => {
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
  expect(columnsOf(series)).toEqual({
    times: [10, 20, 30],
    columns: [
      [1, null, null],
      [null, 2, null],
    ],
  });
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
  const heat = heatOf([
    { metric: {}, histograms: [[10, histogram([0, '0', '1', '4'], [0, '1', '2', '2'])]] },
    {
      metric: {},
      histograms: [
        [10, histogram([0, '0', '2', '2'])],
        [20, histogram([0, '1', '2', '8'])],
      ],
    },
  ]);
  expect(heat).toEqual({
    times: [10, 20],
    bounds: [0, 1, 2],
    counts: [
      [5, 3],
      [0, 8],
    ],
    most: 8,
  });
  expect(heatOf([{ metric: {}, values: [[1, '1']] }])).toBeUndefined();
});

test('the largest count is found in a heat map of very many cells', () => {
  const buckets = Array.from({ length: 1_000 }, (_, i) => [0, String(i), String(i + 1), String(i)] as const);
  const histograms = Array.from({ length: 300 }, (_, t) => [t, { count: '0', sum: '0', buckets }] as const);
  expect(heatOf([{ metric: {}, histograms }])!.most).toBe(999);
});
