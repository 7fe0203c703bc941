import { fileURLToPath } from 'node:url';
import { findGoPrograms, pinnedVersion } from './go-programs.ts';
import type { FindOptions, GoPrograms } from './go-programs.ts';

/** The programs of a control plane, and the Go package each is built from. */
const controlPlane = {
  moduleDir: fileURLToPath(new URL('./kubernetes/', import.meta.url)),
  versionOf: 'k8s.io/kubernetes',
  folder: 'kube',
  packages: {
    etcd: 'go.etcd.io/etcd/server/v3',
    'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
    'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
    'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
    kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  },
  flags: (version: string) => ['-ldflags', linkerFlags(version)],
  cold: '~10 min',
} as const satisfies GoPrograms<string>;

export type BinaryName = keyof typeof controlPlane.packages;

/** Absolute path of each program. */
export type Binaries = Readonly<Record<BinaryName, string>>;

export interface BinariesOptions extends Omit<FindOptions<BinaryName>, 'assets'> {
  /** The environment to look for KUBEBUILDER_ASSETS in. Default the process's. */
  env?: NodeJS.ProcessEnv;
}

/** The one Kubernetes version of the harness, `vX.Y.Z`, as the Go module pins it. */
export function kubernetesVersion(): string {
  return pinnedVersion(controlPlane);
}

/** The control plane's programs: from KUBEBUILDER_ASSETS, the cache, or built (about ten minutes the first time). */
export function findBinaries({ env = process.env, ...options }: BinariesOptions = {}): Promise<Binaries> {
  const assets = env['KUBEBUILDER_ASSETS'];
  return findGoPrograms<BinaryName>(controlPlane, { ...options, ...(assets ? { assets } : {}) });
}

/** Without these the server reports v0.0.0, and some of its own version checks misbehave. */
function linkerFlags(version: string): string {
  const [major = '', minor = ''] = version.slice(1).split('.');
  const set = (name: string, value: string): string => `-X k8s.io/component-base/version.${name}=${value}`;
  return ['-s -w', set('gitVersion', version), set('gitMajor', major), set('gitMinor', minor)].join(' ');
}
