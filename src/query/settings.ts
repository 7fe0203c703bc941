import {
  booleanSetting,
  choiceSetting,
  durationSetting,
  integerSetting,
  logLevelSetting,
  portSetting,
  textSetting,
  type SettingValues,
} from '../base/settings.ts';

/** Flags of `svc query`; each is also an environment variable `SVC_…`. */
export const querySettingTable = {
  namespace: textSetting(
    { help: 'namespace of the agents' },
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
    'a namespace name',
  ),
  bindAddress: textSetting({ help: 'address of both listeners', default: '0.0.0.0' }),
  port: portSetting({ help: 'port of the query API (TLS)', default: '9095' }),
  healthPort: portSetting({ help: 'port of /livez, /readyz and /metrics (plain HTTP)', default: '9096' }),
  tlsDir: textSetting({ help: 'folder with tls.crt, tls.key and ca.crt', default: '/etc/svc/tls' }),
  agentSelector: textSetting({
    help: "label selector of the agents' DaemonSet and pods",
    default: 'app.kubernetes.io/component=agent',
  }),
  agentReadPort: portSetting({ help: 'remote-read port of the agents', default: '9091' }),
  pushdown: choiceSetting(
    { help: 'what agents may compute of a query: partial states (agg), series, or nothing (off)', default: 'agg' },
    ['agg', 'series', 'off'],
  ),
  agentTimeout: durationSetting({ help: 'how long one agent may take to answer', default: '10s' }),
  queryTimeout: durationSetting({ help: 'how long one query may take', default: '2m' }),
  maxSamples: integerSetting(
    { help: 'most samples one query may hold in memory', default: '50000000' },
    1,
    2_000_000_000,
  ),
  lookbackDelta: durationSetting({ help: 'how far back an instant selector looks', default: '5m' }),
  maxConcurrency: integerSetting({ help: 'queries that run at a time', default: '20' }, 1, 10_000),
  tenancy: booleanSetting({
    help: 'show a user only the series of namespaces whose pods they may read',
    default: 'false',
  }),
  clusterName: textSetting({
    help: 'value of the label `cluster` in federation and remote read; empty adds none',
    default: '',
  }),
  queryLogFile: textSetting({ help: 'file for one JSON line per query; empty writes none', default: '' }),
  queryLogMaxBytes: integerSetting(
    { help: 'size at which the query log is begun anew; one old file is kept', default: '104857600' },
    1_000,
    2 ** 40,
  ),
  activeQueriesFile: textSetting({
    help: 'file that names running queries, so that a crash tells which they were; empty keeps none',
    default: '',
  }),
  longTermUrl: textSetting(
    {
      help: 'address before /api/v1 of a Prometheus-compatible store that answers for older times; empty: none',
      default: '',
    },
    /^$|^https?:\/\/[^\s?#]+$/,
    'an http or https address',
  ),
  longTermAfter: durationSetting({
    help: 'age from which the long-term store answers; less than the agents keep',
    default: '22h',
  }),
  longTermApi: choiceSetting(
    { help: 'how it is read: remote read, or range selectors by the query API where it has none', default: 'read' },
    ['read', 'query'],
  ),
  longTermTokenFile: textSetting({ help: 'file with a bearer token for it; empty: none', default: '' }),
  longTermTenant: textSetting({ help: 'X-Scope-OrgID for it; empty: none', default: '' }),
  loopbackExempt: booleanSetting({ help: 'serve loopback clients without a token', default: 'true' }),
  customMetrics: booleanSetting({ help: 'serve custom.metrics.k8s.io for autoscalers', default: 'false' }),
  customMetricsPort: portSetting({ help: 'port of the API for autoscalers (TLS)', default: '6443' }),
  externalMetrics: booleanSetting({ help: 'serve external.metrics.k8s.io on that port too', default: 'false' }),
  partialAggregates: booleanSetting({
    help: 'give autoscalers values that lack a node, which are too small, instead of 503',
    default: 'false',
  }),
  customMetricsRules: textSetting({
    help: 'file with prometheus-adapter rules; empty or missing means none',
    default: '',
  }),
  logLevel: logLevelSetting,
} as const;

export type QuerySettings = SettingValues<typeof querySettingTable>;
