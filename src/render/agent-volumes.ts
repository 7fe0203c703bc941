import type { PlatformInput } from './input.ts';
import { names } from './names.ts';
import { keyFileMode } from './pod-security.ts';

/** Where the agent pod's volumes are mounted. The flags repeat these paths: no program has one built in. */
export const volumes = {
  ebpfConfig: { name: 'ebpf-config', path: '/etc/svc/ebpf-config', file: '/etc/svc/ebpf-config/config.yaml' },
  data: { name: 'data', path: '/var/lib/svc-agent' },
  tls: { name: 'tls', path: '/etc/svc/tls' },
} as const;

/** The volumes of the agent pod. The pod waits until the operator has written the TLS Secret. */
export function agentVolumes(input: PlatformInput) {
  return [
    { name: volumes.ebpfConfig.name, emptyDir: { sizeLimit: '16Mi' } },
    input.agentDataHostPath === ''
      ? { name: volumes.data.name, emptyDir: {} }
      : { name: volumes.data.name, hostPath: { path: input.agentDataHostPath, type: 'DirectoryOrCreate' } },
    { name: volumes.tls.name, secret: { secretName: names.agentTls, defaultMode: keyFileMode } },
    { name: 'instrument-run', emptyDir: { sizeLimit: '16Mi' } },
    { name: 'cgroup', hostPath: { path: '/sys/fs/cgroup' } },
  ];
}
