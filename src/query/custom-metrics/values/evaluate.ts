import { parse, type QueryResult } from '../../../promql/index.ts';
import type { MetricQuery } from '../providers/provider.ts';

/**
 * One row of a metric's value. Each input has the time of its newest sample; the row has the oldest of these times.
 * Units: ms.
 */
export interface Row {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly timeMs: number;
}

const part = 'svc_part';
const marked = (query: string, name: string): string => `label_replace(${query}, "${part}", "${name}", "", "")`;

/**
 * One query for values and sample times together, so that both read the same nodes. For each input, it reads the time
 * of each object's newest sample, unless that would exceed a limit of one query that the value keeps.
 */
export function combinedQuery({ value, times, label }: MetricQuery): string {
  const by = label === undefined ? '' : ` by (${label})`;
  const newest = times.map((time, i) => marked(`max${by} (${time})`, `time${i}`));
  const alone = marked(`(${value})`, 'value');
  const whole = [alone, ...newest].join(' or ');
  return isQuery(whole) ? whole : alone;
}

function isQuery(text: string): boolean {
  try {
    parse(text, { experimentalFunctions: true });
    return true;
  } catch {
    return false;
  }
}

/** The rows of a value, each with its time, from the answer of a combined query. `nowMs` stands for unknown times. */
export function readRows({ value }: QueryResult, label: string | undefined, nowMs: number): Row[] {
  if (value.type !== 'vector') return [];
  const timeOf = new Map<string, number>();
  const rows: { labels: Record<string, string>; value: number }[] = [];
  for (const element of value.elements) {
    const { [part]: kind, ...labels } = Object.fromEntries(element.labels);
    if (element.histogram) continue;
    if (kind === 'value') rows.push({ labels, value: element.value });
    else {
      const key = label === undefined ? '' : (labels[label] ?? '');
      timeOf.set(key, Math.min(timeOf.get(key) ?? Infinity, element.value * 1000));
    }
  }
  return rows.map((row) => {
    const timeMs = timeOf.get(label === undefined ? '' : (row.labels[label] ?? '')) ?? nowMs;
    return { ...row, timeMs: Math.min(timeMs, nowMs) };
  });
}

/** One value for each object: rows of one object are added up. NaN and infinities are left out. */
export function byObject(rows: readonly Row[], label: string): Map<string, Row> {
  const found = new Map<string, Row>();
  for (const row of rows) {
    const name = row.labels[label];
    if (!name) continue;
    const known = found.get(name);
    const value = row.value + (known?.value ?? 0);
    found.set(name, { labels: { [label]: name }, value, timeMs: Math.min(row.timeMs, known?.timeMs ?? Infinity) });
  }
  for (const [name, { value }] of found) if (!Number.isFinite(value)) found.delete(name);
  return found;
}
