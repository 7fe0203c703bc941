import { refersTo, type ResourceRef } from '../../api/meta.ts';
import type { TypedObject } from '../../kube/index.ts';
import { keyOf } from '../keys.ts';
import type { Informer, Mapper, ObjectKey } from '../types.ts';

/** Maps an object to its own key. */
export const toSelf: Mapper = (object) => [keyOf(object)];

/** Maps every object to the same key: for singletons. */
export const toKey = (key: ObjectKey): Mapper => {
  const keys = [key];
  return () => keys;
};

/** Maps an object to its owners of the given kind; by default only to the one that controls the object. */
export function toOwner(owner: ResourceRef, options: { controllerOnly?: boolean } = {}): Mapper {
  const controllerOnly = options.controllerOnly ?? true;
  return (object) => {
    const { namespace, ownerReferences: references = [] } = object.metadata;
    // A namespaced owner owns only objects of its namespace.
    if (owner.namespaced && !namespace) return [];
    const found = references.filter((r) => refersTo(r, owner) && (!controllerOnly || r.controller === true));
    return found.map(({ name }) => (owner.namespaced ? { namespace, name } : { name }));
  };
}

/** Maps any object to every object of `informer`: for a change that concerns all of them. */
export const toAll = (informer: Informer<TypedObject>): Mapper => {
  return () => informer.list().map(keyOf);
};

/** Maps a changed object to the objects of `informer` that the index has under `value(object)`. */
export function toIndexed<T extends TypedObject>(
  informer: Informer<TypedObject>,
  index: string,
  value: (object: T) => string | undefined,
): Mapper<T> {
  return (object) => {
    const wanted = value(object);
    return wanted === undefined ? [] : informer.byIndex(index, wanted).map(keyOf);
  };
}
