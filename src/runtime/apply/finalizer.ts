import type { ResourceRef } from '../../api/meta.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import { isInvalid, isNotFound, type JsonPatchOperation, type KubeClient, type TypedObject } from '../../kube/index.ts';
import { RequeueError, TerminalError } from '../control/result.ts';
import { keyOf } from '../keys.ts';

/** The kind of the object, its finalizer, and the client and field manager that patch it. */
export interface FinalizerOptions {
  client: KubeClient;
  resource: ResourceRef;
  /** `<group>/<purpose>`. */
  finalizer: string;
  fieldManager: string;
}

/**
 * Keeps an object until its clean-up has run.
 *
 * Flow: an object without our finalizer → add the finalizer, return `added` · an object with our finalizer that is
 * being deleted → run `cleanup`, remove the finalizer, return `removed` · else `present` (go on) or `absent` (being
 * deleted, nothing left to do).
 * Guarantees: the patch tests the list it was computed from, so finalizers of others are never lost: a race ends in
 * ERR_API_CONFLICT, and the next run sees the new list; the cached object is not changed.
 * Assumptions: `cleanup` is idempotent: it runs again when removing fails.
 * Errors: ERR_FINALIZER when the clean-up failed (cause kept); a RequeueError or TerminalError of the clean-up as it is;
 * otherwise those of the patch.
 */
export async function handleFinalizer(
  object: TypedObject,
  options: FinalizerOptions,
  cleanup: () => Promise<void>,
  signal?: AbortSignal,
): Promise<'added' | 'present' | 'removed' | 'absent'> {
  const present = object.metadata.finalizers ?? [];
  const ours = present.includes(options.finalizer);
  if (!object.metadata.deletionTimestamp) {
    if (ours) return 'present';
    await patchFinalizers(object, [...present, options.finalizer], options, signal);
    return 'added';
  }
  if (!ours) return 'absent';
  try {
    await cleanup();
  } catch (cause) {
    if (cause instanceof RequeueError || cause instanceof TerminalError) throw cause;
    const name = `${options.resource.kind} ${object.metadata.name}`;
    throw new OperatorError('ERR_FINALIZER', `clean-up of ${name} (${options.finalizer}): ${errorText(cause)}`, {
      cause,
    });
  }
  await patchFinalizers(
    object,
    present.filter((f) => f !== options.finalizer),
    options,
    signal,
  );
  return 'removed';
}

/**
 * Runs every clean-up even if another fails.
 * Errors: ERR_FINALIZER that lists all failures (the cause holds the errors). If every failure is a RequeueError, that of
 * the shortest delay; if every failure is a TerminalError, one that lists all.
 */
export async function runCleanups(cleanups: Readonly<Record<string, () => Promise<void>>>): Promise<void> {
  const failures: { name: string; error: unknown }[] = [];
  for (const [name, run] of Object.entries(cleanups)) {
    try {
      await run();
    } catch (error) {
      failures.push({ name, error });
    }
  }
  if (failures.length === 0) return;
  const errors = failures.map(({ error }) => error);
  if (errors.every((error) => error instanceof RequeueError)) {
    throw errors.reduce((soonest, error) => (error.afterMs < soonest.afterMs ? error : soonest));
  }
  const texts = failures.map(({ name, error }) => `${name}: ${errorText(error)}`);
  const cause = new AggregateError(
    failures.map(({ error }, i) => new OperatorError('ERR_FINALIZER', texts[i]!, { cause: error })),
  );
  if (errors.every((error) => error instanceof TerminalError)) throw new TerminalError(texts.join('; '), { cause });
  throw new OperatorError('ERR_FINALIZER', texts.join('; '), { cause });
}

/** Replaces the live object's finalizers by `wanted`, provided that they still are those of `object`. */
export async function patchFinalizers(
  object: TypedObject,
  wanted: readonly string[],
  options: Pick<FinalizerOptions, 'client' | 'resource' | 'fieldManager'>,
  signal?: AbortSignal,
): Promise<void> {
  const present = object.metadata.finalizers ?? [];
  // Removing a member that is absent would be refused.
  if (present.length === 0 && wanted.length === 0) return;
  const path = '/metadata/finalizers';
  const operations: JsonPatchOperation[] = [
    { op: 'test', path: '/metadata/uid', value: object.metadata.uid },
    // For an absent member the test compares with `null`; this closes the race with the first finalizer of another
    // manager.
    { op: 'test', path, value: present.length > 0 ? present : null },
    wanted.length > 0 ? { op: 'add', path, value: wanted } : { op: 'remove', path },
  ];
  try {
    await options.client.patch(
      options.resource,
      keyOf(object),
      { type: 'json', operations },
      {
        fieldManager: options.fieldManager,
        signal,
      },
    );
  } catch (error) {
    if (isNotFound(error) && object.metadata.deletionTimestamp) return;
    if (isInvalid(error)) {
      throw new OperatorError('ERR_API_CONFLICT', `finalizers of ${object.metadata.name} changed meanwhile`, {
        cause: error,
      });
    }
    throw error;
  }
}
