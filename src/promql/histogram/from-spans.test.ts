import { emptyHistogram } from './arithmetic.ts';
import { fromSpans } from './from-spans.ts';

test('spans of buckets become buckets by index, including empty ones', () => {
  const { positive, negative, ...rest } = fromSpans({
    ...emptyHistogram,
    schema: 3,
    count: 12,
    sum: -2.5,
    positiveSpans: [
      { offset: -3, length: 2 },
      { offset: 0, length: 1 },
      { offset: 4, length: 2 },
    ],
    positive: [1, 0, 2, 3, 4],
    negativeSpans: [{ offset: 7, length: 1 }],
    negative: [0],
    counterReset: 'gauge',
  });
  expect(positive).toEqual({ indexes: [-3, -2, -1, 4, 5], counts: [1, 0, 2, 3, 4] });
  expect(negative).toEqual({ indexes: [7], counts: [0] });
  expect(rest).toMatchObject({ schema: 3, count: 12, sum: -2.5, counterReset: 'gauge', customValues: [] });
});

test('a histogram with custom bounds and without buckets stays unchanged', () => {
  const custom = { ...emptyHistogram, schema: -53, customValues: [0.1, 1], positiveSpans: [], negativeSpans: [] };
  expect(fromSpans({ ...custom, positive: [], negative: [] })).toEqual({
    ...emptyHistogram,
    schema: -53,
    customValues: [0.1, 1],
  });
});
