import type { ResourceRef } from '../../api/meta.ts';
import type { ObjectKey, Source } from '../types.ts';

/** The source of one object, by its name. Without a namespace: of the objects of that name in all namespaces. */
export function oneObject(resource: ResourceRef, { namespace, name }: ObjectKey): Source {
  return { resource, namespace, fieldSelector: `metadata.name=${name}` };
}
