import { isObject } from '../../base/text/texts.ts';
import type { KubeObject } from '../../api/meta.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { TypedObject } from '../../kube/index.ts';

/**
 * Whether a server-side apply of `wanted` by `manager` would change nothing: the manager owns exactly the fields that
 * `wanted` has, and the live object holds their values.
 *
 * It follows the structure that the server recorded in `managedFields`, so lists merge by the keys that the server
 * used, and values that others own or that the server defaulted do not matter. When in doubt it returns false: the cost
 * is one apply that changes nothing.
 * It is false, too, where the manager has left an entry of updates: what that entry owns, an apply cannot give up.
 * Caveats: needs `managedFields` on the live object (no transform may strip them).
 */
export function ownsExactly(live: TypedObject, wanted: KubeObject, manager: string, subresource?: 'status'): boolean {
  const entry = live.metadata.managedFields?.find(
    (e) => e.manager === manager && e.operation === 'Apply' && (e.subresource ?? undefined) === subresource,
  );
  if (!entry?.fieldsV1 || entry.apiVersion !== wanted.apiVersion) return false;
  if (subresource === undefined && updateEntryOf(live, manager) >= 0) return false;
  if (live.apiVersion !== wanted.apiVersion || live.kind !== wanted.kind) return false;
  return sameTree(content(wanted), live, entry.fieldsV1 as FieldSet, '');
}

/** The index in `managedFields` of what the manager's updates own, subresources apart; -1 without any. */
export function updateEntryOf(object: TypedObject, manager: string): number {
  const entries = object.metadata.managedFields ?? [];
  return entries.findIndex((e) => e.manager === manager && e.operation === 'Update' && e.subresource === undefined);
}

/**
 * Structured-merge-diff's set encoding: `f:` member, `k:` list item by keys, `v:` set value, `.` the element itself.
 */
interface FieldSet {
  [path: string]: FieldSet;
}
type Json = Record<string, unknown>;

/** The fields that an apply claims: all but those that identify the object, which are never recorded as owned. */
function content(object: KubeObject): Json {
  const { apiVersion: _a, kind: _k, metadata, ...rest } = object;
  const { name: _n, namespace: _ns, ...meta } = metadata;
  return Object.keys(meta).length > 0 ? { ...rest, metadata: meta } : rest;
}

function sameTree(wanted: unknown, live: unknown, owned: FieldSet, path: string): boolean {
  const children = Object.keys(owned).filter((name) => name !== '.');
  if (children.length === 0) return sameValue(wanted, live, path);
  if (Array.isArray(wanted)) return sameList(wanted, live, owned, children, path);
  if (!isObject(wanted) || !isObject(live)) return false;
  const members = Object.keys(wanted).filter((name) => wanted[name] !== undefined);
  for (const name of members) {
    const set = owned[`f:${name}`];
    if (!set) {
      // null means "absent" to an apply. A field with any other value but without a record is not ours yet.
      if (wanted[name] === null && live[name] === undefined) continue;
      return false;
    }
    if (!sameTree(wanted[name], live[name], set, `${path}.${name}`)) return false;
  }
  // Giving up an owned field that is no longer wanted requires an apply.
  return children.every((child) => child.startsWith('f:') && wanted[child.slice(2)] !== undefined);
}

function sameList(wanted: unknown[], live: unknown, owned: FieldSet, children: string[], path: string): boolean {
  if (!Array.isArray(live) || children.length !== wanted.length) return false;
  let last = -1;
  for (const item of wanted) {
    const found = children.find((child) => matches(child, item));
    if (!found) return false;
    const at = live.findIndex((candidate) => matches(found, candidate));
    // The wanted order is part of what we apply.
    if (at <= last) return false;
    last = at;
    if (found.startsWith('k:') && !sameTree(item, live[at], owned[found]!, `${path}[]`)) return false;
  }
  return true;
}

/**
 * Whether a list item is the one that a `k:{…}` or `v:…` element names; keys that the item leaves out match, because
 * the server defaulted them.
 */
export function matches(child: string, item: unknown): boolean {
  const text = child.slice(2);
  if (child.startsWith('v:')) return JSON.stringify(item) === text;
  if (!child.startsWith('k:') || !isObject(item)) return false;
  const keys = JSON.parse(text) as Json;
  return Object.entries(keys).every(([name, value]) => item[name] === undefined || item[name] === value);
}

/** Whether two values are equal; quantities are compared by amount. `path` decides which values are quantities. */
export function sameValue(wanted: unknown, live: unknown, path: string): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(live) &&
      wanted.length === live.length &&
      wanted.every((item, i) => sameValue(item, live[i], `${path}[]`))
    );
  }
  if (isObject(wanted)) {
    if (!isObject(live)) return false;
    const names = Object.keys(wanted).filter((name) => wanted[name] !== undefined && wanted[name] !== null);
    return (
      Object.keys(live).length === names.length &&
      names.every((name) => sameValue(wanted[name], live[name], `${path}.${name}`))
    );
  }
  if (wanted === live) return true;
  const quantity = parseQuantity(wanted);
  return isQuantityPath(path) && quantity !== undefined && quantity === parseQuantity(live);
}

/** The server rewrites quantities to their canonical form, so only they are compared by amount, not as texts. */
function isQuantityPath(path: string): boolean {
  return /\.(limits|requests|capacity|hard)\.[^.]+$|\.(sizeLimit|divisor)$/.test(path);
}
