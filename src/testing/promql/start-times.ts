import { parseDurationLiteral } from '../../promql/index.ts';

const item = /^([+-]?)(0|\d+(?:ms|[smhdwy])(?:\d+(?:ms|[smhd]))*)(?:([+-])(\d+(?:ms|[smhdwy])))?(?:x(\d+))?$/;

/**
 * Parses the sequence after `metric@st`. Returns for each sample the offset of its counter's start, in milliseconds
 * (negative: before the sample), or null if it is unknown. Errors: throws an Error that quotes the item it cannot read.
 */
export function parseStartTimes(text: string): (number | null)[] {
  const offsets: (number | null)[] = [];
  for (const part of text.split(/\s+/)) {
    const gap = /^_(?:x(\d+))?$/.exec(part);
    if (gap !== null) {
      for (let i = 0; i < Number(gap[1] ?? 1); i++) offsets.push(null);
      continue;
    }
    const match = item.exec(part);
    if (match === null) throw new Error(`cannot read start time ${JSON.stringify(part)}`);
    const [, sign, base, stepSign, step, times] = match;
    let offset = (base === '0' ? 0 : parseDurationLiteral(base!)) * (sign === '-' ? -1 : 1);
    const change = step === undefined ? 0 : parseDurationLiteral(step) * (stepSign === '-' ? -1 : 1);
    for (let i = 0; i <= Number(times ?? 0); i++) {
      offsets.push(offset);
      offset += change;
    }
  }
  return offsets;
}
