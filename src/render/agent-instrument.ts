import type { PlatformInput } from './input.ts';
import { ports } from './names.ts';
import { fromField, httpProbe } from './pod-security.ts';
import { volumes } from './agent-volumes.ts';

/**
 * What the instrument's own capability check asks for. Without one of them it ends with a message that names it.
 * BPF loads programs; PERFMON, SYS_PTRACE, CHECKPOINT_RESTORE and DAC_READ_SEARCH attach to processes of other
 * users; NET_RAW opens the flow socket filter; SYS_RESOURCE lifts the memory lock limit on kernels before 5.11.
 */
const captureCapabilities = [
  'BPF',
  'CHECKPOINT_RESTORE',
  'DAC_READ_SEARCH',
  'NET_RAW',
  'PERFMON',
  'SYS_PTRACE',
  'SYS_RESOURCE',
];

/**
 * The upstream eBPF container.
 *
 * Caveats: it has neither command nor args, because its entry point changed its name between versions. It reads its
 * file once, at start; the liveness probe asks the agent, which answers 503 while the file on disk is another one
 * than the running one, so that the kubelet restarts this container alone.
 */
export function instrumentContainer(input: PlatformInput, pullPolicy: object) {
  return {
    name: 'instrument',
    image: input.instrumentImage,
    ...pullPolicy,
    env: [
      { name: 'OTEL_EBPF_CONFIG_PATH', value: volumes.ebpfConfig.file },
      { name: 'OTEL_EBPF_ENFORCE_SYS_CAPS', value: 'true' },
      fromField('OTEL_EBPF_NETWORK_AGENT_IP', 'status.hostIP'),
    ],
    // Asked of the agent, which starts beside it: a refused connection counts as a failure too.
    livenessProbe: { initialDelaySeconds: 5, ...httpProbe('/instrument/live', ports.scrape, 2, 5) },
    // BPF maps alone take about 338 MiB of the cgroup; some versions leak when processes come and go.
    resources: { requests: { cpu: '100m', memory: '512Mi' }, limits: { memory: '2Gi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      appArmorProfile: { type: 'Unconfined' },
      capabilities: {
        add: input.hostNetwork ? [...captureCapabilities, 'NET_ADMIN'].sort() : captureCapabilities,
        drop: ['ALL'],
      },
      readOnlyRootFilesystem: true,
      runAsUser: 0,
      // Default seccomp profiles of older runtimes refuse bpf and perf_event_open whatever the capabilities.
      seccompProfile: { type: 'Unconfined' },
    },
    // The agent cannot read this container's log: its last lines become the container's status instead.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: volumes.ebpfConfig.name, mountPath: volumes.ebpfConfig.path, readOnly: true },
      { name: 'instrument-run', mountPath: '/var/run/obi' },
      { name: 'cgroup', mountPath: '/sys/fs/cgroup', readOnly: true },
    ],
  };
}
