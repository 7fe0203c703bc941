import type { KubeObject } from '../../../api/meta.ts';
import type { RestClient } from '../../../kube/index.ts';
import { coreResources } from '../../../kube/core-resources.ts';
import { names } from '../../../render/names.ts';

/**
 * The authorities that the operator publishes, as PEM; undefined where there is no cluster, no operator, or no right to
 * read it. Whoever asks falls back to something stricter, or to what does not need it.
 */
export async function publishedAuthority(
  { kube, signal }: { kube: () => Promise<RestClient>; signal: AbortSignal },
  namespace: string,
): Promise<string | undefined> {
  try {
    const client = await kube();
    const name = { namespace, name: names.caBundle };
    const found = await client.get<KubeObject>(coreResources.configMaps, name, { signal, deadlineMs: 5_000 });
    return (found['data'] as Record<string, string> | undefined)?.['ca.crt'];
  } catch {
    return undefined;
  }
}
