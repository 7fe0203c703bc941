import { certificateAudience } from '../../api/agents/agent-certificate.ts';
import type { PlatformInput } from '../input.ts';
import { names } from '../names.ts';
import { keyFileMode } from '../pod-security.ts';

/** Mount paths of the agent pod's volumes. The flags repeat these paths: no program has one built in. */
export const volumes = {
  ebpfConfig: { name: 'ebpf-config', path: '/etc/svc/ebpf-config', file: '/etc/svc/ebpf-config/config.yaml' },
  data: { name: 'data', path: '/var/lib/svc-agent' },
  tls: { name: 'tls', path: '/etc/svc/tls' },
  supervisor: { name: 'supervisor', path: '/opt/svc-supervisor' },
  instrumentRun: { name: 'instrument-run', path: '/var/run/obi' },
} as const;

/** Lifetime of the agent's token. The kubelet renews it after four fifths of the lifetime. Units: seconds. */
const tokenSeconds = 3_600;

/**
 * The volumes of the agent pod. There is no volume for the certificate: the agent creates its key itself, and requests
 * a certificate with the token in `tls`. The pod starts only when the operator has published its CAs, because a
 * ConfigMap that does not exist cannot be mounted.
 */
export function agentVolumes(input: PlatformInput) {
  return [
    { name: volumes.ebpfConfig.name, emptyDir: { sizeLimit: '16Mi' } },
    input.agentDataHostPath === ''
      ? { name: volumes.data.name, emptyDir: {} }
      : { name: volumes.data.name, hostPath: { path: input.agentDataHostPath, type: 'DirectoryOrCreate' } },
    {
      name: volumes.tls.name,
      projected: {
        defaultMode: keyFileMode,
        sources: [
          { configMap: { name: names.caBundle, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          {
            serviceAccountToken: { audience: certificateAudience, expirationSeconds: tokenSeconds, path: 'token' },
          },
        ],
      },
    },
    { name: volumes.instrumentRun.name, emptyDir: { sizeLimit: '16Mi' } },
    // Node.js, its libraries and the supervisor's program: about 130 MB.
    { name: volumes.supervisor.name, emptyDir: { sizeLimit: '512Mi' } },
    { name: 'cgroup', hostPath: { path: '/sys/fs/cgroup' } },
    // Every kernel that can be instrumented has this folder. On another kernel the pod does not start.
    { name: 'tracing', hostPath: { path: '/sys/kernel/tracing' } },
  ];
}
