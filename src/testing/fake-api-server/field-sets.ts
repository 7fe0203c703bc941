/**
 * A small server-side apply: which fields an object claims, who owns them, and how two claims merge. Lists merge by key
 * where the schemas of the kinds that we render say so; every other list is replaced whole.
 */
type Json = Record<string, unknown>;

/** Structured-merge-diff's encoding, as in `managedFields[].fieldsV1`. */
export interface FieldSet {
  [path: string]: FieldSet;
}

const listKeys: [path: RegExp, keys: string[]][] = [
  [/\.(containers|initContainers|ephemeralContainers|volumes|env|imagePullSecrets)$/, ['name']],
  [/\.containers\[\]\.ports$/, ['containerPort', 'protocol']],
  [/^\.spec\.ports$/, ['port', 'protocol']],
  [/\.volumeMounts$/, ['mountPath']],
  [/\.conditions$/, ['type']],
  [/\.ownerReferences$/, ['uid']],
];
const setLists = /^\.metadata\.finalizers$/;
const keyDefaults: Json = { protocol: 'TCP' };
/** Maps that the real schemas mark atomic. */
const atomic =
  /\.(selector|podSelector|namespaceSelector|nodeSelector|fieldRef|secretKeyRef|configMapKeyRef|nodeAffinity\.required\w+)$/;

/** The fields that `value` sets. */
export function fieldSet(value: unknown, path = ''): FieldSet {
  if (Array.isArray(value)) {
    const keys = keysOf(path);
    if (setLists.test(path)) return Object.fromEntries(value.map((item) => [`v:${JSON.stringify(item)}`, {}]));
    if (!keys) return {};
    return Object.fromEntries(
      value.map((item) => [`k:${itemKey(item, keys)}`, { '.': {}, ...fieldSet(item, `${path}[]`) }]),
    );
  }
  if (!isObject(value) || atomic.test(path)) return {};
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined && member !== null)
      .map(([name, member]) => [`f:${name}`, fieldSet(member, `${path}.${name}`)]),
  );
}

/** Merges `over` into a copy of `base`; list items merge by key. */
export function mergeApplied(base: unknown, over: unknown, path = ''): unknown {
  if (Array.isArray(over)) {
    const keys = keysOf(path);
    if (setLists.test(path)) return [...new Set([...((base as unknown[] | undefined) ?? []), ...over])];
    if (!keys || !Array.isArray(base)) return structuredClone(over);
    const rest = new Map(base.map((item) => [itemKey(item, keys), item as unknown]));
    const merged = over.map((item) => {
      const key = itemKey(item, keys);
      const old = rest.get(key);
      rest.delete(key);
      return old === undefined ? structuredClone(item as unknown) : mergeApplied(old, item, `${path}[]`);
    });
    return [...merged, ...rest.values()];
  }
  if (!isObject(over) || !isObject(base) || atomic.test(path)) return structuredClone(over);
  const result: Json = { ...base };
  for (const [name, member] of Object.entries(over)) {
    if (member === undefined) continue;
    if (member === null) delete result[name];
    else result[name] = mergeApplied(base[name], member, `${path}.${name}`);
  }
  return result;
}

/** Removes from `value` those fields of `gone` that no set in `kept` owns. */
export function removeFields(value: unknown, gone: FieldSet, kept: readonly FieldSet[], path = ''): unknown {
  if (Array.isArray(value)) {
    const keys = keysOf(path);
    return value.flatMap((item: unknown) => {
      const name = setLists.test(path) ? `v:${JSON.stringify(item)}` : keys ? `k:${itemKey(item, keys)}` : undefined;
      if (name === undefined || !(name in gone)) return [item];
      const others = kept.flatMap((set) => set[name] ?? []);
      if (others.length === 0 && ('.' in gone[name]! || name.startsWith('v:'))) return [];
      return [removeFields(item, gone[name]!, others, `${path}[]`)];
    });
  }
  if (!isObject(value)) return value;
  const result: Json = { ...value };
  for (const [name, set] of Object.entries(gone)) {
    const member = name.slice(2);
    if (!name.startsWith('f:') || !(member in result)) continue;
    const others = kept.flatMap((k) => k[name] ?? []);
    const leaf = Object.keys(set).length === 0;
    if (leaf && others.length === 0) delete result[member];
    else if (!leaf) {
      result[member] = removeFields(result[member], set, others, `${path}.${member}`);
      if (others.length === 0 && isEmpty(result[member])) delete result[member];
    }
  }
  return result;
}

/** The part of `a` that is not in `b`. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = {};
  for (const [name, set] of Object.entries(a)) {
    if (!(name in b)) result[name] = set;
    else if (Object.keys(set).length > 0) {
      const rest = difference(set, b[name]!);
      if (Object.keys(rest).length > 0) result[name] = rest;
    }
  }
  return result;
}

/**
 * The leaves of `owned` whose values differ between `before` and `after`: whoever changed them becomes their owner. A
 * map or a merging list, which is a leaf while it is empty, differs only from what is none.
 */
export function changedFields(before: unknown, after: unknown, owned: FieldSet, path = ''): FieldSet {
  const result: FieldSet = {};
  for (const [name, set] of Object.entries(owned)) {
    if (name === '.' || name.startsWith('v:')) continue;
    const a = child(before, name, path);
    const b = child(after, name, path);
    const below = name.startsWith('f:') ? `${path}.${name.slice(2)}` : `${path}[]`;
    if (Object.keys(set).length === 0) {
      if (!isOpen(a, b, below) && JSON.stringify(a) !== JSON.stringify(b)) result[name] = {};
    } else {
      const rest = changedFields(a, b, set, below);
      if (Object.keys(rest).length > 0) result[name] = rest;
    }
  }
  return result;
}

/** Leaf paths of a set in the form of the API server's messages: `.spec.containers[name="a"].image`. */
export function leafPaths(set: FieldSet, path = ''): string[] {
  return Object.entries(set).flatMap(([name, below]) => {
    if (name === '.') return [];
    const text = name.startsWith('f:') ? `${path}.${name.slice(2)}` : `${path}[${name.slice(2)}]`;
    return Object.keys(below).length === 0 ? [text] : leafPaths(below, text);
  });
}

/** Whether both values are maps, or lists that merge, at `path`: their entries have owners of their own. */
function isOpen(a: unknown, b: unknown, path: string): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return setLists.test(path) || keysOf(path) !== undefined;
  return isObject(a) && isObject(b) && !atomic.test(path);
}

/** The member or list item of `value` that one path element names. */
function child(value: unknown, name: string, path: string): unknown {
  if (name.startsWith('f:')) return isObject(value) ? value[name.slice(2)] : undefined;
  const keys = keysOf(path);
  if (!Array.isArray(value) || !keys) return undefined;
  return value.find((item) => `k:${itemKey(item, keys)}` === name) as unknown;
}

function keysOf(path: string): string[] | undefined {
  return listKeys.find(([pattern]) => pattern.test(path))?.[1];
}

function itemKey(item: unknown, keys: readonly string[]): string {
  const object = (item ?? {}) as Json;
  return JSON.stringify(Object.fromEntries(keys.map((k) => [k, object[k] ?? keyDefaults[k]])));
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
