import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { kinds } from '../../api/v1alpha1/index.ts';
import { OperatorError } from '../../base/errors.ts';
import { coreResources } from '../../kube/index.ts';
import { renderedKinds } from '../../render/index.ts';

const known = new Map<string, ResourceRef>(
  [
    ...Object.values(renderedKinds),
    ...kinds.map(({ resource }) => resource),
    coreResources.customResourceDefinitions,
  ].map((ref) => [`${ref.apiVersion} ${ref.kind}`, ref]),
);

/**
 * The REST resource of an object of the installation. Errors: ERR_INPUT_INVALID for a kind that no installation has.
 */
export function resourceOf({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): ResourceRef {
  const found = known.get(`${apiVersion} ${kind}`);
  if (!found) throw new OperatorError('ERR_INPUT_INVALID', `no installation has objects of kind ${apiVersion} ${kind}`);
  return found;
}

/** `deployment.apps/svc-controller`, as kubectl names it. */
export function nameOfObject(object: KubeObject): string {
  const { group, kind } = resourceOf(object);
  const { namespace, name = '' } = object.metadata;
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${name}${where}`;
}
