import type { KubeObject } from '../../api/meta.ts';
import { troubleOver, troublePrefix, troubleRepeatMs } from '../../api/trouble-events.ts';
import { kinds } from '../../api/v1alpha1/index.ts';
import { coreResources, getIfExists } from '../../kube/index.ts';
import { names } from '../../render/index.ts';
import {
  changed,
  toKey,
  type ControllerEnvironment,
  type ControllerHandle,
  type EventDetails,
} from '../../runtime/index.ts';
import { imagePullTrouble, podTroubleTransform } from '../pod-trouble.ts';
import type { Refusal } from '../refusal.ts';
import type { PlatformTrouble } from './trouble.ts';

const controllerName = 'platform-watch';
/** How long an Event waits for the look-up of the operator's Deployment. Units: ms. */
const lookUpMs = 5_000;

/** The names of the CRDs that the operator needs. */
const ownKinds = kinds.map(({ resource }) => `${resource.plural}.${resource.group}`);

/**
 * Checks what no other controller sees: whether our kinds are still served, and whether the platform's pods get their
 * images. It changes nothing; findings go to `PlatformTrouble`.
 */
export function setupPlatformWatch(
  env: ControllerEnvironment,
  options: { namespace: string; trouble: PlatformTrouble },
): ControllerHandle {
  const { namespace, trouble } = options;
  const crds = env.cache.informer({ resource: coreResources.customResourceDefinitions, metadataOnly: true });
  const pods = env.cache.informer({
    resource: coreResources.pods,
    namespace,
    labelSelector: 'app.kubernetes.io/name=svc-operator,app.kubernetes.io/component in (agent,query)',
    transform: podTroubleTransform,
  });
  const toPlatform = toKey({ name: 'platform' });
  return env.addController({
    name: controllerName,
    initialKeys: [{ name: 'platform' }],
    watches: [
      {
        source: crds.source,
        map: toPlatform,
        predicates: [(event) => ownKinds.includes(event.object.metadata.name ?? '')],
      },
      { source: pods.source, map: toPlatform, predicates: [changed((pod) => imagePullTrouble([pod as KubeObject]))] },
    ],
    reconcile() {
      trouble.report('kinds', missingKinds(crds.list()));
      const image = imagePullTrouble(pods.list());
      trouble.report(
        'pods',
        image === undefined ? undefined : { reason: 'ImagePullFailed', message: image, stalled: true },
      );
      return Promise.resolve();
    },
  });
}

/** A refusal that names our kinds that are not served, or about to disappear; undefined if there are none. Pure. */
export function missingKinds(crds: readonly KubeObject[]): Refusal | undefined {
  const served = new Set(
    crds.filter((crd) => crd.metadata.deletionTimestamp === undefined).map((crd) => crd.metadata.name),
  );
  const missing = ownKinds.filter((name) => !served.has(name));
  if (missing.length === 0) return undefined;
  const what = missing.length === 1 ? 'CustomResourceDefinition' : 'CustomResourceDefinitions';
  return {
    reason: 'MissingDependency',
    message: `${what} ${missing.join(', ')} removed; apply the CRDs of this version again`,
    stalled: true,
  };
}

/**
 * Writes Events for the operator's administrators on the operator's own Deployment. Without a Deployment (a test, a
 * local process), the Event regards no object that exists.
 * Guarantees: one Event when the fault changes, again every five minutes while it lasts, and one when it is gone. They
 * are recorded in the order of the changes, so the last one tells what is so now.
 */
export function announceTrouble(env: ControllerEnvironment, namespace: string, trouble: PlatformTrouble): void {
  const { deployments } = coreResources;
  const name = { namespace, name: names.controller };
  const { apiVersion, kind } = deployments;
  let bad = false;
  let told = Promise.resolve();
  const options = { deadlineMs: lookUpMs };
  const tell = async (details: EventDetails): Promise<void> => {
    // `kubectl describe` finds Events by uid.
    const found = await getIfExists<KubeObject>(env.client, deployments, name, options).catch(() => undefined);
    env.events.record({ apiVersion, kind, metadata: found?.metadata ?? name }, details);
  };
  let cancelRepeat = (): void => {};
  const announce = (current: Refusal | undefined): void => {
    cancelRepeat();
    if (!current && !bad) return;
    bad = current !== undefined;
    const details: EventDetails = current
      ? { type: 'Warning', reason: current.reason, message: troublePrefix + current.message }
      : { type: 'Normal', reason: troubleOver, message: `${troublePrefix}everything is in place again` };
    told = told.then(() => tell(details));
    if (current) cancelRepeat = env.clock.setTimeout(() => announce(current), troubleRepeatMs, { unref: true });
  };
  trouble.onChange(announce);
}
