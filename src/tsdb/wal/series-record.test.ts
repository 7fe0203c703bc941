import { isOperatorError } from '../../base/errors.ts';
import { ByteReader, ByteWriter } from '../bytes.ts';
import { labelsFromObject } from '../labels.ts';
import type { Labels } from '../labels.ts';
import { readSeriesRecord, SeriesRecordWriter } from './series-record.ts';

function written(series: readonly (readonly [number, Labels])[]): Uint8Array {
  const out = new ByteWriter();
  const writer = new SeriesRecordWriter();
  for (const [ref, labels] of series) writer.add(out, ref, labels);
  return out.view().slice();
}

function read(bytes: Uint8Array): [number, Labels][] {
  const found: [number, Labels][] = [];
  readSeriesRecord(new ByteReader(bytes), (ref, labels) => found.push([ref, labels]));
  return found;
}

const base = { instance: 'a', pod: 'web-1', zone: 'é' };

test.each([
  ['a label that changes, comes and goes', [{ ...base, le: '1' }, { ...base, le: '2' }, base, { ...base, le: '1' }]],
  ['labels before, between and after the shared ones', [base, { a: '1', ...base, j: '2', zz: '3' }, base]],
  ['nothing in common', [{ a: '1' }, { b: '1' }, { c: '1' }]],
  ['the same labels', [base, base]],
  ['no labels at all', [{}, base, {}]],
])('series are read as they were written: %s', (_, objects) => {
  const series = objects.map((o, i) => [10 + 3 * i, labelsFromObject(o as Record<string, string>)] as const);
  expect(read(written(series))).toEqual(series);
});

test('any series are read as they were written', () => {
  let seed = 7;
  const random = (n: number): number => (seed = (seed * 48_271) % 2_147_483_647) % n;
  const series = Array.from({ length: 500 }, (_, i) => {
    const names = Array.from({ length: random(8) }, () => `n${random(12)}`);
    return [i * 2, labelsFromObject(Object.fromEntries(names.map((n) => [n, `v${random(3)}`])))] as const;
  });
  expect(read(written(series))).toEqual(series);
});

test('the series of a histogram take less than an eighth of the size of their text', () => {
  const wide = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`label_number_${i}`, `its value ${i}`]));
  const series = Array.from({ length: 18 }, (_, i) => [i, labelsFromObject({ ...wide, le: String(i) })] as const);
  const text = series.reduce((sum, [, labels]) => sum + labels.flat().join('').length, 0);
  expect(written(series).length).toBeLessThan(text / 8);
});

const two = [
  [1, labelsFromObject(base)],
  [2, labelsFromObject({ ...base, le: '5' })],
] as const;

test('a truncated record is refused, except between two series', () => {
  const bytes = written(two);
  const first = written(two.slice(0, 1)).length;
  expect(first).toBeLessThan(bytes.length);
  for (let i = 0; i < bytes.length; i++) {
    const cut = (): unknown => read(bytes.slice(0, i));
    if (i === 0) expect(cut()).toEqual([]);
    else if (i === first) expect(cut()).toEqual(two.slice(0, 1));
    else expect(cut).toThrow(expect.objectContaining({ code: 'ERR_STORE_CORRUPT' }));
  }
});

// A damaged record may also be read wrongly without an error. The checksum of its frame detects that.
test('reading a damaged record ends, and fails only with the error of a corrupt store', () => {
  const bytes = written(two);
  const outcomes = [...bytes].map((_, bent) => {
    try {
      return read(bytes.map((b, at) => (at === bent ? b ^ 0x15 : b)));
    } catch (error) {
      return isOperatorError(error, 'ERR_STORE_CORRUPT') ? 'refused' : error;
    }
  });
  expect(outcomes).toContain('refused');
  expect(outcomes.filter((outcome) => outcome instanceof Error)).toEqual([]);
});
