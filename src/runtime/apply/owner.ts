import { refersTo, type KubeObject, type OwnerReference, type ResourceRef } from '../../api/meta.ts';
import { OperatorError } from '../../base/errors.ts';
import { describe, type TypedObject } from '../../kube/index.ts';
import { keyOf } from '../keys.ts';
import { appliedBy, controllerUids } from './lost-children.ts';

/** The object that owns children, and its kind. */
export interface Owner {
  object: TypedObject;
  resource: ResourceRef;
}

/** The reference that makes `owner` the controller of a child. Errors: ERR_INPUT_INVALID for an owner never stored. */
export function controllerReference(owner: TypedObject, resource: ResourceRef): OwnerReference {
  const { name, uid } = owner.metadata;
  if (!name || !uid) throw new OperatorError('ERR_INPUT_INVALID', `${resource.kind}: the owner has no name or uid`);
  return {
    apiVersion: resource.apiVersion,
    kind: resource.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/**
 * The garbage collector deletes an object whose `ownerReferences` names a namespaced owner of another namespace.
 * Errors: ERR_INPUT_INVALID for such a child.
 */
export function requireSameNamespace(resource: ResourceRef, child: KubeObject, owner: Owner): void {
  const { namespace = '' } = owner.object.metadata;
  if (!owner.resource.namespaced || child.metadata.namespace === namespace) return;
  throw new OperatorError(
    'ERR_INPUT_INVALID',
    `${describe(resource, keyOf(child))} is outside of namespace ${namespace}, where its owner is`,
  );
}

/**
 * An object that another owner controls is not taken over: two owners that want one child would take it from each other
 * without end. An owner of the same kind and name, but with another uid, is this owner's deleted predecessor: its
 * children are taken over.
 * Errors: ERR_APPLY_CONFLICT, which names the other owner.
 */
export function refuseForeign(resource: ResourceRef, found: KubeObject, { object, resource: of }: Owner): void {
  const controller = found.metadata.ownerReferences?.find((reference) => reference.controller);
  if (!controller || controller.uid === object.metadata.uid) return;
  const { kind, name } = controller;
  if (refersTo(controller, of) && name === object.metadata.name) return;
  const text = `${describe(resource, keyOf(found))} belongs to ${kind} ${name}`;
  throw new OperatorError('ERR_APPLY_CONFLICT', text);
}

/**
 * An object that neither this owner controls nor this manager ever applied is not taken over.
 * Errors: ERR_APPLY_CONFLICT.
 */
export function refuseUnknown(resource: ResourceRef, found: KubeObject, { object }: Owner, manager: string): void {
  if (controllerUids(found).includes(object.metadata.uid ?? '') || appliedBy(found, manager)) return;
  const name = describe(resource, keyOf(found));
  throw new OperatorError('ERR_APPLY_CONFLICT', `${name} exists already and was not made by this controller`);
}
