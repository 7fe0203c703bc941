import { cidrPattern } from '../base/text/address-patterns.ts';
import {
  addressSetting,
  booleanSetting,
  choiceSetting,
  durationSetting,
  integerSetting,
  listSetting,
  logLevelSetting,
  namespaceSetting,
  portSetting,
  type Setting,
  type SettingValues,
  textSetting,
  urlSetting,
} from '../base/settings.ts';
import {
  captureOptionTable,
  customMetricsModes,
  defaultCustomMetricsMode,
  platformDefaults,
  queryOptions,
  queryOptionTable,
  type PlatformInput,
  type ServiceAccountRef,
  instrumentPrivileges,
} from '../render/index.ts';

/** Flags and variables of `svc operator`. */
export const operatorSettingTable = {
  namespace: namespaceSetting({
    help: 'namespace of the operator, its agents and its query server',
    default: platformDefaults.namespace,
  }),
  bindAddress: addressSetting({ help: 'address of the metrics and health port', default: '::' }),
  metricsPort: portSetting({ help: 'port of /metrics, /livez and /readyz', default: '8080' }),
  svcImage: imageSetting({ help: 'image of agents and query server', default: platformDefaults.svcImage }),
  instrumentImage: imageSetting({
    help: 'image of the eBPF instrument; its tag is the version that its configuration is written for',
    default: platformDefaults.instrumentImage,
  }),
  instrumentVersion: captureOptionTable.instrumentVersion,
  instrumentProgram: textSetting(
    {
      help: "path of the instrument's program in its image, if it is not one of upstream's /obi, /ebpf-instrument and /beyla",
      default: '',
    },
    /^(\/[^\s$]*)?$/,
    'an absolute path',
  ),
  instrumentPrivileges: choiceSetting(
    {
      help: "privileges of the instrument's container: capabilities (those that it checks for), sys-admin (SYS_ADMIN as well), or privileged, for nodes that require it",
      default: 'capabilities',
    },
    instrumentPrivileges,
  ),
  imagePullPolicy: choiceSetting(
    {
      help: 'when nodes pull our images: Always, IfNotPresent or Never; empty leaves it to the cluster. Images loaded into nodes by hand need IfNotPresent',
      default: '',
    },
    ['', 'Always', 'IfNotPresent', 'Never'],
  ),
  imagePullSecrets: listSetting(
    { help: 'names of Secrets with registry credentials, in the namespace, with commas between', default: '' },
    /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/,
    'the name of a Secret',
  ),
  collector: serviceAccountSetting({
    help: 'service account of the metrics collector, NAMESPACE/NAME: it may get /metrics, and its namespace may reach the metrics ports',
    default: `${platformDefaults.collector.namespace}/${platformDefaults.collector.name}`,
  }),
  allowExtraConfig: captureOptionTable.allowExtraConfig,
  customMetrics: choiceSetting(
    {
      help: 'offer captured metrics to autoscalers: auto (unless another server has the API), force (take it over) or off',
      default: defaultCustomMetricsMode,
    },
    customMetricsModes,
  ),
  externalMetrics: choiceSetting(
    {
      help: 'offer the same metrics as external.metrics.k8s.io, an API that KEDA often owns: auto, force or off; without effect where --custom-metrics is off',
      default: 'off',
    },
    customMetricsModes,
  ),
  apiServerCidrs: listSetting(
    {
      help: 'address ranges of the API servers, with commas between; only they may then reach the custom metrics port',
      default: '',
    },
    new RegExp(cidrPattern),
    'an address range such as 10.0.0.0/28 or fd00::/8',
  ),
  leaderElect: booleanSetting({ help: 'work only while holding the Lease svc-controller', default: 'true' }),
  obiInstrumentPorts: captureOptionTable.obiInstrumentPorts,
  agentDataHostPath: textSetting(
    {
      help: "folder on each node for the agent's store; empty for one that ends with the pod",
      default: platformDefaults.agentDataHostPath,
    },
    /^(\/[^\0]{1,255})?$/,
    'an absolute path',
  ),
  queryReplicas: integerSetting(
    { help: 'replicas of the query server', default: String(platformDefaults.queryReplicas ?? 2) },
    1,
    20,
  ),
  ...queryOptionTable,
  admission: choiceSetting(
    {
      help: 'check monitors and policies when they are written: off, fail-open (accept an object that cannot be checked) or fail-closed (refuse it)',
      default: 'off',
    },
    ['off', 'fail-open', 'fail-closed'],
  ),
  admissionPort: portSetting({ help: 'port of the admission and conversion webhooks', default: '9443' }),
  admissionUrl: urlSetting(
    { help: 'where the API server reaches the webhooks of an operator outside of its cluster', default: '' },
    { protocols: ['https'], bare: true },
  ),
  shutdownQuiet: durationSetting({
    help: 'after SIGTERM the webhooks are served until no new connection has come for this long, but for 15s at most; 0s: they close at once',
    default: '3s',
  }),
  admissionClientCaFile: textSetting({
    help: 'PEM file with the authorities of the client certificate that the API server presents to webhooks; empty: it presents none, and the webhooks answer any caller',
    default: '',
  }),
  admissionClientNames: listSetting(
    {
      help: 'allowed subject CNs of that certificate, with commas between; empty: any certificate of those authorities',
      default: '',
    },
    /^[^\s,]{1,253}$/,
    'a common name',
  ),
  otlpEndpoint: urlSetting(
    {
      help: 'OTLP/HTTP endpoint for a span per reconcile; empty: that of OTEL_EXPORTER_OTLP_ENDPOINT, if it is set',
      default: '',
    },
    { protocols: ['http', 'https'] },
  ),
  logLevel: logLevelSetting,
};

function imageSetting(meaning: { help: string; default: string }): Setting<string> {
  return textSetting(meaning, /^[a-z0-9][a-zA-Z0-9._/:@-]{0,511}$/, 'an image reference');
}

function serviceAccountSetting(meaning: { help: string; default: string }): Setting<ServiceAccountRef> {
  return {
    ...meaning,
    parse: (text) => {
      const [, namespace, name] = /^([a-z0-9][-a-z0-9]{0,62})\/([a-z0-9][-a-z0-9.]{0,252})$/.exec(text) ?? [];
      if (!namespace || !name) throw new Error(`${JSON.stringify(text)} is not NAMESPACE/NAME of a service account`);
      return { namespace, name };
    },
  };
}

export type OperatorSettings = SettingValues<typeof operatorSettingTable>;

/** The settings that `svc install` has, too. */
type SharedSettings = Omit<
  OperatorSettings,
  'bindAddress' | 'metricsPort' | 'leaderElect' | 'shutdownQuiet' | 'otlpEndpoint' | `admission${string}`
>;

/** The inputs of the renderers that come from the shared settings. */
export function sharedInput(settings: SharedSettings) {
  return {
    namespace: settings.namespace,
    svcImage: settings.svcImage,
    instrumentImage: settings.instrumentImage,
    ...(settings.instrumentVersion === '' ? {} : { instrumentVersion: settings.instrumentVersion }),
    ...(settings.instrumentProgram === '' ? {} : { instrumentProgram: settings.instrumentProgram }),
    instrumentPrivileges: settings.instrumentPrivileges,
    ...(settings.imagePullPolicy === '' ? {} : { imagePullPolicy: settings.imagePullPolicy }),
    imagePullSecrets: settings.imagePullSecrets,
    collector: settings.collector,
    apiServerCidrs: settings.apiServerCidrs,
    instrumentPorts: settings.obiInstrumentPorts,
    allowExtraConfig: settings.allowExtraConfig,
    agentDataHostPath: settings.agentDataHostPath,
    queryReplicas: settings.queryReplicas,
    query: queryOptions(settings),
    logLevel: settings.logLevel,
  };
}

/** What the operator's settings say about the objects of agents and query server, as the renderer takes it. */
export function platformInput(settings: OperatorSettings): PlatformInput {
  return { ...platformDefaults, ...sharedInput(settings) };
}
