import type { ResourceRef } from '../../api/meta.ts';
import type { ObjectKey, Source } from '../types.ts';

/** The source of the object with this name; without a namespace, of the objects with this name in all namespaces. */
export function oneObject(resource: ResourceRef, { namespace, name }: ObjectKey): Source {
  return { resource, namespace, fieldSelector: `metadata.name=${name}` };
}
