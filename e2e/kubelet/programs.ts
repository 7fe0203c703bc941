import { fileURLToPath } from 'node:url';
import { findBinaries, findNodeBinaries, type Binaries, type NodeBinaries } from '../cluster/binaries.ts';
import { findGoPrograms, type GoPrograms } from '../cluster/go-programs.ts';

/** How the DNS server of the cluster, CoreDNS, is built. */
export const nameServer = {
  moduleDir: fileURLToPath(new URL('./coredns/', import.meta.url)),
  versionOf: 'github.com/coredns/coredns',
  folder: 'coredns',
  packages: { coredns: 'github.com/coredns/coredns' },
  flags: () => ['-ldflags', '-s -w'],
  cold: '~4 min',
} as const satisfies GoPrograms<string>;

const policyEngine = {
  moduleDir: fileURLToPath(new URL('./kube-router/', import.meta.url)),
  versionOf: 'github.com/cloudnativelabs/kube-router/v2',
  folder: 'kube-router',
  packages: { 'kube-router': 'github.com/cloudnativelabs/kube-router/v2/cmd/kube-router' },
  flags: () => ['-ldflags', '-s -w'],
  cold: '~3 min',
} as const satisfies GoPrograms<string>;

/** Every program that is built for a node and its control plane, by absolute path. */
export interface Programs {
  readonly controlPlane: Binaries;
  readonly node: NodeBinaries;
  readonly coredns: string;
  readonly kubeRouter: string;
}

/** Finds or builds the programs; the first time on a machine takes a quarter of an hour on two cores. */
export async function findPrograms(): Promise<Programs> {
  const controlPlane = await findBinaries();
  const node = await findNodeBinaries();
  const { coredns } = await findGoPrograms(nameServer);
  const { 'kube-router': kubeRouter } = await findGoPrograms(policyEngine);
  return { controlPlane, node, coredns, kubeRouter };
}
