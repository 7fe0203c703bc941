import type { Family, Group } from '../mapping/series-table.ts';
import type { ExpositionFormat } from './negotiate.ts';
import { boundLabel, escapeLabelValue, type PageFamily, type PageSample } from './page.ts';

/**
 * The captured series as metric families of the `/metrics` page, sorted by name. Histograms come as one block per label
 * set: buckets by rising bound, then `_count`, then `_sum`. Series without a sample yet are left out.
 */
export function capturedFamilies(families: Iterable<Family>, format: ExpositionFormat): PageFamily[] {
  return [...families]
    .filter((f) => f.groups.size > 0)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((family) => ({ ...family, blocks: blocksOf(family, format) }));
}

function* blocksOf(family: Family, format: ExpositionFormat): Generator<readonly PageSample[]> {
  for (const group of family.groups.values()) yield blockOf(group, format);
}

function blockOf(group: Group, format: ExpositionFormat): PageSample[] {
  // A group of several series, such as a histogram, caches the text that its lines share. For a single series, the
  // cache would be larger than the series.
  const { labels, ordered } = group.series.length > 1 ? (group.page ??= pageOf(group)) : pageOf(group);
  const block: PageSample[] = [];
  for (const { component, total, lastMs, exemplar } of ordered) {
    if (lastMs === 0) continue;
    const { suffix, extra } = component;
    const own = extra ? `${extra[0]}="${boundLabel(extra[1], format)}"` : '';
    block.push({ suffix, labels, extra: own, value: total, exemplar });
  }
  return block;
}

function pageOf({ base, series }: Group): NonNullable<Group['page']> {
  let text = '';
  for (const [name, value] of base) text += `${text && ','}${name}="${escapeLabelValue(value)}"`;
  return { labels: encoder.encode(text), ordered: series.length > 1 ? series.toSorted(byBound) : series };
}

const encoder = new TextEncoder();

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
