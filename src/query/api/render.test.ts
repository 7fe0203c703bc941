import fc from 'fast-check';
import type { Labels, QueryValue } from '../../promql/index.ts';
import { AsciiText } from './ascii-text.ts';
import { formatSample } from './format-value.ts';
import { LabelJson } from './label-json.ts';
import { renderQueryData } from './render.ts';

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

test('numbers are put together byte by byte as they are shown', () => {
  fc.assert(
    fc.property(fc.array(anyNumber), (values) => {
      const out = new AsciiText();
      for (const value of values) out.appendSample(value);
      expect(out.take()).toBe(values.map(formatSample).join(''));
      expect(out.take()).toBe('');
    }),
  );
});

test('label sets that follow each other are the JSON of each alone', () => {
  fc.assert(
    fc.property(fc.array(anyLabels), (sets) => {
      const json = new LabelJson();
      for (const labels of sets) {
        const alone = new LabelJson().of(labels);
        expect(json.of(labels)).toBe(alone);
        expect(JSON.parse(alone)).toEqual(Object.fromEntries(labels));
      }
    }),
  );
});

test('label sets of ASCII are appended as they are alone', () => {
  const ascii = anyLabels.filter((labels) => labels.every(([, value]) => /^[ -~\n]*$/.test(value)));
  fc.assert(
    fc.property(fc.array(ascii), (sets) => {
      const json = new LabelJson();
      const out = new AsciiText();
      for (const labels of sets) expect(json.appendTo(out, labels)).toBe(true);
      expect(out.take()).toBe(sets.map((labels) => new LabelJson().of(labels)).join(''));
    }),
  );
});

test('an answer of many series comes in pieces and reads back as what it was', () => {
  const times = Float64Array.from({ length: 500 }, (_, i) => 1_795_240_800_000 + i * 500);
  const series = Array.from({ length: 20 }, (_, s) => ({
    labels: [['name', `série ${s}`]] as const,
    timestamps: s % 2 === 0 ? times : times.slice(0, 3 * (s % 3)),
    values: Float64Array.from({ length: s % 2 === 0 ? 500 : 3 * (s % 3) }, (_, i) => (i - 2) * 1.5 ** s),
    histograms: [],
  }));
  const value: QueryValue = { type: 'matrix', series };
  const pieces = [...renderQueryData(value, { some: 'stats' })];
  expect(pieces.length).toBeGreaterThan(5);
  expect(JSON.parse(pieces.join(''))).toEqual({
    resultType: 'matrix',
    result: series.map(({ labels, timestamps, values }) => ({
      metric: Object.fromEntries(labels),
      ...(values.length > 0 ? { values: Array.from(values, (v, i) => [timestamps[i]! / 1000, formatSample(v)]) } : {}),
    })),
    stats: { some: 'stats' },
  });
});

test('an instant answer reads back, also with times that differ and without elements', () => {
  const elements = [
    { labels: [] as Labels, timestamp: 1000, value: -5 },
    { labels: [['a', '\ud800']] as Labels, timestamp: 1500, value: 0.1 },
  ];
  const text = [...renderQueryData({ type: 'vector', elements })].join('');
  expect(JSON.parse(text)).toEqual({
    resultType: 'vector',
    result: [
      { metric: {}, value: [1, '-5'] },
      { metric: { a: '\ud800' }, value: [1.5, '0.1'] },
    ],
  });
  expect([...renderQueryData({ type: 'vector', elements: [] })].join('')).toBe('{"resultType":"vector","result":[]}');
});
