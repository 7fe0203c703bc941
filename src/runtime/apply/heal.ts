import { isObject } from '../../base/text/texts.ts';
import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { OperatorError } from '../../base/errors.ts';
import {
  ApiError,
  describe,
  getIfExists,
  isAlreadyExists,
  lacksRightToCreate,
  type JsonPatchOperation,
  type KubeClient,
} from '../../kube/index.ts';
import { keyOf } from '../keys.ts';
import { updateEntryOf } from './managed-fields.ts';
import type { Recreations } from './recreations.ts';

export interface HealOptions {
  client: KubeClient;
  resource: ResourceRef;
  fieldManager: string;
  signal: AbortSignal;
  recreations: Recreations;
}

/** Deleting one of these loses its data, so a user has to decide that. */
const holdsData = new Set(['PersistentVolumeClaim', 'PersistentVolume', 'Namespace', 'CustomResourceDefinition']);

/**
 * How the API server words that a field cannot be changed in place: selectors and pod templates ("field is
 * immutable"), role references ("cannot change roleRef"), StatefulSets ("updates to … are forbidden"), priority
 * classes ("may not be changed"). There is no machine-readable cause for it.
 */
const immutable = /immutable|cannot change roleRef|may not (be )?chang|updates to .*forbidden/i;

/** Whether a refusal means that the object would have to be recreated. */
export function needsRecreation(error: unknown): boolean {
  return error instanceof ApiError && error.status === 422 && error.causes.some((c) => immutable.test(c.message ?? ''));
}

/**
 * Gets an object into its wanted state after the server refused the apply: see `recreate` and `replaceLists`. For
 * objects that only this field manager maintains. If an earlier run deleted the object and nothing has its name, the
 * old one is applied again.
 * Errors: `refusal` when no repair is allowed: it is not a 422, or this manager never applied the object.
 */
export async function heal(
  object: KubeObject,
  refusal: unknown,
  options: HealOptions,
): Promise<{ object: KubeObject; recreated: boolean }> {
  const { client, resource, fieldManager, signal, recreations } = options;
  const old = recreations.old(object);
  if (old && (await putBack(old, refusal, options))) {
    // Such a refusal was about the old object, which was still going.
    if (!needsRecreation(refusal)) recreations.failed(object, refusal);
    throw refusal;
  }
  if (!(refusal instanceof ApiError) || refusal.status !== 422) throw refusal;
  const live = await getIfExists<KubeObject>(client, resource, keyOf(object), { signal });
  const ours = live?.metadata.managedFields?.some((e) => e.manager === fieldManager && e.operation === 'Apply');
  if (!live || !ours) throw refusal;
  if (needsRecreation(refusal)) return { object: await recreate(object, live, refusal, options), recreated: true };
  return { object: await replaceLists(object, live, refusal, options), recreated: false };
}

/**
 * Deletes an object whose immutable fields differ and recreates it.
 *
 * Flow: dry-run create (would the server accept the new object?) → delete by uid → apply.
 * Guarantees: nothing is deleted unless the server accepts the new object, or does not let us ask. In the second case,
 * if anything fails from then on, or the signal aborts, the old one is applied again, if need be by a later `heal`; a
 * refused object is tried once an hour. An object that has taken the name in the meantime is never deleted.
 * Caveats: dependents of the old object (pods of a Deployment) are deleted with it. An old object that is applied again
 * has another uid, and this manager owns all of its fields.
 * Errors: `refusal` when the object must not be deleted; those of the requests, also of a try in the last hour, an
 * AggregateError where the old object cannot be applied again; ERR_API_CONFLICT while the old one is being deleted.
 */
async function recreate(
  object: KubeObject,
  live: KubeObject,
  refusal: unknown,
  options: HealOptions,
): Promise<KubeObject> {
  const { client, resource, fieldManager, signal, recreations } = options;
  if (holdsData.has(resource.kind)) throw refusal;
  /** Whether the server has judged the new object. */
  let judged = true;
  try {
    await client.create(resource, object, { fieldManager, dryRun: true, signal });
  } catch (error) {
    // The server validates an object before it stores it, so the only fault is that the old object has the name.
    // A right to create that is restricted to names covers an apply, but not a create, which has no name in its path.
    if (!isAlreadyExists(error) && !lacksRightToCreate(error)) throw error;
    judged = isAlreadyExists(error);
  }
  const known = judged ? undefined : recreations.recentRefusal(object);
  if (known) throw known;
  if (!judged) recreations.deleting(live);
  try {
    await client.delete(resource, keyOf(live), { uid: live.metadata.uid, ...unstoppable });
    const rest = await getIfExists(client, resource, keyOf(live), { metadataOnly: true, ...unstoppable });
    if (rest && rest.metadata.uid === live.metadata.uid) {
      throw new OperatorError(
        'ERR_API_CONFLICT',
        `${describe(resource, keyOf(live))} is being deleted to be made anew with other immutable fields`,
      );
    }
    return await client.apply(resource, object, { fieldManager, force: true, signal }).catch((error: unknown) => {
      if (!judged) recreations.failed(object, error);
      throw error;
    });
  } catch (error) {
    if (!judged) await putBack(live, error, options);
    throw error;
  }
}

/** An abort would leave open whether the old object is gone, or leave neither object. So it has no effect on these. */
const unstoppable = { deadlineMs: 5_000 };

/**
 * Applies an object again that was to be deleted, if nothing has its name; returns whether it did.
 * Errors: an AggregateError of `cause` and the request's error.
 */
async function putBack(old: KubeObject, cause: unknown, options: HealOptions): Promise<boolean> {
  const { client, resource, fieldManager, recreations } = options;
  const { uid, resourceVersion: _v, managedFields: _f, deletionTimestamp: _d, ...metadata } = old.metadata;
  try {
    const found = await getIfExists(client, resource, keyOf(old), { metadataOnly: true, ...unstoppable });
    if (!found) {
      await client.apply(resource, { ...old, metadata }, { fieldManager, force: true, ...unstoppable });
    }
    // The old object itself may be about to go: it has finalizers, or the delete is still on its way.
    if (found?.metadata.uid !== uid) recreations.stored(old);
    return !found;
  } catch (error) {
    throw new AggregateError([cause, error]);
  }
}

/**
 * Repairs lists that an apply leaves wrong: after an edit, an item under another key belongs to another manager and
 * stays, and the object is invalid with both that item and ours (a Service whose port was changed has two ports of one
 * name).
 *
 * Flow: replace each list that holds unwanted items → apply. The ownership that the replacement brought is the
 * caller's to release: see `releaseUpdates`.
 * Guarantees: the replacement is conditional on the version that was read; values that the server assigned to an item
 * (a node port) stay with the item of that name.
 * Errors: `refusal` when no list differs; those of the requests.
 */
async function replaceLists(
  object: KubeObject,
  live: KubeObject,
  refusal: unknown,
  options: HealOptions,
): Promise<KubeObject> {
  const { client, resource, fieldManager, signal } = options;
  const replacements = foreignLists(object, live, '');
  if (replacements.length === 0) throw refusal;
  const operations = [atVersion(live), ...replacements];
  await client.patch(resource, keyOf(object), { type: 'json', operations }, { fieldManager, signal });
  return client.apply<KubeObject>(resource, object, { fieldManager, force: true, signal });
}

/**
 * Releases what updates of this field manager own beside its applies (the patch of `replaceLists` leaves that): with
 * two owners, an apply could never give a field up. `ownsExactly` is false until it is done, so a run that stopped
 * before it, or that met a write in between, leaves it to the next one.
 * Returns the object as the server has it afterwards. Errors: those of the request.
 */
export async function releaseUpdates(
  applied: KubeObject,
  { client, resource, fieldManager, signal }: Omit<HealOptions, 'recreations'>,
): Promise<KubeObject> {
  const entry = updateEntryOf(applied, fieldManager);
  if (entry < 0) return applied;
  const operations: JsonPatchOperation[] = [
    atVersion(applied),
    { op: 'remove', path: `/metadata/managedFields/${entry}` },
  ];
  return client.patch(resource, keyOf(applied), { type: 'json', operations }, { fieldManager, signal });
}

function atVersion(object: KubeObject): JsonPatchOperation {
  return { op: 'test', path: '/metadata/resourceVersion', value: object.metadata.resourceVersion };
}

type Json = Record<string, unknown>;

/** Replacements for the lists of objects in `live` that hold an item which `wanted` does not have. */
function foreignLists(wanted: unknown, live: unknown, path: string): JsonPatchOperation[] {
  if (Array.isArray(wanted) && Array.isArray(live)) {
    if (!wanted.every(isObject) || !live.every(isObject)) return [];
    const foreign = live.some((item) => !wanted.some((w) => sameIdentity(w, item)));
    if (!foreign) return [];
    return [{ op: 'replace', path, value: wanted.map((w) => ({ ...live.find((l) => sameName(w, l)), ...w })) }];
  }
  if (!isObject(wanted) || !isObject(live)) return [];
  return Object.keys(wanted)
    .filter((name) => path !== '' || (name !== 'metadata' && name !== 'status'))
    .flatMap((name) =>
      foreignLists(wanted[name], live[name], `${path}/${name.replace(/~/g, '~0').replace(/\//g, '~1')}`),
    );
}

/** Members by which the built-in kinds merge list items. */
const keys = ['name', 'port', 'containerPort', 'protocol', 'mountPath', 'ip', 'type', 'topologyKey'];

function sameIdentity(wanted: Json, live: Json): boolean {
  return keys.every((key) => wanted[key] === undefined || live[key] === undefined || wanted[key] === live[key]);
}

function sameName(wanted: Json, live: Json): boolean {
  return wanted['name'] === live['name'];
}
