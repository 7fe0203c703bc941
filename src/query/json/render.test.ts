import fc from 'fast-check';
import { emptyHistogram, type Labels, type QueryValue } from '../../promql/index.ts';
import { formatSample } from './format-value.ts';
import { LabelJson, labelsJsonOfMany } from './label-json.ts';
import { renderQueryData } from './render.ts';
import { Utf8Text } from './utf8-text.ts';

const anyNumber = fc.oneof(
  fc.double(),
  fc.maxSafeInteger(),
  fc.integer(),
  fc.constantFrom(-0, 0, 9, 10, 999_999_999, 1e9, 1_000_000_007, 2 ** 53 - 1, 2 ** 53, 1e21, 1e-7, NaN),
);
const anyLabels: fc.Arbitrary<Labels> = fc.array(
  fc.tuple(fc.constantFrom('a', 'b', 'c.d'), fc.constantFrom('', 'x', 'q"\\', 'naïve', '\ud83d\ude00', '\ud800', '\n')),
  { maxLength: 4 },
);

const textOf = (...pieces: Uint8Array[]): string => Buffer.concat(pieces).toString();

test('appended samples have the text of formatSample', () => {
  fc.assert(
    fc.property(fc.array(anyNumber), (values) => {
      const out = new Utf8Text();
      for (const value of values) out.appendSample(value);
      expect(textOf(out.take())).toBe(values.map(formatSample).join(''));
      expect(textOf(out.take())).toBe('');
    }),
  );
});

test('each of several label sets gets the JSON that it gets alone, wherever a piece of the answer ends', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyLabels, fc.boolean())), (sets) => {
      const out = new Utf8Text();
      const json = new LabelJson(out);
      let text = '';
      for (const [labels, ends] of sets) {
        json.append(labels);
        if (ends) text += textOf(out.take());
      }
      text += textOf(out.take());
      const jsonOf = labelsJsonOfMany();
      expect(text).toBe(sets.map(([labels]) => jsonOf(labels)).join(''));
      for (const [labels] of sets) expect(JSON.parse(jsonOf(labels))).toEqual(Object.fromEntries(labels));
    }),
  );
});

test('an answer of many series comes in pieces and parses back to the same data', () => {
  const times = Float64Array.from({ length: 500 }, (_, i) => 1_795_240_800_000 + i * 500);
  const series = Array.from({ length: 50 }, (_, s) => ({
    labels: [['name', `série ${s}`]] as const,
    timestamps: s % 2 === 0 ? times : times.slice(0, 3 * (s % 3)),
    values: Float64Array.from({ length: s % 2 === 0 ? 500 : 3 * (s % 3) }, (_, i) => (i - 2) * 1.5 ** s),
    histograms: [],
  }));
  const value: QueryValue = { type: 'matrix', series };
  const pieces = [...renderQueryData(value, { some: 'stats' })];
  expect(pieces.length).toBeGreaterThan(5);
  expect(JSON.parse(textOf(...pieces))).toEqual({
    resultType: 'matrix',
    result: series.map(({ labels, timestamps, values }) => ({
      metric: Object.fromEntries(labels),
      ...(values.length > 0 ? { values: Array.from(values, (v, i) => [timestamps[i]! / 1000, formatSample(v)]) } : {}),
    })),
    stats: { some: 'stats' },
  });
});

test('an instant answer parses back to the same data, also with different times and without elements', () => {
  const elements = [
    { labels: [] as Labels, timestamp: 1000, value: -5 },
    { labels: [['a', '\ud800']] as Labels, timestamp: 1500, value: 0.1 },
  ];
  const text = textOf(...renderQueryData({ type: 'vector', elements }));
  expect(JSON.parse(text)).toEqual({
    resultType: 'vector',
    result: [
      { metric: {}, value: [1, '-5'] },
      { metric: { a: '\ud800' }, value: [1.5, '0.1'] },
    ],
  });
  expect(textOf(...renderQueryData({ type: 'vector', elements: [] }))).toBe('{"resultType":"vector","result":[]}');
});

test('a series of many native histograms comes in pieces and parses back to the same data', () => {
  const indexes = Array.from({ length: 160 }, (_, i) => i + 1);
  const histograms = Array.from({ length: 600 }, (_, n) => ({
    timestamp: n * 1_000,
    histogram: { ...emptyHistogram, count: 160 * (n + 1), positive: { indexes, counts: indexes.map(() => n + 1) } },
  }));
  const none = new Float64Array(0);
  const series = [{ labels: [] as Labels, timestamps: none, values: none, histograms }];
  const pieces = [...renderQueryData({ type: 'matrix', series })];
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(200_000);
  const { result } = JSON.parse(textOf(...pieces)) as { result: { histograms: unknown[] }[] };
  const [first] = result[0]!.histograms;
  expect(result).toEqual([
    { metric: {}, histograms: histograms.map(({ timestamp }) => [timestamp / 1_000, expect.anything()]) },
  ]);
  expect(first).toMatchObject([0, { count: '160', sum: '0', buckets: expect.any(Array) }]);
});
