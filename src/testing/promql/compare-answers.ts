import {
  almostEqual,
  compactHistogram,
  labelsKey,
  labelsText,
  type FloatHistogram,
  type QueryValue,
} from '../../promql/index.ts';
import type { SequenceValue } from './series-description.ts';
import type { EvalCommand } from './test-script.ts';

const epsilon = 1e-6;

/** How a value differs from the result that an `eval` of a test script expects; null if it does not. Units: ms. */
export function compareAnswer(command: EvalCommand, value: QueryValue): string | null {
  switch (value.type) {
    case 'string':
      return value.value === command.expectedString
        ? null
        : `expected string ${JSON.stringify(command.expectedString)}, got ${JSON.stringify(value.value)}`;
    case 'scalar':
      if (command.expectedScalar === null) return `got the scalar ${value.value}, expected series`;
      return almostEqual(command.expectedScalar, value.value, epsilon)
        ? null
        : `expected scalar ${command.expectedScalar}, got ${value.value}`;
    case 'vector':
      return compareVector(command, value);
    case 'matrix':
      return compareMatrix(command, value);
  }
}

function compareVector(command: EvalCommand, value: QueryValue & { type: 'vector' }): string | null {
  if (command.expectedScalar !== null) return 'expected a scalar, got a vector';
  const expected = new Map(command.expected.map((one, position) => [labelsKey(one.labels), { ...one, position }]));
  const seen = new Set<string>();
  for (const [position, element] of value.elements.entries()) {
    const name = labelsText(element.labels);
    const key = labelsKey(element.labels);
    const want = expected.get(key);
    if (want === undefined) return `unexpected ${name} ${element.value}`;
    if (command.ordered && want.position !== position) {
      return `${name} at position ${position + 1}, expected ${want.position + 1}`;
    }
    const problem = comparePoint(want.values[0]!, element.value, element.histogram ?? null);
    if (problem !== null) return `${name}: ${problem}`;
    seen.add(key);
  }
  const missing = command.expected.find((one) => !seen.has(labelsKey(one.labels)));
  return missing === undefined ? null : `missing ${labelsText(missing.labels)}`;
}

function compareMatrix(command: EvalCommand, value: QueryValue & { type: 'matrix' }): string | null {
  if (command.ordered) return 'expected an order, got a matrix';
  if (command.expectedScalar !== null) return 'expected a scalar, got a matrix';
  const { start, step, end } = command.expectRange ?? command;
  const expected = new Map(command.expected.map((one) => [labelsKey(one.labels), one]));
  const seen = new Set<string>();
  for (const series of value.series) {
    const name = labelsText(series.labels);
    const key = labelsKey(series.labels);
    const want = expected.get(key);
    if (want === undefined) return `unexpected series ${name}`;
    seen.add(key);
    const points = new Map<number, { value: number; histogram: FloatHistogram | null }>();
    series.timestamps.forEach((t, i) => points.set(t, { value: series.values[i]!, histogram: null }));
    for (const { timestamp, histogram } of series.histograms) points.set(timestamp, { value: NaN, histogram });
    for (const [i, wanted] of want.values.entries()) {
      const time = start + i * step;
      if (wanted.kind === 'gap') continue;
      if (time > end) return `more values expected for ${name} than the range has steps`;
      const point = points.get(time);
      if (point === undefined) return `${name}: nothing at ${time}`;
      points.delete(time);
      const problem = comparePoint(wanted, point.value, point.histogram);
      if (problem !== null) return `${name} at ${time}: ${problem}`;
    }
    const [extra] = points;
    if (extra !== undefined) return `${name}: unexpected value ${extra[1].value} at ${extra[0]}`;
  }
  const missing = command.expected.find(
    (one) => !seen.has(labelsKey(one.labels)) && one.values.some(({ kind }) => kind !== 'gap'),
  );
  return missing === undefined ? null : `missing ${labelsText(missing.labels)}`;
}

function comparePoint(want: SequenceValue, value: number, histogram: FloatHistogram | null): string | null {
  if (want.kind === 'histogram') {
    if (histogram === null) return `expected a histogram, got ${value}`;
    return sameHistogram(want.histogram, histogram, want.hintGiven)
      ? null
      : `expected ${JSON.stringify(want.histogram)}, got ${JSON.stringify(histogram)}`;
  }
  if (histogram !== null) return `expected a float, got a histogram ${JSON.stringify(histogram)}`;
  const number = want.kind === 'float' ? want.value : NaN;
  return almostEqual(number, value, epsilon) ? null : `expected ${number}, got ${value}`;
}

function sameHistogram(a: FloatHistogram, b: FloatHistogram, compareHint: boolean): boolean {
  const [x, y] = [compactHistogram(a), compactHistogram(b)];
  const near = (p: readonly number[], q: readonly number[]): boolean =>
    p.length === q.length && p.every((value, i) => almostEqual(value, q[i]!, epsilon));
  const side = (p: FloatHistogram['positive'], q: FloatHistogram['positive']): boolean =>
    p.indexes.length === q.indexes.length && p.indexes.every((v, i) => v === q.indexes[i]) && near(p.counts, q.counts);
  return (
    x.schema === y.schema &&
    x.zeroThreshold === y.zeroThreshold &&
    near([x.count, x.sum, x.zeroCount], [y.count, y.sum, y.zeroCount]) &&
    (x.schema !== -53 || near(x.customValues, y.customValues)) &&
    side(x.positive, y.positive) &&
    side(x.negative, y.negative) &&
    (!compareHint || x.counterReset === y.counterReset)
  );
}
