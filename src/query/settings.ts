import {
  booleanSetting,
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
  agentTimeout: durationSetting({ help: 'how long one agent may take to answer', default: '10s' }),
  queryTimeout: durationSetting({ help: 'how long one query may take', default: '2m' }),
  maxSamples: integerSetting(
    { help: 'most samples one query may hold in memory', default: '50000000' },
    1,
    2_000_000_000,
  ),
  lookbackDelta: durationSetting({ help: 'how far back an instant selector looks', default: '5m' }),
  maxConcurrency: integerSetting({ help: 'queries that run at a time', default: '20' }, 1, 10_000),
  loopbackExempt: booleanSetting({ help: 'serve loopback clients without a token', default: 'true' }),
  logLevel: logLevelSetting,
} as const;

export type QuerySettings = SettingValues<typeof querySettingTable>;
