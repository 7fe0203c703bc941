import {
  addressSetting,
  booleanSetting,
  durationSetting,
  integerSetting,
  logLevelSetting,
  namespaceSetting,
  portSetting,
  textSetting,
  type SettingValues,
} from '../base/settings.ts';
import { captureOptionTable, queryDurations, queryOptionTable, selectorText } from '../render/index.ts';

/** Flags of `svc query`; each is also an environment variable `SVC_…`. */
export const querySettingTable = {
  namespace: namespaceSetting({ help: 'namespace of the agents' }),
  bindAddress: addressSetting({ help: 'address of both listeners', default: '::' }),
  port: portSetting({ help: 'port of the query API (TLS)', default: '9095' }),
  healthPort: portSetting({ help: 'port of /livez, /readyz and /metrics (plain HTTP)', default: '9096' }),
  tlsDir: textSetting({ help: 'folder with tls.crt, tls.key and ca.crt', default: '/etc/svc/tls' }),
  agentSelector: textSetting({
    help: "label selector of the agents' DaemonSet and pods",
    default: selectorText('agent'),
  }),
  agentReadPort: portSetting({ help: 'remote-read port of the agents', default: '9091' }),
  agentStreamPort: portSetting({ help: 'port of the stream of spans and flows of the agents', default: '9092' }),
  streamMaxClients: integerSetting(
    { help: 'readers of the relayed stream of spans and flows at the same time; further ones get 503', default: '32' },
    1,
    60,
  ),
  pushdown: queryOptionTable.pushdown,
  agentTimeout: queryDurations.agentTimeout,
  queryTimeout: queryDurations.queryTimeout,
  maxSamples: queryOptionTable.maxSamples,
  queryMemory: queryOptionTable.queryMemory,
  lookbackDelta: queryDurations.lookbackDelta,
  maxConcurrency: queryOptionTable.maxConcurrency,
  tenancy: queryOptionTable.tenancy,
  clusterName: queryOptionTable.clusterName,
  queryLogFile: textSetting({
    help: 'file for one JSON line per query; - is the standard output, empty writes none',
    default: '',
  }),
  queryLogMaxBytes: integerSetting(
    { help: 'size at which the query log is begun anew; one old file is kept', default: '104857600' },
    1_000,
    2 ** 40,
  ),
  activeQueriesFile: textSetting({
    help: 'file that lists the running queries, so that they are known after a crash; empty keeps none',
    default: '',
  }),
  longTermUrl: queryOptionTable.longTermUrl,
  longTermAfter: queryDurations.longTermAfter,
  longTermApi: queryOptionTable.longTermApi,
  longTermTokenFile: textSetting({ help: 'file with a bearer token for it; empty: none', default: '' }),
  longTermCaFile: textSetting({
    help: "file with authorities of its certificate besides the system's, read at each request; it need not exist; empty: none",
    default: '',
  }),
  longTermTenant: queryOptionTable.longTermTenant,
  longTermLabels: queryOptionTable.longTermLabels,
  warmUp: durationSetting({
    help: 'time for made-up queries before the listeners open, so that the first real ones are not slow; 0s: none',
    default: '300ms',
  }),
  shutdownQuiet: durationSetting({
    help: 'after SIGTERM the listeners stay open until no new connection has come for this long, but for 15s at most; 0s: they close at once',
    default: '3s',
  }),
  loopbackExempt: queryOptionTable.loopbackExempt,
  customMetrics: booleanSetting({ help: 'serve custom.metrics.k8s.io for autoscalers', default: 'false' }),
  customMetricsPort: portSetting({ help: 'port of the API for autoscalers (TLS)', default: '6443' }),
  externalMetrics: booleanSetting({ help: 'serve external.metrics.k8s.io on that port too', default: 'false' }),
  partialAggregates: queryOptionTable.partialAggregates,
  customMetricsFallback: queryOptionTable.customMetricsFallback,
  customMetricsFallbackCaFile: textSetting({
    help: "file with the authorities of the second adapter's certificate; empty: the system's",
    default: '',
  }),
  customMetricsFallbackTokenFile: textSetting({
    help: 'file with the bearer token for the second adapter; empty: none',
    default: '/var/run/secrets/kubernetes.io/serviceaccount/token',
  }),
  customMetricsRules: textSetting({
    help: 'file with prometheus-adapter rules; empty or missing means none',
    default: '',
  }),
  obiInstrumentPorts: captureOptionTable.obiInstrumentPorts,
  instrumentVersion: captureOptionTable.instrumentVersion,
  allowExtraConfig: captureOptionTable.allowExtraConfig,
  logLevel: logLevelSetting,
} as const;

export type QuerySettings = SettingValues<typeof querySettingTable>;
