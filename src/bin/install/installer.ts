import type { KubeObject } from '../../api/meta.ts';
import { holds } from '../../api/statuses.ts';
import { sleep, type Clock } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import { coreResources, fieldConflicts, getIfExists, isNotFound, type KubeClient } from '../../kube/index.ts';
import { keyOf } from '../../runtime/index.ts';
import { isOurs } from './namespaces.ts';
import { objectDiff } from './object-diff.ts';
import { refuseOtherInstallation } from './other-installation.ts';
import { nameOfObject, resourceOf } from './resources.ts';

export const installManager = 'svc-install';

/** `foreign`: a namespace that others made, which an installation leaves as it is. */
export type Change = 'created' | 'configured' | 'unchanged' | 'foreign';

/** The planned change of one object. */
export interface ObjectChange {
  object: KubeObject;
  change: Change;
  /** The object as it is in the cluster; only of a namespace that others made. */
  live?: KubeObject;
  /** The diff between the live object and the object that the server would store. */
  diff: string[];
}

export interface InstallerDeps {
  client: KubeClient;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Plans what applying would change, by a dry run: the API server fills in defaults, runs admission, and refuses invalid
 * objects, but stores nothing.
 *
 * Caveats: an object in a namespace that does not exist yet is checked as if it were in `default`. An object of a kind
 * that this installation brings is shown unchecked, because the server does not know the kind yet.
 * Errors: those of the API server, with the object's name; ERR_APPLY_CONFLICT names the manager that owns the fields;
 * ERR_CONFIG_INVALID when the operator is installed in another namespace.
 */
export async function planInstallation(
  wanted: readonly KubeObject[],
  deps: InstallerDeps,
  options: { namespace: string; force: boolean },
): Promise<ObjectChange[]> {
  await refuseOtherInstallation(options.namespace, deps);
  const changes: ObjectChange[] = [];
  const absent = new Set<string>();
  for (const object of wanted) {
    const resource = resourceOf(object);
    const live = await getIfExists<KubeObject>(deps.client, resource, keyOf(object), { signal: deps.signal });
    if (object.kind === 'Namespace' && !live) absent.add(object.metadata.name ?? '');
    if (object.kind === 'Namespace' && live && !isOurs(live)) {
      changes.push({ object, live, change: 'foreign', diff: [] });
      continue;
    }
    const stored = await judged(object, absent, deps, options);
    const diff = objectDiff(live, stored);
    changes.push({ object, change: live ? (diff.length > 0 ? 'configured' : 'unchanged') : 'created', diff });
  }
  return changes;
}

async function judged(
  object: KubeObject,
  absent: ReadonlySet<string>,
  deps: InstallerDeps,
  { force }: { force: boolean },
): Promise<KubeObject> {
  const { namespace } = object.metadata;
  const elsewhere = namespace !== undefined && absent.has(namespace);
  const asked = elsewhere ? { ...object, metadata: { ...object.metadata, namespace: 'default' } } : object;
  try {
    const stored = await applied(asked, deps, { force, dryRun: true });
    return elsewhere ? { ...stored, metadata: { ...stored.metadata, namespace } } : stored;
  } catch (error) {
    // The kind itself is part of this installation and does not exist yet.
    if (isNotFound(error) && object.apiVersion.startsWith('svc.dev/')) return object;
    throw named(object, error);
  }
}

/** The objects that a plan changes, in its order. Pure. */
export const toApply = (changes: readonly ObjectChange[]): KubeObject[] =>
  changes.filter(({ change }) => change === 'created' || change === 'configured').map(({ object }) => object);

/** Applies objects in order; waits for CRDs before the first object of their kind. */
export async function applyInstallation(
  wanted: readonly KubeObject[],
  deps: InstallerDeps,
  options: { force: boolean; onDone: (object: KubeObject) => void },
): Promise<void> {
  for (const object of wanted) {
    if (object.apiVersion.startsWith('svc.dev/')) await untilServed(object, deps);
    try {
      await applied(object, deps, { force: options.force });
      options.onDone(object);
    } catch (error) {
      throw named(object, error);
    }
  }
}

const applied = (
  object: KubeObject,
  { client, signal }: InstallerDeps,
  options: { force: boolean; dryRun?: boolean },
): Promise<KubeObject> =>
  client.apply(resourceOf(object), object, { ...options, fieldManager: installManager, signal });

/** Waits until the API server serves the kind of an object. Errors: ERR_TIMEOUT after a minute. */
async function untilServed(object: KubeObject, { client, clock, signal }: InstallerDeps): Promise<void> {
  const { plural, group } = resourceOf(object);
  const deadline = clock.monotonic() + 60_000;
  while (clock.monotonic() < deadline) {
    const name = { name: `${plural}.${group}` };
    const crd = await getIfExists<KubeObject>(client, coreResources.customResourceDefinitions, name, { signal });
    if (holds(crd, 'Established')) return;
    await sleep(clock, 250, signal);
  }
  throw new OperatorError('ERR_TIMEOUT', `${plural}.${group} is not served after a minute`);
}

function named(object: KubeObject, error: unknown): OperatorError {
  const conflicts = fieldConflicts(error);
  const name = nameOfObject(object);
  if (conflicts.length === 0)
    return new OperatorError('ERR_API_REQUEST', `${name}: ${errorText(error)}`, { cause: error });
  const owners = [...new Set(conflicts.map((c) => `${c.field} (${c.manager})`))].join(', ');
  const message = `${name}: others own ${owners}; --force-conflicts takes the fields over`;
  return new OperatorError('ERR_APPLY_CONFLICT', message, { cause: error });
}
