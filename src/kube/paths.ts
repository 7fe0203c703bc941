import type { ResourceRef } from '../api/meta.ts';
import { OperatorError } from '../base/errors.ts';
import type { ObjectName, TypedObject } from './client.ts';

/**
 * REST path of a resource or of one object of it.
 * Errors: ERR_INPUT_INVALID when a namespaced object lacks its namespace or a name is empty.
 */
export function resourcePath(
  resource: ResourceRef,
  target: { namespace?: string | undefined; name?: string | undefined; subresource?: string | undefined },
): string {
  const parts = resource.group === '' ? ['api', resource.version] : ['apis', resource.group, resource.version];
  if (resource.namespaced && target.namespace !== undefined) parts.push('namespaces', target.namespace);
  parts.push(resource.plural);
  if (target.name !== undefined) {
    if (target.name === '') throw new OperatorError('ERR_INPUT_INVALID', `${resource.kind}: metadata.name is empty`);
    if (resource.namespaced && !target.namespace) {
      throw new OperatorError('ERR_INPUT_INVALID', `${resource.kind} ${target.name}: metadata.namespace is missing`);
    }
    parts.push(target.name);
  }
  if (target.subresource !== undefined) parts.push(target.subresource);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

/** Name and namespace of an object, in the form of the client's calls. Errors: ERR_INPUT_INVALID without a name. */
export function nameOf(object: TypedObject): ObjectName {
  const { name, namespace } = object.metadata;
  if (!name) throw new OperatorError('ERR_INPUT_INVALID', `${object.kind}: metadata.name is missing`);
  return namespace === undefined ? { name } : { name, namespace };
}

/** `Kind namespace/name` for messages. */
export function describe(resource: ResourceRef, name: ObjectName): string {
  return `${resource.kind} ${name.namespace ? `${name.namespace}/` : ''}${name.name}`;
}
