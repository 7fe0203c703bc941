import type { KubeObject } from '../../api/meta.ts';
import type { TypedObject } from '../../kube/index.ts';
import { matches, sameValue } from './managed-fields.ts';
import type { EventRecorder } from '../types.ts';

/** A change that another manager made to one of our objects and that was undone. */
export interface Drift {
  what: 'edited' | 'deleted';
  /** Field managers whose values were replaced; empty when the API server does not report them. */
  managers: string[];
  /** Paths of those values, such as `.spec.replicas`. */
  fields: string[];
}

interface FieldSet {
  [path: string]: FieldSet;
}
type Json = Record<string, unknown>;

/**
 * The fields of `wanted` that another manager owns with a different value. Pure.
 * Fields that `wanted` does not have are left to their managers.
 * Caveats: a removed field has no manager, so a removal does not appear here.
 */
export function foreignEdits(
  live: TypedObject,
  wanted: KubeObject,
  manager: string,
): { managers: string[]; fields: string[] } {
  const managers = new Set<string>();
  const fields = new Set<string>();
  for (const entry of live.metadata.managedFields ?? []) {
    if (entry.subresource === 'status' || !entry.fieldsV1) continue;
    if (entry.manager === manager && entry.operation === 'Apply') continue;
    const found: string[] = [];
    collect(entry.fieldsV1 as FieldSet, wanted, live, '', found);
    if (found.length === 0) continue;
    managers.add(entry.manager ?? 'unknown');
    for (const field of found) fields.add(field);
  }
  return { managers: [...managers].toSorted(), fields: [...fields].toSorted() };
}

function collect(set: FieldSet, wanted: unknown, live: unknown, path: string, found: string[]): void {
  if (wanted === undefined || wanted === null) return;
  const children = Object.keys(set).filter((name) => name !== '.');
  if (children.length === 0) {
    if (Object.keys(set).length === 0 && !sameValue(wanted, live, path)) found.push(path);
    return;
  }
  for (const child of children) {
    if (child.startsWith('f:')) {
      const name = child.slice(2);
      collect(set[child]!, member(wanted, name), member(live, name), `${path}.${name}`, found);
    } else if (child.startsWith('k:') && Array.isArray(wanted)) {
      const item = wanted.find((candidate) => matches(child, candidate)) as unknown;
      const current = Array.isArray(live)
        ? (live.find((candidate) => matches(child, candidate)) as unknown)
        : undefined;
      collect(set[child]!, item, current, `${path}${keyText(child)}`, found);
    }
  }
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Json)[name] : undefined;
}

/** `k:{"name":"agent"}` → `[name=agent]`. */
function keyText(child: string): string {
  const keys = JSON.parse(child.slice(2)) as Json;
  return `[${Object.entries(keys)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(',')}]`;
}

/**
 * Reports that a change was undone, in an Event on the object itself and in one on its owner, if it has an owner: the
 * owner is the object that users should change instead.
 */
export function announceDrift(
  events: EventRecorder,
  drift: Drift,
  child: { name: string; object: KubeObject },
  owner: TypedObject | undefined,
): void {
  const advice = owner ? `; change ${owner.kind} ${owner.metadata.name ?? ''} instead` : '';
  const who = drift.managers.length > 0 ? drift.managers.join(', ') : 'a manager that the API server does not name';
  const shown = drift.fields.slice(0, 5);
  const more = drift.fields.length - shown.length;
  const where = shown.length > 0 ? ` (${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''})` : '';
  const text =
    drift.what === 'deleted'
      ? `${child.name} was deleted and has been made again`
      : `the change of ${child.name} by ${who} was undone${where}${advice}`;
  const details = { type: 'Warning', reason: 'DriftRepaired', action: 'Apply', message: text } as const;
  events.record(child.object, details);
  if (owner) events.record(owner, details);
}
