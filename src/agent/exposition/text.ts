import type { Family, Group } from '../mapping/series-table.ts';

/**
 * Writes live series in the Prometheus text format 0.0.4, one chunk for each family, families by name.
 * Histograms come as one block per label set: buckets by rising bound, then `_count`, then `_sum`.
 * Series that have not handed out a sample yet are left out.
 */
export function* expositionText(families: Iterable<Family>): Generator<string> {
  const named = [...families].filter((f) => f.groups.size > 0).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const family of named) {
    let text = '';
    for (const group of family.groups.values()) text += groupText(group);
    if (text !== '') yield header(family) + text;
  }
}

function header(family: Family): string {
  const help = family.help === '' ? '' : `# HELP ${family.name} ${escapeHelp(family.help)}\n`;
  return `${help}# TYPE ${family.name} ${family.type}\n`;
}

function groupText(group: Group): string {
  let base = '';
  for (const [name, value] of group.base) base += `${base && ','}${name}="${escapeLabelValue(value)}"`;
  let text = '';
  const ordered = group.series.length > 1 ? group.series.toSorted(byBound) : group.series;
  for (const { component, total, lastMs } of ordered) {
    if (lastMs === 0) continue;
    const extra = component.extra ? `${base && ','}${component.extra[0]}="${component.extra[1]}"` : '';
    text += `${group.family.name}${component.suffix}{${base}${extra}} ${numberText(total)}\n`;
  }
  return text;
}

type SeriesOf = Group['series'][number];

function byBound(a: SeriesOf, b: SeriesOf): number {
  if (a.component.suffix !== b.component.suffix) return order[a.component.suffix] - order[b.component.suffix];
  return boundOf(a) - boundOf(b) || 0;
}

const order = { '': 0, _bucket: 1, _count: 2, _sum: 3 } as const;

function boundOf(series: SeriesOf): number {
  const text = series.component.extra?.[1] ?? '0';
  return text === '+Inf' ? Infinity : Number(text);
}

/** A sample value as the format wants it. */
export function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  return String(value);
}

/** Backslash, double quote and line feed are escaped; everything else is UTF-8 as it is. */
export function escapeLabelValue(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
