import {
  booleanSetting,
  choiceSetting,
  durationSetting,
  flagOf,
  integerSetting,
  textSetting,
  urlSetting,
  type Setting,
  type SettingTable,
} from '../base/settings.ts';

/** A duration that stays text, because it is passed on to `svc query` as a flag. */
function durationText(row: Setting<number>): Setting<string> {
  return {
    ...row,
    parse: (text) => {
      row.parse(text);
      return text;
    },
  };
}

/** The durations of queries as `svc query` reads them. The shortest timeouts are those that a policy may set. */
export const queryDurations = {
  agentTimeout: durationSetting(
    { help: 'how long one agent may take to answer a query, at least 100ms', default: '10s' },
    100,
  ),
  queryTimeout: durationSetting({ help: 'how long one query may take, at least 1s', default: '2m' }, 1_000),
  lookbackDelta: orDefault(
    durationSetting({ help: 'how far back an instant selector looks; 0s: the default', default: '5m' }),
  ),
  longTermAfter: durationSetting({
    help: 'age from which the long-term store answers; less than the agents keep',
    default: '22h',
  }),
};

/** The setting with its default in place of 0. */
function orDefault(row: Setting<number>): Setting<number> {
  return { ...row, parse: (text) => row.parse(text) || row.parse(row.default!) };
}

/**
 * The options of an installation for its query server. The same rows are settings of `svc operator`, `svc install` and
 * the chart; `svc query` has each under the same name, except those that add a volume or a Secret.
 */
export const queryOptionTable = {
  pushdown: choiceSetting(
    {
      help: 'what agents may compute of a query: all of it where one node has all it reads (whole), partial states (agg), series, or nothing (off)',
      default: 'whole',
    },
    ['whole', 'agg', 'series', 'off'],
  ),
  agentTimeout: durationText(queryDurations.agentTimeout),
  queryTimeout: durationText(queryDurations.queryTimeout),
  maxSamples: integerSetting(
    { help: 'most samples one query may hold in memory', default: '50000000' },
    1,
    2_000_000_000,
  ),
  queryMemory: integerSetting(
    {
      help: "bytes that all queries may use together; further queries wait. 0: half of the container's memory limit",
      default: '0',
    },
    0,
    2 ** 40,
  ),
  lookbackDelta: durationText(queryDurations.lookbackDelta),
  maxConcurrency: integerSetting(
    {
      help: 'queries that run at a time, of one user at most half of them; as many again may be let in for users with few running',
      default: '20',
    },
    1,
    10_000,
  ),
  tenancy: booleanSetting({
    help: 'show a user of the query server only the series of namespaces whose pods they may read',
    default: 'false',
  }),
  loopbackExempt: booleanSetting({
    help: 'serve connections from 127.0.0.1 and ::1, as a port-forward makes them, without a token; off with tenancy',
    default: 'true',
  }),
  clusterName: textSetting(
    { help: 'value of the label `cluster` in federation and remote read; empty adds none', default: '' },
    /^[^\s]{0,253}$/,
    'a name without spaces',
  ),
  partialAggregates: booleanSetting({
    help: 'give autoscalers values that lack a node, which are too small, instead of 503',
    default: 'false',
  }),
  customMetricsFallback: urlSetting(
    {
      help: 'https address of a second adapter, for metrics that this server does not have; empty: none',
      default: '',
    },
    { protocols: ['https'] },
  ),
  customMetricsFallbackSecret: textSetting(
    {
      help: "Secret in the namespace whose key `ca.crt` is the authority of the second adapter's certificate; empty: the system's authorities",
      default: '',
    },
    /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$/,
    'the name of a Secret',
  ),
  longTermUrl: urlSetting(
    {
      help: 'address before /api/v1 of a Prometheus-compatible store that answers queries for older times; empty: none',
      default: '',
    },
    { protocols: ['http', 'https'] },
  ),
  longTermAfter: durationText(queryDurations.longTermAfter),
  longTermApi: choiceSetting(
    {
      help: 'how the long-term store is read: remote read, or range selectors by the query API where it has none',
      default: 'read',
    },
    ['read', 'query'],
  ),
  longTermTenant: textSetting(
    { help: 'X-Scope-OrgID for the long-term store; empty: none', default: '' },
    /^[^\s]{0,150}$/,
    'a tenant without spaces',
  ),
  longTermLabels: textSetting(
    {
      help: 'labels that the long-term store adds to every series, as cluster=eu,replica: they are not shown, and where a value is given only series with it are read; empty: none',
      default: '',
    },
    /^([a-zA-Z_]\w*(=[^\s,"'\\]+)?(,[a-zA-Z_]\w*(=[^\s,"'\\]+)?)*)?$/,
    'names of labels, each with =value or without, separated by commas',
  ),
  longTermSecret: textSetting(
    {
      help: 'Secret in the namespace whose key `token` is a bearer token for the long-term store, and whose key `ca.crt`, if there is one, its authority; empty: none',
      default: '',
    },
    /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$/,
    'the name of a Secret',
  ),
  queryLog: booleanSetting({
    help: "write one JSON line for each query to the query server's output",
    default: 'false',
  }),
} as const satisfies SettingTable;

export type QueryOption = keyof typeof queryOptionTable;
/** The chosen options, as texts of flags; defaults are left out. */
export type QueryOptions = Readonly<Partial<Record<QueryOption, string>>>;

/**
 * Options that are not passed to `svc query` unchanged: mounts, mount paths, and options that depend on another option.
 */
const ofThePod: readonly QueryOption[] = [
  'customMetricsFallbackSecret',
  'longTermSecret',
  'queryLog',
  'loopbackExempt',
];

/** Selects the options that differ from their defaults, from settings that were read with `queryOptionTable`. */
export function queryOptions(settings: Readonly<Record<QueryOption, unknown>>): QueryOptions {
  const rows = Object.entries(queryOptionTable) as [QueryOption, Setting<unknown>][];
  return Object.fromEntries(
    rows.flatMap(([key, row]) => {
      const text = String(settings[key]);
      return text === row.default ? [] : [[key, text]];
    }),
  );
}

/** The options as flags, such as `--tenancy=true`, in the order of `queryOptionTable`. */
export function queryOptionFlags(options: QueryOptions): string[] {
  return (Object.keys(queryOptionTable) as QueryOption[]).flatMap((key) => {
    const text = options[key];
    return text === undefined ? [] : [`${flagOf(key)}=${text}`];
  });
}

/** Whether connections from inside our pods need no token. With tenancy they do: only a token identifies a tenant. */
export function loopbackExempt(options: QueryOptions = {}): boolean {
  return options.loopbackExempt !== 'false' && options.tenancy !== 'true';
}

/** The flags that `svc query` accepts unchanged. */
export function queryServerFlags(options: QueryOptions): string[] {
  return queryOptionFlags(
    Object.fromEntries(Object.entries(options).filter(([key]) => !ofThePod.includes(key as QueryOption))),
  );
}
