import { isObject } from './field-sets.ts';
import { StatusError } from './status-error.ts';

interface Operation {
  op: string;
  path: string;
  value?: unknown;
}

/**
 * JSON Patch (RFC 6902) with the operations that we send: add, replace, remove, test. The input is not changed.
 * Caveats: `test` takes a missing member for null, and `replace` adds a missing one.
 */
export function applyJsonPatch(target: unknown, operations: readonly Operation[]): unknown {
  const result = structuredClone(target);
  for (const operation of operations) {
    const steps = operation.path
      .split('/')
      .slice(1)
      .map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = steps.pop() ?? '';
    let parent: unknown = result;
    for (const step of steps) parent = isObject(parent) || Array.isArray(parent) ? (parent as never)[step] : undefined;
    applyOne(parent, last, operation);
  }
  return result;
}

function applyOne(parent: unknown, name: string, { op, path, value }: Operation): void {
  const invalid = (why: string): StatusError =>
    new StatusError(422, 'Invalid', `the server rejected our request: ${why}`);
  if (!isObject(parent) && !Array.isArray(parent)) {
    if (op === 'test' && value === null) return;
    throw invalid(`${op} ${path}: no such path`);
  }
  const holder = parent as Record<string, unknown>;
  switch (op) {
    case 'test':
      if (JSON.stringify(holder[name] ?? null) !== JSON.stringify(value)) throw invalid(`test of ${path} failed`);
      return;
    case 'remove':
      if (!(name in holder)) throw invalid(`remove ${path}: no such path`);
      if (Array.isArray(parent)) parent.splice(Number(name), 1);
      else delete holder[name];
      return;
    case 'add':
      if (Array.isArray(parent)) parent.splice(name === '-' ? parent.length : Number(name), 0, value);
      else holder[name] = value;
      return;
    case 'replace':
      holder[name] = value;
      return;
    default:
      throw invalid(`unknown operation ${op}`);
  }
}

/** JSON merge patch (RFC 7396). */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return structuredClone(patch);
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = applyMergePatch(result[name], value);
  }
  return result;
}
