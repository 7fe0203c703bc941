import {
  addressSetting,
  booleanSetting,
  durationSetting,
  integerSetting,
  logLevelSetting,
  namespaceSetting,
  portListSetting,
  portSetting,
  type SettingValues,
  textSetting,
} from '../base/settings.ts';

const shared = {
  nodeName: textSetting(
    { help: 'name of the node this agent serves' },
    /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/,
    'a node name',
  ),
  namespace: namespaceSetting({
    help: "the product's own namespace, which is never captured",
    default: 'svc-system',
  }),
  dataDir: textSetting({
    help: 'directory of the store and of the last good capture config',
    default: '/var/lib/svc-agent',
  }),
  otlpBindAddress: addressSetting({ help: 'address of the OTLP receivers; keep it on loopback', default: '127.0.0.1' }),
  otlpHttpPort: portSetting({ help: 'OTLP over HTTP', default: '4318' }),
  obiInstrumentPorts: portListSetting({
    help: 'ports that are captured while no resource says otherwise, with ranges such as 8000-8999',
    default: '80,443,8080,8443',
  }),
  instrumentConfig: textSetting({
    help: "path of the instrument's configuration file",
    default: '/etc/svc/ebpf-config/config.yaml',
  }),
  instrumentHealthSocket: textSetting({
    help: 'health socket of the instrument; a leading @ is the abstract namespace',
    default: '@svc-obi-health',
  }),
  hostNetwork: booleanSetting({
    help: 'this pod shares the network of its node: flows are captured before any policy is known',
    default: 'false',
  }),
  instrumentVersion: textSetting({ help: 'version of the instrument that runs beside this agent', default: 'v0.10.0' }),
};

/** Every setting of `svc agent`: flag, variable (prefix `SVC_`), default, help and check. */
export const agentSettingTable = {
  ...shared,
  instrumentStateDir: textSetting({
    help: "directory in which the instrument's supervisor says what runs",
    default: '/var/run/obi',
  }),
  podIp: textSetting({ help: 'IP address of this pod, for the log', default: '' }),
  bindAddress: addressSetting({
    help: 'address of the scrape, remote-read, span and capture listeners',
    default: '::',
  }),
  scrapePort: portSetting({ help: 'metrics and probes', default: '9090' }),
  remoteReadPort: portSetting({ help: 'Prometheus remote read', default: '9091' }),
  spanStreamPort: portSetting({ help: 'span stream', default: '9092' }),
  captureConfigPort: portSetting({ help: 'capture configuration from the controller', default: '9093' }),
  otlpGrpcPort: portSetting({ help: 'OTLP over gRPC', default: '4317' }),
  tlsDir: textSetting({
    help: 'directory with ca.crt and token, the proof by which the operator issues a certificate; or with ca.crt, tls.crt and tls.key, which are then used as they are; empty leaves remote read, spans and capture config off',
    default: '/etc/svc/tls',
  }),
  loopbackExempt: booleanSetting({
    help: 'scrapes from loopback need no token; set it to false on a host network',
    default: 'true',
  }),
  kernelCheck: booleanSetting({
    help: 'report what the instrument needs and the kernel lacks; set it to false where a stand-in replaces the instrument',
    default: 'true',
  }),
  exportQueueSize: integerSetting(
    {
      help: 'bytes of disk for data that waits for export destinations, all together',
      default: String(512 * 1024 ** 2),
    },
    1024 ** 2,
    Number.MAX_SAFE_INTEGER,
  ),
  queryMemory: integerSetting(
    {
      help: "bytes that this agent's parts of all queries may use together; further queries wait. 0: half of the container's memory limit",
      default: '0',
    },
    0,
    2 ** 40,
  ),
  retentionTime: durationSetting({ help: 'how long samples are kept, at least 10m', default: '24h' }, 600_000),
  retentionSize: integerSetting(
    { help: 'bytes that finished blocks and damaged files may take', default: String(2 * 1024 ** 3) },
    1024 ** 2,
    Number.MAX_SAFE_INTEGER,
  ),
  logLevel: logLevelSetting,
};

/** The settings of `svc agent init-config`: those of the agent that decide what it writes. */
export const initConfigSettingTable = {
  ...shared,
  dataOwner: textSetting(
    { help: 'uid:gid that gets the data directory where this runs as root; empty leaves it alone', default: '' },
    /^(\d{1,10}:\d{1,10})?$/,
    'numbers such as 65532:65532',
  ),
  supervisorDir: textSetting({
    help: "directory that gets the instrument's supervisor and what it needs to run; empty for none",
    default: '',
  }),
  logLevel: logLevelSetting,
};

export type AgentSettings = SettingValues<typeof agentSettingTable>;
export type InitConfigSettings = SettingValues<typeof initConfigSettingTable>;

/** The URL at which the instrument, in the same pod, reaches the agent. */
export function otlpEndpoint(settings: Pick<AgentSettings, 'otlpBindAddress' | 'otlpHttpPort'>): string {
  const { otlpBindAddress: host, otlpHttpPort: port } = settings;
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
