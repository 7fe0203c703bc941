/** The kinds that `top` lists. */
export const topKindNames = ['workloads', 'pods', 'services', 'namespaces', 'nodes'] as const;
export type TopKindName = (typeof topKindNames)[number];

/** Short and singular names of these kinds. */
export const kindAliases: Readonly<Record<string, TopKindName>> = {
  workload: 'workloads',
  wl: 'workloads',
  pod: 'pods',
  po: 'pods',
  service: 'services',
  svc: 'services',
  namespace: 'namespaces',
  ns: 'namespaces',
  node: 'nodes',
  no: 'nodes',
};

/** The columns to sort by. */
export const sortKeys = ['name', 'rps', 'errors', 'p50', 'p99', 'in', 'out'] as const;
export type SortKey = (typeof sortKeys)[number];

export const topFormats = ['table', 'wide', 'json'] as const;

export interface TopFlags {
  window: string;
  sortBy: SortKey;
  selector?: string;
  limit: string;
  watch: boolean;
  interval: string;
  output: (typeof topFormats)[number];
  headers: boolean;
}
