import type { TypedObject } from '../kube/index.ts';
import type { ObjectKey } from './types.ts';

/** `namespace/name`, or `name` for cluster-scoped objects: the form of queue entries and log fields. */
export function keyText(key: ObjectKey): string {
  return key.namespace ? `${key.namespace}/${key.name}` : key.name;
}

/** The inverse of `keyText`; names never contain a slash. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** The key of an object. */
export function keyOf(object: TypedObject): { name: string; namespace?: string } {
  const { namespace, name = '' } = object.metadata;
  return namespace ? { namespace, name } : { name };
}
