import type { Family } from '../mapping/series-table.ts';
import type { SeriesMeta } from './queue/record.ts';

/** Metadata of the metric that a series belongs to; for the agent's own series, the type is derived from the name. */
export function seriesMeta(families: ReadonlyMap<string, Family>, name: string): SeriesMeta {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|count|sum)$/, ''));
  if (family) return { family: family.name, type: family.type, help: family.help, unit: family.unit };
  return { family: name, type: name.endsWith('_total') ? 'counter' : 'gauge', help: '', unit: '' };
}
