import {
  booleanSetting,
  integerSetting,
  logLevelSetting,
  portSetting,
  textSetting,
  type SettingValues,
} from '../base/settings.ts';
import { platformDefaults, type PlatformInput } from '../render/index.ts';

const image = /^[a-z0-9][a-zA-Z0-9._/:@-]{0,511}$/;
const portList = /^[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*$/;

/** Flags and variables of `svc operator`. */
export const operatorSettingTable = {
  namespace: textSetting(
    { help: 'namespace of the operator, its agents and its query server', default: platformDefaults.namespace },
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
    'a namespace name',
  ),
  bindAddress: textSetting({ help: 'address of the metrics and health port', default: '0.0.0.0' }),
  metricsPort: portSetting({ help: 'port of /metrics, /livez and /readyz', default: '8080' }),
  svcImage: textSetting(
    { help: 'image of agents and query server', default: platformDefaults.svcImage },
    image,
    'an image reference',
  ),
  instrumentImage: textSetting(
    {
      help: 'image of the eBPF instrument; its tag is the version that its configuration is written for',
      default: platformDefaults.instrumentImage,
    },
    image,
    'an image reference',
  ),
  leaderElect: booleanSetting({ help: 'work only while holding the Lease svc-controller', default: 'true' }),
  obiInstrumentPorts: textSetting(
    { help: 'ports captured where no policy says otherwise', default: platformDefaults.instrumentPorts },
    portList,
    'a list of ports such as 80,443,8000-8100',
  ),
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
  otlpEndpoint: textSetting(
    {
      help: 'OTLP/HTTP endpoint for a span per reconcile; empty for what OTEL_EXPORTER_OTLP_ENDPOINT says, or none',
      default: '',
    },
    /^(https?:\/\/[^\s]{1,1024})?$/,
    'an http or https address',
  ),
  logLevel: logLevelSetting,
};

export type OperatorSettings = SettingValues<typeof operatorSettingTable>;

/** What the platform is rendered from, given the operator's settings. */
export function platformInput(settings: OperatorSettings): PlatformInput {
  return {
    ...platformDefaults,
    namespace: settings.namespace,
    svcImage: settings.svcImage,
    instrumentImage: settings.instrumentImage,
    instrumentPorts: settings.obiInstrumentPorts,
    agentDataHostPath: settings.agentDataHostPath,
    queryReplicas: settings.queryReplicas,
    logLevel: settings.logLevel,
  };
}
