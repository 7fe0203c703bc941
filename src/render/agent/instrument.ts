import type { PlatformInput } from '../input.ts';
import { fromField } from '../pod-security.ts';
import { volumes } from './volumes.ts';

/**
 * The capabilities that the instrument's own check requires. If a capability is missing, the instrument exits with a
 * message that names it. BPF loads programs; PERFMON, SYS_PTRACE, CHECKPOINT_RESTORE and DAC_READ_SEARCH attach to
 * processes of other users; NET_RAW opens the flow socket filter; SYS_RESOURCE lifts the memory lock limit on kernels
 * before 5.11.
 */
export const captureCapabilities: readonly string[] = [
  'BPF',
  'CHECKPOINT_RESTORE',
  'DAC_READ_SEARCH',
  'NET_RAW',
  'PERFMON',
  'SYS_PTRACE',
  'SYS_RESOURCE',
];

/**
 * The instrument's environment. Flows and TCP statistics each need the node's address. Without it the instrument opens
 * a connection to the internet to find one, and exits on a node without internet access.
 */
export const instrumentEnv = [
  { name: 'OTEL_EBPF_ENFORCE_SYS_CAPS', value: 'true' },
  fromField('OTEL_EBPF_NETWORK_AGENT_IP', 'status.hostIP'),
  fromField('OTEL_EBPF_STATS_AGENT_IP', 'status.hostIP'),
] as const;

/** The names of the instrument's program in upstream's images, newest first. */
const programs = ['/obi', '/ebpf-instrument', '/beyla'];
const bin = volumes.supervisor.path;

/**
 * The upstream eBPF container.
 *
 * Its first process is our supervisor. The image is upstream's and contains only the instrument, so an init container
 * copies the supervisor onto a volume, with Node.js and its libraries. The supervisor starts the instrument and
 * restarts it with another file on the agent's order. There is no liveness probe: an unreachable agent must not end
 * capture.
 * Caveats: upstream's program changed its name between versions; the first that exists is started.
 */
export function instrumentContainer(input: PlatformInput, pullPolicy: object) {
  return {
    name: 'instrument',
    image: input.instrumentImage,
    ...pullPolicy,
    command: [
      `${bin}/ld.so`,
      '--library-path',
      `${bin}/lib`,
      `${bin}/node`,
      // The supervisor checks two small files four times a second: small heap, few threads.
      '--max-old-space-size=16',
      '--max-semi-space-size=1',
      '--v8-pool-size=1',
      `${bin}/supervise.mjs`,
    ],
    args: [
      'supervise',
      `--config=${volumes.ebpfConfig.file}`,
      `--order=${volumes.ebpfConfig.path}/run`,
      `--dir=${volumes.instrumentRun.path}`,
      '--',
      ...(input.instrumentProgram === undefined ? programs : [input.instrumentProgram]),
    ],
    env: [{ name: 'OTEL_EBPF_CONFIG_PATH', value: volumes.ebpfConfig.file }, ...instrumentEnv],
    // BPF maps alone take about 338 MiB of the container's memory; some versions leak when processes start and end.
    resources: { requests: { cpu: '100m', memory: '512Mi' }, limits: { memory: '2Gi' } },
    securityContext: securityContext(input),
    // The agent cannot read this container's log: its last lines become the container's status instead.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: volumes.ebpfConfig.name, mountPath: volumes.ebpfConfig.path, readOnly: true },
      { name: volumes.instrumentRun.name, mountPath: volumes.instrumentRun.path },
      { name: volumes.supervisor.name, mountPath: bin, readOnly: true },
      { name: 'cgroup', mountPath: '/sys/fs/cgroup', readOnly: true },
      // The instrument reads the ids of trace points in this folder, which a container's own /sys lacks. Without it,
      // TCP statistics, which attach to a trace point, would make the instrument exit.
      { name: 'tracing', mountPath: '/sys/kernel/tracing', readOnly: true },
    ],
  };
}

/** Kubernetes before 1.30 does not have the field `appArmorProfile`, and refuses an object that sets it. */
const hasAppArmorField = ({ kubernetesMinor = Infinity }: PlatformInput): boolean => kubernetesMinor >= 30;

/** The pod's annotations that stand for fields of the instrument's container, where the server lacks these. */
export function instrumentAnnotations(input: PlatformInput): Record<string, string> {
  if (hasAppArmorField(input) || input.instrumentPrivileges === 'privileged') return {};
  return { 'container.apparmor.security.beta.kubernetes.io/instrument': 'unconfined' };
}

function securityContext(input: PlatformInput) {
  const { instrumentPrivileges = 'capabilities', hostNetwork } = input;
  // Privileged implies all capabilities and no profile: the API server refuses contradicting settings.
  if (instrumentPrivileges === 'privileged') return { privileged: true, readOnlyRootFilesystem: true, runAsUser: 0 };
  const add = [
    ...captureCapabilities,
    ...(hostNetwork ? ['NET_ADMIN'] : []),
    ...(instrumentPrivileges === 'sys-admin' ? ['SYS_ADMIN'] : []),
  ];
  return {
    allowPrivilegeEscalation: false,
    ...(hasAppArmorField(input) ? { appArmorProfile: { type: 'Unconfined' } } : {}),
    capabilities: { add: add.sort(), drop: ['ALL'] },
    readOnlyRootFilesystem: true,
    runAsUser: 0,
    // Default seccomp profiles of older runtimes refuse bpf and perf_event_open whatever the capabilities.
    seccompProfile: { type: 'Unconfined' },
  };
}
