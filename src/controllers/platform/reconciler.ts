import type { ResourceRef } from '../../api/meta.ts';
import { clusterTrafficPolicies, type ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import { coreResources, getIfExists, isAlreadyExists } from '../../kube/index.ts';
import {
  ApplySet,
  changed,
  generationChanged,
  anyOf,
  labelsChanged,
  toKey,
  type ControllerEnvironment,
  type ControllerHandle,
  type Informer,
  type Predicate,
  type ReconcileContext,
  type ReconcileResult,
} from '../../runtime/index.ts';
import { names, renderedKinds, renderPlatform, withUserChanges, type PlatformInput } from '../../render/index.ts';
import { newCaSecret, planLeaves, readCa, type SecretObject } from './certificates.ts';

/** The one key of this controller: there is one platform. */
export const platformKey = { name: 'platform' } as const;

const controllerName = 'platform';
const fieldManager = `svc-controller/${controllerName}`;
/** Kinds the platform is made of; those of our own namespace alone are watched there alone. */
const childKinds = [
  renderedKinds.PriorityClass,
  renderedKinds.ServiceAccount,
  renderedKinds.ClusterRole,
  renderedKinds.ClusterRoleBinding,
  renderedKinds.NetworkPolicy,
  renderedKinds.Service,
  renderedKinds.PodDisruptionBudget,
  renderedKinds.DaemonSet,
  renderedKinds.Deployment,
];
/** The operator's own installation carries the same manager label and is not ours to touch. */
const childSelector =
  'app.kubernetes.io/name=svc-operator,app.kubernetes.io/managed-by=svc-controller,app.kubernetes.io/component in (agent,query)';
const secretSelector = 'app.kubernetes.io/name=svc-operator,app.kubernetes.io/managed-by=svc-controller';
/** Certificates are looked at no later than this, whatever the plan says. Units: ms. */
const longestWaitMs = 12 * 3_600_000;

/**
 * Keeps agents, query server and their certificates in place.
 *
 * Flow: CA Secret → leaf Secrets → everything that `renderPlatform` says, pruning what it no longer says.
 * Guarantees: an existing CA is never replaced by accident: it is read from the API server, not from the cache, and
 * created, not applied. Drift is repaired on the event that shows it. Certificates are renewed at two thirds of their
 * life; nothing restarts for that, because the pods reload their files.
 */
export function setupPlatform(env: ControllerEnvironment, base: PlatformInput): ControllerHandle {
  const { namespace } = base;
  const policies = env.cache.informer<ClusterTrafficPolicy>({ resource: clusterTrafficPolicies });
  const secrets = env.cache.informer<SecretObject>({
    resource: coreResources.secrets,
    namespace,
    labelSelector: secretSelector,
  });
  const children = childKinds.map((resource) => env.cache.informer(childSource(resource, namespace)));
  const common = { client: env.client, fieldManager, controller: controllerName, metrics: env.metrics };
  const set = new ApplySet({ ...common, children });
  const secretSet = new ApplySet({ ...common, children: [secrets as Informer] });
  const toPlatform = toKey(platformKey);
  const rendersDifferently = changed<ClusterTrafficPolicy>((policy) => wantsHostNetwork([policy]));

  const reconcile = async (context: ReconcileContext): Promise<ReconcileResult> => {
    const { clock, logger, signal } = context;
    const ca = await ensureCa(context, namespace);
    const live = new Map(secrets.list().map((s) => [s.metadata.name ?? '', s]));
    const plan = await planLeaves(namespace, ca, live, clock.now());
    await secretSet.apply({ wanted: plan.secrets, belongs: () => false, force: true, logger, signal });
    for (const [secret, reason] of Object.entries(plan.issued)) logger.info('certificate issued', { secret, reason });
    const input: PlatformInput = { ...base, hostNetwork: base.hostNetwork || wantsHostNetwork(policies.list()) };
    await set.apply({ wanted: renderPlatform(input), adjust: withUserChanges, force: true, logger, signal });
    return { requeueAfterMs: Math.max(60_000, Math.min(plan.renewAt - clock.now(), longestWaitMs)) };
  };

  return env.addController({
    name: controllerName,
    initialKeys: [platformKey],
    watches: [
      ...children.map(({ source }) => ({ source, map: toPlatform, predicates: [worthARun] })),
      { source: secrets.source, map: toPlatform },
      { source: policies.source, map: toPlatform, predicates: [rendersDifferently] },
    ],
    reconcile,
  });
}

/**
 * Flows are read from the host's own network devices, so capturing them puts the agent's pod into the host's network.
 * Any policy that asks for flows decides it: there is one DaemonSet.
 */
export function wantsHostNetwork(policies: readonly ClusterTrafficPolicy[]): boolean {
  return policies.some((p) => p.metadata.deletionTimestamp === undefined && p.spec.network?.enabled === true);
}

/** Status of Deployments and DaemonSets changes all the time and decides nothing here. */
const worthARun: Predicate = anyOf(
  generationChanged,
  labelsChanged,
  // Kinds without a generation: anything may have changed.
  (event) => event.object.metadata.generation === undefined,
  changed((object) => object.metadata.ownerReferences),
);

function childSource(resource: ResourceRef, namespace: string) {
  return { resource, labelSelector: childSelector, ...(resource.namespaced ? { namespace } : {}) };
}

/** The CA in force; made when there is none. */
async function ensureCa(context: ReconcileContext, namespace: string) {
  const { client, clock, logger, signal } = context;
  const name = { namespace, name: names.ca };
  const secret = await getIfExists<SecretObject>(client, coreResources.secrets, name, { signal });
  const found = readCa(secret);
  if ('ca' in found) return found.ca;
  const next = await newCaSecret(namespace, clock.now());
  const level = secret ? 'warn' : 'info';
  logger[level]('certificate authority is made', { secret: names.ca, reason: found.fault });
  const options = { fieldManager, signal };
  if (secret) {
    const { resourceVersion } = secret.metadata;
    const replaced = { ...next, metadata: { ...next.metadata, ...(resourceVersion ? { resourceVersion } : {}) } };
    await client.update(coreResources.secrets, { ...replaced, type: secret.type ?? 'Opaque' }, options);
  } else {
    try {
      await client.create(coreResources.secrets, next, options);
    } catch (error) {
      // Another replica was faster: its CA counts.
      if (!isAlreadyExists(error)) throw error;
      return ensureCaAgain(context, namespace);
    }
  }
  const made = readCa(next);
  if ('fault' in made) throw new Error(`the new CA cannot be read back: ${made.fault}`);
  return made.ca;
}

async function ensureCaAgain(context: ReconcileContext, namespace: string) {
  const name = { namespace, name: names.ca };
  const secret = await context.client.get<SecretObject>(coreResources.secrets, name, { signal: context.signal });
  const found = readCa(secret);
  if ('fault' in found) throw new Error(`Secret ${names.ca}: ${found.fault}`);
  return found.ca;
}
