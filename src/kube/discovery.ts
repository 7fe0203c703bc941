import { resourceRef, type ResourceRef } from '../api/meta.ts';
import { OperatorError } from '../base/errors.ts';
import type { KubeClient, RequestOptions } from './client.ts';

interface ApiResource {
  name: string;
  kind: string;
  namespaced: boolean;
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
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const answer = (await client.getPath(path, options)) as { resources?: ApiResource[] };
  const found = answer.resources?.find((r) => r.name === plural);
  if (!found) throw new OperatorError('ERR_API_NOT_FOUND', `the server has no resource ${plural} in ${path}`);
  return resourceRef({ group, version, kind: found.kind, plural, namespaced: found.namespaced });
}
