import { platformDefaults, type PlatformInput } from '../input.ts';
import { nonRootId, ports } from '../names.ts';
import { containerPorts } from '../objects.ts';
import { nodeMemoryEnv } from '../node-memory.ts';
import { loopbackExempt } from '../query-options.ts';
import { fromField, lifeProbes, restrictedContainer } from '../pod-security.ts';
import { volumes } from './volumes.ts';

/** The instrument's version, which decides the form of the configuration file. The image's tag by default. */
export function instrumentVersion(input: PlatformInput): string {
  if (input.instrumentVersion !== undefined) return input.instrumentVersion;
  const tag = /:([^/:@]+)(@.*)?$/.exec(input.instrumentImage)?.[1];
  return tag !== undefined && /^v?[0-9]+\.[0-9]+/.test(tag) ? tag : 'v0.10.0';
}

/** The agent's ports, which the Service names too. */
export const agentPorts = {
  scrape: ports.scrape,
  'remote-read': ports.remoteRead,
  'span-stream': ports.spanStream,
  'capture-config': ports.captureConfig,
} as const;

/** Flags that the init step and the agent share, so that both write the same first file. */
function sharedFlags(input: PlatformInput): string[] {
  return [
    '--node-name=$(NODE_NAME)',
    `--data-dir=${volumes.data.path}`,
    '--otlp-bind-address=127.0.0.1',
    `--otlp-http-port=${ports.otlpHttp}`,
    `--obi-instrument-ports=${input.instrumentPorts}`,
    `--instrument-config=${volumes.ebpfConfig.file}`,
    '--instrument-health-socket=@svc-obi-health',
    `--instrument-version=${instrumentVersion(input)}`,
    ...(input.hostNetwork ? ['--host-network=true'] : []),
    ...(input.namespace === platformDefaults.namespace ? [] : [`--namespace=${input.namespace}`]),
  ];
}

const dataMount = { name: volumes.data.name, mountPath: volumes.data.path };
const configMount = { name: volumes.ebpfConfig.name, mountPath: volumes.ebpfConfig.path };

/**
 * Writes the instrument's first file, because the instrument exits immediately without one, and copies its supervisor
 * to a volume.
 *
 * The container runs as root for one reason: the kubelet creates the host folder of the store as root, and the
 * `fsGroup` has no effect on host paths. The container needs no capabilities but CHOWN, to give the folder to the
 * agent's user, and DAC_OVERRIDE, to read the agent's files there. With an emptyDir the `fsGroup` is enough, and the
 * container runs without root, like the agent.
 */
export function initConfigContainer(input: PlatformInput, pullPolicy: object) {
  const onHost = input.agentDataHostPath !== '';
  const asRoot = {
    ...restrictedContainer,
    capabilities: { add: ['CHOWN', 'DAC_OVERRIDE'], drop: ['ALL'] },
    runAsNonRoot: false,
    runAsUser: 0,
  };
  return {
    name: 'init-config',
    image: input.svcImage,
    ...pullPolicy,
    args: [
      'agent',
      'init-config',
      ...sharedFlags(input),
      `--supervisor-dir=${volumes.supervisor.path}`,
      ...(onHost ? [`--data-owner=${nonRootId}:${nonRootId}`] : []),
      `--log-level=${input.logLevel}`,
    ],
    env: [fromField('NODE_NAME', 'spec.nodeName')],
    resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '256Mi' } },
    securityContext: onHost ? asRoot : restrictedContainer,
    volumeMounts: [configMount, dataMount, { name: volumes.supervisor.name, mountPath: volumes.supervisor.path }],
  };
}

/** The agent's container: unprivileged, with a read-only root. It gets every path and address as a flag. */
export function agentContainer(input: PlatformInput, pullPolicy: object) {
  return {
    name: 'agent',
    image: input.svcImage,
    ...pullPolicy,
    args: [
      'agent',
      '--pod-ip=$(POD_IP)',
      '--bind-address=::',
      `--scrape-port=${ports.scrape}`,
      `--remote-read-port=${ports.remoteRead}`,
      `--span-stream-port=${ports.spanStream}`,
      `--capture-config-port=${ports.captureConfig}`,
      `--otlp-grpc-port=${ports.otlpGrpc}`,
      ...sharedFlags(input),
      `--instrument-state-dir=${volumes.instrumentRun.path}`,
      `--tls-dir=${volumes.tls.path}`,
      // On the host's network every process of the node would connect from loopback.
      `--loopback-exempt=${!input.hostNetwork && loopbackExempt(input.query)}`,
      '--retention-time=24h',
      `--log-level=${input.logLevel}`,
    ],
    env: [
      fromField('NODE_NAME', 'spec.nodeName'),
      fromField('POD_IP', 'status.podIP'),
      fromField('POD_NAME', 'metadata.name'),
      fromField('POD_NAMESPACE', 'metadata.namespace'),
      ...nodeMemoryEnv('agent'),
    ],
    ports: containerPorts(agentPorts),
    ...lifeProbes('scrape', { path: '/readyz', port: 'scrape' }),
    resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } },
    securityContext: restrictedContainer,
    volumeMounts: [
      configMount,
      dataMount,
      { name: volumes.tls.name, mountPath: volumes.tls.path, readOnly: true },
      { name: volumes.instrumentRun.name, mountPath: volumes.instrumentRun.path, readOnly: true },
    ],
  };
}
