/** A table of docs/guides/benchmarks.md, and the command whose figures it shows. */
export interface Part {
  /** The name in the markers of the guide. */
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  /** The names of the figures that the table shows; the others are only in the file of results. Default: all. */
  readonly shows?: RegExp;
}

/** All parts take some forty minutes on two idle cores, without the first build of programs and data. */
export const parts: readonly Part[] = [
  { name: 'runtime', script: 'bench:runtime', args: [] },
  { name: 'minter', script: 'bench:minter', args: [] },
  { name: 'promql', script: 'bench:promql', args: [], shows: /^(?!.*\/(http|evaluation)$)/ },
  {
    name: 'fan-out',
    script: 'bench:query',
    args: ['--only', 'fanout'],
    shows: /\/(time|bytes-from-agents|query-cpu)$/,
  },
  { name: 'one-agent', script: 'bench:query', args: ['--only', 'one-agent'] },
  { name: 'thanos', script: 'bench:query', args: ['--only', 'thanos/3-stores'] },
  { name: 'thanos-many', script: 'bench:query', args: ['--only', 'thanos/10-stores'] },
  { name: 'clients', script: 'bench:query', args: ['--only', 'clients'] },
  { name: 'topology', script: 'bench:topology', args: [] },
  { name: 'page', script: 'bench:page', args: [] },
  { name: 'shipped', script: 'bench:shipped', args: [] },
  { name: 'agent', script: 'bench:agent', args: ['--only', 'rates'] },
  {
    name: 'agent-budget',
    script: 'bench:agent',
    args: ['--only', 'budget', '--history-rounds', '48', '--pace-seconds', '5'],
  },
  { name: 'agent-start', script: 'bench:agent', args: ['--only', 'start', '--history-rounds', '48'] },
  { name: 'otlp', script: 'bench:otlp', args: [] },
  { name: 'capture', script: 'bench:capture', args: [] },
  { name: 'floors', script: 'bench:floors', args: [] },
  { name: 'store-ingest', script: 'bench:tsdb', args: ['--only', 'ingest', '--series', '5000'] },
  { name: 'store-codec', script: 'bench:tsdb', args: ['--only', 'codec'] },
  { name: 'store-remote-read', script: 'bench:tsdb', args: ['--only', 'remote-read'] },
  { name: 'store-weight', script: 'bench:tsdb', args: ['--only', 'weight'] },
  { name: 'store-head', script: 'bench:tsdb', args: ['--only', 'head', '--scrapes', '240'] },
];

export function commandOf({ script, args }: Part): string {
  return ['npm run', script, ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
}
