import {
  addHistograms,
  compactHistogram,
  emptyHistogram,
  parseSelector,
  scaleHistogram,
  sortedLabels,
  type CounterResetHint,
  type FloatHistogram,
  type Label,
  type Labels,
} from '../../promql/index.ts';

/** One value of a sequence in the test language of Prometheus (promqltest). */
export type SequenceValue =
  | { readonly kind: 'gap' }
  | { readonly kind: 'stale' }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'histogram'; readonly histogram: FloatHistogram; readonly hintGiven: boolean };

/** A parsed line `metric{labels} values…`. */
export interface SeriesDescription {
  readonly labels: Labels;
  readonly values: SequenceValue[];
}

const numberText = String.raw`[+-]?(?:(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI][nN][fF]|[nN][aA][nN])`;
const floatItem = new RegExp(`^(${numberText})(?:([+-](?:${numberText.slice(5)}))?x([0-9]+))?$`);

/** Parses a series line of the test language. Errors: throws an Error that quotes the part it cannot read. */
export function parseSeriesLine(line: string): SeriesDescription {
  const end = metricEnd(line);
  return { labels: parseMetric(line.slice(0, end)), values: parseSequence(line.slice(end)) };
}

/** The end of the metric in a line: the first space that is outside of braces and quotes and not before `{labels}`. */
function metricEnd(line: string): number {
  let depth = 0;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i]!;
    if (quote !== '') {
      if (c === '\\') i++;
      else if (c === quote) quote = '';
    } else if (c === '"' || c === "'") quote = c;
    else if (c === '{') depth++;
    else if (c === '}') depth--;
    else if (depth === 0 && /\s/.test(c) && !/^\s*\{[^{]/.test(line.slice(i))) return i;
  }
  return line.length;
}

/** Parses the labels of a metric, which is a name, a selector in braces, or both. */
export function parseMetric(text: string): Labels {
  const trimmed = text.trim();
  if (/^\{\s*\}$/.test(trimmed)) return [];
  const { matchers } = parseSelectorText(trimmed);
  return sortedLabels(matchers.map(({ name, value }): Label => [name, value]));
}

/**
 * Parses a selector that may match everything, such as that of an expected result. The PromQL parser refuses such
 * selectors, so a matcher is added before and removed afterwards.
 */
function parseSelectorText(text: string): ReturnType<typeof parseSelector> {
  const braces = text.lastIndexOf('}');
  const sure = '__parse__="x"';
  const withSure =
    braces === -1 ? text : `${text.slice(0, braces)}${/\{\s*$|,\s*$/.test(text.slice(0, braces)) ? '' : ','}${sure}}`;
  const selector = parseSelector(withSure);
  return { ...selector, matchers: selector.matchers.filter(({ name }) => name !== '__parse__') };
}

function parseSequence(text: string): SequenceValue[] {
  const values: SequenceValue[] = [];
  for (const item of text.match(/\{\{[^}]*\}\}(?:[+-]\{\{[^}]*\}\})?(?:x\d+)?|\S+/g) ?? []) {
    values.push(...parseItem(item));
  }
  return values;
}

function parseItem(item: string): SequenceValue[] {
  const gaps = /^_(?:x(\d+))?$/.exec(item);
  if (gaps !== null) return new Array<SequenceValue>(Number(gaps[1] ?? 1)).fill({ kind: 'gap' });
  const stale = /^stale(?:x(\d+))?$/.exec(item);
  if (stale !== null) return new Array<SequenceValue>(Number(stale[1] ?? 0) + 1).fill({ kind: 'stale' });
  if (item.startsWith('{{')) return histogramItem(item);
  const match = floatItem.exec(item);
  if (match === null) throw new Error(`cannot read series value ${JSON.stringify(item)}`);
  const [, base, increment, times] = match;
  const values: SequenceValue[] = [];
  let value = toNumber(base!);
  for (let i = 0; i <= Number(times ?? 0); i++) {
    values.push({ kind: 'float', value });
    value += increment === undefined ? 0 : toNumber(increment);
  }
  return values;
}

function toNumber(text: string): number {
  const plain = text.toLowerCase().replaceAll('_', '').replace('inf', 'Infinity').replace('nan', 'NaN');
  return Number(plain.replace(/^\+/, '').replace(/^-NaN/, 'NaN'));
}

function histogramItem(item: string): SequenceValue[] {
  const match = /^\{\{([^}]*)\}\}(?:([+-])\{\{([^}]*)\}\})?(?:x(\d+))?$/.exec(item);
  if (match === null) throw new Error(`cannot read histogram ${JSON.stringify(item)}`);
  const [, baseText, sign, stepText, times] = match;
  const base = parseHistogram(baseText!);
  const step = stepText === undefined ? null : parseHistogram(stepText);
  const hintGiven = (step ?? base).hintGiven;
  const values: SequenceValue[] = [];
  let current = base.histogram;
  for (let i = 0; i <= Number(times ?? 0); i++) {
    values.push({ kind: 'histogram', histogram: compactHistogram(current), hintGiven });
    if (step !== null) {
      const change =
        sign === '-'
          ? { ...scaleHistogram(step.histogram, -1), counterReset: step.histogram.counterReset }
          : step.histogram;
      current = addHistograms(current, change).histogram;
    }
  }
  return values;
}

function parseHistogram(text: string): { histogram: FloatHistogram; hintGiven: boolean } {
  const fields = new Map<string, string>();
  for (const [, key, value] of text.matchAll(/(\w+):(\[[^\]]*\]|\S+)/g)) fields.set(key!, value!);
  const number = (key: string): number => toNumber(fields.get(key) ?? '0');
  const list = (key: string): number[] => (fields.get(key)?.slice(1, -1).match(/\S+/g) ?? []).map(toNumber);
  const buckets = (key: string, offsetKey: string): FloatHistogram['positive'] => {
    const counts = list(key);
    const offset = number(offsetKey);
    return { indexes: counts.map((_, i) => offset + i), counts };
  };
  const histogram: FloatHistogram = {
    ...emptyHistogram,
    schema: number('schema'),
    count: number('count'),
    sum: number('sum'),
    zeroCount: number('z_bucket'),
    zeroThreshold: number('z_bucket_w'),
    customValues: list('custom_values'),
    counterReset: (fields.get('counter_reset_hint') ?? 'unknown') as CounterResetHint,
    positive: buckets('buckets', 'offset'),
    negative: buckets('n_buckets', 'n_offset'),
  };
  return { histogram, hintGiven: fields.has('counter_reset_hint') };
}
