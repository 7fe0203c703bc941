import type { TypedObject } from '../../kube/index.ts';
import type { Predicate } from '../types.ts';

/**
 * The spec changed (or the object was created, deleted, or is being deleted).
 * Caveats: changes of metadata and status do not pass, so a status that was wiped is not restored; kinds without a
 * generation (Secrets, ConfigMaps) never pass on update; Deployments raise their generation on some annotations too.
 */
export const generationChanged: Predicate = (event) =>
  event.type !== 'updated' ||
  event.old?.metadata.generation !== event.object.metadata.generation ||
  event.old?.metadata.deletionTimestamp !== event.object.metadata.deletionTimestamp;

/** Labels changed, or the object was created or deleted. */
export const labelsChanged: Predicate = (event) =>
  event.type !== 'updated' || !sameMap(event.old?.metadata.labels, event.object.metadata.labels);

/** Annotations changed, or the object was created or deleted. */
export const annotationsChanged: Predicate = (event) =>
  event.type !== 'updated' || !sameMap(event.old?.metadata.annotations, event.object.metadata.annotations);

/** Finalizers changed, or the object was created or deleted. */
export const finalizersChanged: Predicate = (event) =>
  event.type !== 'updated' ||
  (event.old?.metadata.finalizers ?? []).join() !== (event.object.metadata.finalizers ?? []).join();

/** The object carries this label, with this value if one is given. */
export const hasLabel =
  (name: string, value?: string): Predicate =>
  (event) => {
    const found = event.object.metadata.labels?.[name];
    return found !== undefined && (value === undefined || found === value);
  };

/** The result of `read` changed (compared as JSON), or the object was created or deleted. */
export const changed =
  <T extends TypedObject>(read: (object: T) => unknown): Predicate<T> =>
  (event) =>
    event.type !== 'updated' ||
    event.old === undefined ||
    JSON.stringify(read(event.old)) !== JSON.stringify(read(event.object));

/** An event passes if at least one of the predicates passes it. */
export const anyOf =
  <T extends TypedObject>(...predicates: readonly Predicate<T>[]): Predicate<T> =>
  (event) =>
    predicates.some((p) => p(event));
/** An event passes if every predicate passes it. */
export const allOf =
  <T extends TypedObject>(...predicates: readonly Predicate<T>[]): Predicate<T> =>
  (event) =>
    predicates.every((p) => p(event));
/** An event passes if the predicate drops it. */
export const not =
  <T extends TypedObject>(predicate: Predicate<T>): Predicate<T> =>
  (event) =>
    !predicate(event);

function sameMap(a: Record<string, string> = {}, b: Record<string, string> = {}): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
