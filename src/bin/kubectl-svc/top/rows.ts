import { namespaceLabel } from '../../../api/labels.ts';
import type { VectorSample } from '../query/result.ts';
import { workloadKinds, type TopKind } from './kinds.ts';
import type { SortKey } from './top-flags.ts';
import { figureLabel, type Figure } from './top-query.ts';

/** One object and its figures; a figure is undefined if the object had no such traffic in the window. */
export interface TopRow extends Readonly<Partial<Record<Figure, number>>> {
  readonly namespace?: string;
  readonly kind?: string;
  readonly name: string;
}

/** The kind of the row of pods without a workload. */
export const noWorkload = 'none';

/** The rows of an answer to `topQuery`. Pure. */
export function rowsOf(kind: TopKind, result: readonly VectorSample[]): TopRow[] {
  const rows = new Map<string, TopRow & Partial<Record<Figure, number>>>();
  for (const { metric, value } of result) {
    const identity = identityOf(kind, metric);
    const key = JSON.stringify(identity);
    const row: { -readonly [K in keyof TopRow]: TopRow[K] } = rows.get(key) ?? { ...identity };
    const number = Number(value?.[1] ?? NaN);
    if (Number.isFinite(number)) row[metric[figureLabel] as Figure] = number;
    rows.set(key, row);
  }
  return [...rows.values()];
}

function identityOf(
  kind: TopKind,
  metric: Readonly<Record<string, string>>,
): Pick<TopRow, 'namespace' | 'kind' | 'name'> {
  const namespace = kind.namespaced ? { namespace: metric[namespaceLabel] ?? '' } : {};
  if (kind.name !== 'workloads') return { ...namespace, name: metric[kind.by.at(-1)!] ?? '' };
  const owner = workloadKinds.find(({ label }) => metric[label]);
  if (!owner) return { ...namespace, kind: noWorkload, name: 'pods without a workload' };
  return { ...namespace, kind: owner.ref.kind, name: metric[owner.label]! };
}

const sortFigures = {
  name: undefined,
  rps: 'requestsPerSecond',
  errors: 'errorRatio',
  p50: 'p50Seconds',
  p99: 'p99Seconds',
  in: 'inBytesPerSecond',
  out: 'outBytesPerSecond',
} as const satisfies Record<SortKey, Figure | undefined>;

/** The rows with the largest figure first, those without it last; equal ones by name. Pure. */
export function sorted(rows: readonly TopRow[], by: SortKey): TopRow[] {
  const figure = sortFigures[by];
  const name = ({ namespace = '', kind = '', name }: TopRow): string => `${namespace}/${name}/${kind}`;
  return rows.toSorted((a, b) => {
    const size = figure === undefined ? 0 : (b[figure] ?? -1) - (a[figure] ?? -1);
    return size || (name(a) < name(b) ? -1 : 1);
  });
}
