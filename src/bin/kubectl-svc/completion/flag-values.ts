import type { KubeObject } from '../../../api/meta.ts';
import type { Session } from '../session.ts';

/** Flags whose values are found in the cluster, or in the kubeconfig. */
export const flagValues: ReadonlyMap<string, (session: Session) => Promise<readonly string[]>> = new Map([
  ['--namespace', namespaces],
  ['--operator-namespace', namespaces],
  ['--not-namespace', namespaces],
  ['--context', contexts],
]);

async function namespaces(session: Session): Promise<string[]> {
  const { coreResources } = await import('../../../kube/core-resources.ts');
  try {
    const { items } = await (
      await session.kube()
    ).list<KubeObject>(coreResources.namespaces, { metadataOnly: true, limit: 500, signal: session.signal });
    return items.map(({ metadata }) => metadata.name ?? '');
  } finally {
    await session.close();
  }
}

async function contexts({ flags }: Session): Promise<string[]> {
  const { loadKubeSettings } = await import('../../../kube/kubeconfig.ts');
  return loadKubeSettings({ path: flags.kubeconfig }).contexts.map(({ name }) => name);
}
