import { resourceRef, type ResourceRef } from '../api/meta.ts';
import { OperatorError } from '../base/errors.ts';
import type { KubeClient, RequestOptions } from './client.ts';
import { isNotFound } from './errors.ts';

interface ApiResource {
  name: string;
  kind: string;
  namespaced: boolean;
  verbs: readonly string[];
}

const pathOf = (group: string, version: string): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

/** The resources of one group and version, subresources among them. */
async function resourcesOf(
  client: KubeClient,
  group: string,
  version: string,
  options?: RequestOptions,
): Promise<readonly ApiResource[]> {
  return ((await client.getPath(pathOf(group, version), options)) as { resources?: ApiResource[] }).resources ?? [];
}

/**
 * Finds kind and scope of a resource by its plural name.
 * Errors: ERR_API_NOT_FOUND when the server does not serve it (yet).
 */
export async function discover(
  client: KubeClient,
  group: string,
  version: string,
  plural: string,
  options?: RequestOptions,
): Promise<ResourceRef> {
  const found = (await resourcesOf(client, group, version, options)).find((r) => r.name === plural);
  if (!found)
    throw new OperatorError('ERR_API_NOT_FOUND', `the server has no resource ${plural} in ${pathOf(group, version)}`);
  return resourceRef({ group, version, kind: found.kind, plural, namespaced: found.namespaced });
}

/** The minor version of Kubernetes that the API server runs, such as 34 of 1.34. Errors: those of the request. */
export async function kubernetesMinor(client: KubeClient, options?: RequestOptions): Promise<number> {
  // Some providers add a plus sign.
  return Number.parseInt(((await client.getPath('/version', options)) as { minor: string }).minor, 10);
}

/**
 * Every resource whose objects are in namespaces and can be listed, once, in the version that its group prefers.
 * Errors: those of the API server, also when only one aggregated API does not answer.
 */
export async function namespacedResources(client: KubeClient, options?: RequestOptions): Promise<ResourceRef[]> {
  const { groups } = (await client.getPath('/apis', options)) as {
    groups: { name: string; versions: { version: string }[] }[];
  };
  const found = new Map<string, ResourceRef>();
  for (const { name: group, versions } of [{ name: '', versions: [{ version: 'v1' }] }, ...groups])
    for (const { version } of versions)
      for (const { name: plural, kind, namespaced, verbs } of await served(group, version)) {
        const key = `${plural}.${group}`;
        if (namespaced && verbs.includes('list') && !found.has(key))
          found.set(key, resourceRef({ group, version, kind, plural, namespaced }));
      }
  return [...found.values()];

  /** None for a version that has gone since the groups were read. */
  async function served(group: string, version: string): Promise<readonly ApiResource[]> {
    try {
      return await resourcesOf(client, group, version, options);
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }
}
