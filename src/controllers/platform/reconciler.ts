import { metricsOn } from '../../base/metric-set.ts';
import { throwAll } from '../../base/errors.ts';
import { hasSharedCertificate } from '../../api/agents/agent-certificate.ts';
import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { clusterTrafficPolicies, type ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import { coreResources, isMethodNotAllowed, isNotFound, kubernetesMinor } from '../../kube/index.ts';
import { caBundle, type CaTiming } from '../../net/ca-rotation.ts';
import {
  changed,
  generationChanged,
  anyOf,
  labelsChanged,
  StatusWriter,
  toKey,
  type ControllerEnvironment,
  type ControllerHandle,
  type Informer,
  type Predicate,
  type ReconcileContext,
  type ReconcileResult,
  type ApplyRequest,
  type ApplySet,
  type Source,
  mergeConditions,
  type ConditionInput,
} from '../../runtime/index.ts';
import {
  customMetricsApiServices,
  defaultCustomMetricsMode,
  externalMetricsApiServices,
  instrumentVersion,
  names,
  renderedKinds,
  renderPlatform,
  withUserChanges,
  type CustomMetricsMode,
  type PlatformInput,
} from '../../render/index.ts';
import { applySetOf, fieldManagerOf } from '../apply-set.ts';
import { isAgentPod, podTransform, type PodObject } from '../capture/facts.ts';
import { withForeignScale } from '../foreign-scale.ts';
import { installationOwner, ownedFromOutside } from '../installation-owner.ts';
import { keepAuthority } from './authority.ts';
import {
  certificateStates,
  managedSecrets,
  managedSelector,
  planLeaves,
  type SecretObject,
  type CertificateState,
} from './certificates.ts';
import { DataRemoval } from './data-removal.ts';
import {
  isAvailable,
  isOurs,
  customMetricsApi,
  externalMetricsApi,
  overLive,
  planMetricsApi,
  type ApiServiceObject,
  type QueryDeployment,
  type QueryServerObjects,
} from './metrics-apis.ts';
import { mayPruneAccess, releaseSharedAccess, withoutForeignAccess } from './metrics-access.ts';
import type { WaitingAgents } from '../agent-certificates/waiting.ts';
import { reportingTo, type PlatformTrouble } from './trouble.ts';
import { judgePolicies, policiesInForce } from '../../capture/index.ts';

/** The one key of this controller: there is one platform. */
export const platformKey = { name: 'platform' } as const;

const controllerName = 'platform';
const fieldManager = fieldManagerOf(controllerName);
/** Kinds that the platform consists of; those that exist only in our own namespace are watched only there. */
const childKinds = [
  renderedKinds.PriorityClass,
  renderedKinds.ServiceAccount,
  renderedKinds.ClusterRole,
  renderedKinds.ClusterRoleBinding,
  renderedKinds.RoleBinding,
  renderedKinds.NetworkPolicy,
  renderedKinds.ConfigMap,
  renderedKinds.Service,
  renderedKinds.PodDisruptionBudget,
  renderedKinds.DaemonSet,
  renderedKinds.Deployment,
  renderedKinds.APIService,
];
/** The operator's own installation carries the same manager label and must not be touched. */
const childSelector =
  'app.kubernetes.io/name=svc-operator,app.kubernetes.io/managed-by=svc-controller,app.kubernetes.io/component in (agent,query)';
/** Certificates are checked at least this often, whatever the plan says. Units: ms. */
const longestWaitMs = 12 * 3_600_000;
/**
 * Time limit of a reconcile: some 25 objects are written one after another, and a webhook that does not answer holds up
 * each write for 10 s by default. The conditions come last. Units: ms.
 */
const timeoutMs = 300_000;

export interface PlatformOptions {
  /** Whether captured metrics are offered to autoscalers. */
  customMetrics?: CustomMetricsMode;
  /** Whether captured metrics are also offered as external metrics. Default off. */
  externalMetrics?: CustomMetricsMode;
  /** Validity and rotation times of the certificate authority. */
  caTiming?: CaTiming;
  /** Agents that could not be given a certificate. */
  waiting?: Pick<WaitingAgents, 'summary' | 'onChange'>;
  /** Where failures are reported. */
  trouble?: PlatformTrouble;
}

/**
 * Keeps agents, query server and their certificates in place.
 *
 * Flow: the end of a removal of data that was given up → CA Secret → leaf Secrets → everything that `renderPlatform` renders, pruning what it no longer renders →
 * monitors → the platform's conditions on every policy.
 * Guarantees: an existing CA is never replaced by accident (authority.ts). A failure of one step does not stop the
 * others, and the conditions are written in any case. Drift is repaired on the event that shows it. Certificates are
 * renewed at two thirds of their life; nothing restarts for that, because the pods reload their files. Objects outside
 * our namespace are owned by the operator's own ClusterRole, so that removing the installation removes them; while that
 * one is being deleted or cannot be read, they stay as they are.
 */
export function setupPlatform(
  env: ControllerEnvironment,
  base: PlatformInput,
  options: PlatformOptions = {},
): ControllerHandle {
  const { namespace } = base;
  const { customMetrics = defaultCustomMetricsMode } = options;
  const externalMetrics = customMetrics === 'off' ? 'off' : (options.externalMetrics ?? 'off');
  const policies = env.cache.informer<PolicyObject>({ resource: clusterTrafficPolicies });
  const secrets = managedSecrets(env.cache, namespace);
  const crds = env.cache.informer({ resource: coreResources.customResourceDefinitions, metadataOnly: true });
  const pods = env.cache.informer<PodObject>({ resource: coreResources.pods, transform: podTransform });
  const apiServices = env.cache.informer<ApiServiceObject>({ resource: renderedKinds.APIService });
  const children = childKinds.map((resource) => env.cache.informer(childSource(resource, namespace)));
  const deployments = children[childKinds.indexOf(renderedKinds.Deployment)]!;
  const roleBindings = children[childKinds.indexOf(renderedKinds.RoleBinding)]!;
  const queryServer = (): QueryServerObjects => ({
    deployment: deployments.get({ namespace, name: names.query }),
    reader: roleBindings.get({ namespace: 'kube-system', name: names.authReader }),
  });
  const set = applySetOf(env, controllerName, children);
  const secretSet = applySetOf(env, controllerName, [secrets as Informer]);
  const monitorChildren = monitorSources(namespace, managedSelector).map((source) => env.cache.informer(source));
  const monitorSet = applySetOf(env, controllerName, monitorChildren);
  const writer = new StatusWriter({ client: env.client, fieldManager, informer: policies });
  const toPlatform = toKey(platformKey);
  const certificateTimes = () => certificateStates(certificatesIn(secrets), env.clock.now());
  metricsOn(env.registry).gauge(
    'svc_controller_cert_expiry_timestamp_seconds',
    "End of a certificate's life, by the Secret that holds it.",
    ['secret'],
    (metric) => {
      metric.reset();
      for (const { secret, expiresAt } of certificateTimes()) metric.set({ secret }, expiresAt / 1000);
    },
  );

  const dataRemoval = new DataRemoval(namespace);
  /** Learned once, by the first reconcile that can. */
  let minor: number | undefined;

  const reconcile = async (context: ReconcileContext): Promise<ReconcileResult> => {
    const { client, clock, logger, signal } = context;
    if (await dataRemoval.end(context)) return { requeueAfterMs: 2_000 };
    const failures: unknown[] = [];
    const tried = async <T>(step: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await step();
      } catch (error) {
        failures.push(error);
        // What failed before is often why the time was not enough.
        if (signal.aborted) throwAll(failures);
        return undefined;
      }
    };
    minor ??= await tried(() => kubernetesMinor(client, { signal }));
    const certificates = await tried(() => keepCertificates(context));
    const plan = planMetricsApi(customMetricsApi, customMetrics, namespace, apiServices.list(), queryServer());
    const external = planMetricsApi(externalMetricsApi, externalMetrics, namespace, apiServices.list(), queryServer());
    const monitors = servedMonitors(crds);
    const rendered = renderPlatform({
      ...base,
      kubernetesMinor: minor,
      ...fromPolicies(base, policies.list()),
      ...(certificates ? { caBundle: certificates.bundle } : {}),
      ...(plan.serve ? { customMetrics: { register: plan.register } } : {}),
      ...(external.serve ? { externalMetrics: { register: external.register } } : {}),
      ...(monitors ? { monitors } : {}),
    });
    const installation = await tried(async () => ({ owner: await installationOwner(context) }));
    // What the installation owns goes with it, and is not made again. One that cannot be read may be going.
    const mayBeGoing = !installation || installation.owner === 'going';
    const owner = installation?.owner === 'going' ? undefined : installation?.owner;
    const isKept = ({ metadata }: KubeObject): boolean => !mayBeGoing || metadata.namespace === namespace;
    const adjust = (child: KubeObject, live: KubeObject | undefined): KubeObject => {
      // Another server's registration lacks our labels, so that the children's cache does not show it.
      if (child.kind === 'APIService') child = overLive(child, apiServices.get({ name: child.metadata.name! }));
      return ownedFromOutside(withForeignScale(withUserChanges(child, live), live), namespace, owner);
    };
    // Without the CA bundle, the objects that carry it are not rendered. The existing ones must not be pruned then.
    const belongs = (child: KubeObject): boolean =>
      certificates !== undefined &&
      isKept(child) &&
      (child.kind !== 'APIService' || isOurs(namespace, child)) &&
      mayPruneAccess(child, fieldManager);
    const { secretObjects, monitorObjects, others } = sorted(rendered.filter(isKept));
    await tried(() => secretSet.apply({ wanted: secretObjects, belongs: () => false, force: true, logger, signal }));
    await tried(() => releaseSharedAccess(children, fieldManager, context));
    await tried(async () => {
      const wanted = await withoutForeignAccess(others, children, fieldManager, context);
      await set.apply({ wanted, adjust, belongs, force: true, logger, signal });
    });
    await tried(() => applyMonitors(monitorSet, { wanted: monitorObjects, force: true, logger, signal }));
    const conditions = [
      certificateCondition(certificateTimes(), options.waiting?.summary),
      ...[plan, external].flatMap(({ condition }) => (condition ? [condition] : [])),
    ];
    await tried(() => writePolicyConditions(policies, writer, conditions, context));
    throwAll(failures);
    const dueMs = (certificates?.nextAt ?? 0) - clock.now();
    return { requeueAfterMs: Math.min(Math.max(60_000, dueMs), longestWaitMs) };
  };

  /**
   * Brings the CA and the leaf certificates into the state that they should have now. Errors: those of the requests.
   */
  async function keepCertificates(context: ReconcileContext): Promise<{ bundle: string; nextAt: number }> {
    const { clock, logger, signal } = context;
    const authority = await keepAuthority(context, namespace, fieldManager, options.caTiming);
    const live = new Map(secrets.list().map((s) => [s.metadata.name ?? '', s]));
    const sharedAgents = pods.list().some((pod) => isSharedAgent(pod, namespace));
    const plan = await planLeaves(namespace, authority.state, live, { now: clock.now(), sharedAgents });
    // The only Secret that is ever pruned is the one that agents shared, once no pod mounts it.
    const belongs = ({ metadata }: KubeObject): boolean => metadata.name === names.agentTls;
    await secretSet.apply({ wanted: plan.secrets, belongs, force: true, logger, signal });
    for (const [secret, reason] of Object.entries(plan.issued)) logger.info('certificate issued', { secret, reason });
    for (const secret of plan.rebundled) logger.info('CA bundle changed', { secret });
    return { bundle: caBundle(authority.state), nextAt: Math.min(plan.renewAt, authority.nextAt) };
  }

  const handle = env.addController({
    name: controllerName,
    timeoutMs,
    initialKeys: [platformKey],
    watches: [
      ...children.map(({ source }) => ({ source, map: toPlatform, predicates: [worthARun] })),
      { source: secrets.source, map: toPlatform },
      {
        source: pods.source,
        map: toPlatform,
        predicates: [({ type, object }) => type !== 'updated' && isSharedAgent(object as PodObject, namespace)],
      },
      ...monitorChildren.map(({ source }) => ({ source, map: toPlatform })),
      { source: policies.source, map: toPlatform, predicates: [generationChanged] },
      { source: apiServices.source, map: toPlatform, predicates: [concernsAutoscaling] },
      { source: crds.source, map: toPlatform, predicates: [concernsMonitors] },
    ],
    reconcile: options.trouble ? reportingTo(options.trouble, reconcile) : reconcile,
  });
  options.waiting?.onChange(() => handle.trigger(platformKey));
  return handle;
}

function isSharedAgent(pod: PodObject, namespace: string): boolean {
  return pod.metadata.namespace === namespace && isAgentPod(pod) && hasSharedCertificate(pod.spec);
}

/** The Secrets that hold certificates; the scraper's token is not one of them. */
function certificatesIn(secrets: Informer<SecretObject>): Map<string, SecretObject> {
  const certificates: readonly string[] = [names.ca, names.agentTls, names.queryTls, names.controllerTls];
  return new Map(
    secrets.list().flatMap((s) => (certificates.includes(s.metadata.name!) ? [[s.metadata.name!, s]] : [])),
  );
}

const autoscalingApis = [...customMetricsApiServices, ...externalMetricsApiServices];
const concernsAutoscaling: Predicate = (event) => autoscalingApis.includes(event.object.metadata.name ?? '');
const concernsMonitors: Predicate = (event) =>
  (event.type !== 'updated' || event.object.metadata.deletionTimestamp !== undefined) &&
  (event.object.metadata.name ?? '').endsWith(`.${renderedKinds.PodMonitor.group}`);

/** Splits the objects: Secrets and monitors are each applied in their own way. */
function sorted(rendered: readonly KubeObject[]) {
  return {
    secretObjects: rendered.filter((object) => object.kind === 'Secret') as SecretObject[],
    monitorObjects: rendered.filter(isMonitor),
    others: rendered.filter((object) => object.kind !== 'Secret' && !isMonitor(object)),
  };
}

/**
 * The status of Deployments and DaemonSets changes all the time; only whether the query server answers matters here.
 */
const worthARun: Predicate = anyOf(
  generationChanged,
  labelsChanged,
  // Kinds without a generation: any field may have changed.
  (event) => event.object.metadata.generation === undefined,
  changed((object) => object.metadata.ownerReferences),
  changed((object) => object.metadata.name === names.query && isAvailable(object as QueryDeployment)),
);

function childSource(resource: ResourceRef, namespace: string) {
  // The RoleBinding is in the namespace of the Role that it binds.
  const where = resource.kind === 'RoleBinding' ? 'kube-system' : namespace;
  return { resource, labelSelector: childSelector, ...(resource.namespaced ? { namespace: where } : {}) };
}

const { PodMonitor, ServiceMonitor } = renderedKinds;

/** Where PodMonitors and ServiceMonitors are watched. Their CRDs belong to another product and may come and go. */
const monitorSources = (namespace: string, labelSelector: string): Source[] =>
  [PodMonitor, ServiceMonitor].map((resource) => ({ resource, namespace, labelSelector, optional: true }));

/** The kinds of the Prometheus Operator that the cluster serves or is about to serve, by its CRDs. */
function servedMonitors(crds: Informer): NonNullable<PlatformInput['monitors']> | undefined {
  const has = ({ plural, group }: typeof PodMonitor): boolean => {
    const crd = crds.get({ name: `${plural}.${group}` });
    return crd !== undefined && crd.metadata.deletionTimestamp === undefined;
  };
  const [pod, service] = [has(PodMonitor), has(ServiceMonitor)];
  return pod || service ? { pod, service } : undefined;
}

const isMonitor = ({ kind }: KubeObject): boolean => kind === PodMonitor.kind || kind === ServiceMonitor.kind;

/**
 * Applies monitors. Monitors are not pruned: they are deleted with their CRDs.
 * Errors: the first of an apply. A kind that is no longer served is not an error, because nothing reads its monitors.
 */
async function applyMonitors(set: ApplySet, request: Omit<ApplyRequest, 'belongs'>): Promise<void> {
  const { failures } = await set.tryApply({ ...request, belongs: () => false });
  for (const { object, error } of failures) {
    if (!isNotFound(error) && !isMethodNotAllowed(error)) throw error;
    request.logger.info('monitor not applied, its kind is no longer served', { object });
  }
}

type PolicyObject = ClusterTrafficPolicy & KubeObject;

/**
 * The state of the certificates, in the terms of the policy's status. Pure.
 * @param waiting The agents that could not be given a certificate, in one line; `''` for none.
 */
export function certificateCondition(states: readonly CertificateState[], waiting = ''): ConditionInput {
  const type = 'CertificateExpiring';
  const overdue = states.filter((state) => state.overdue);
  if (overdue.length === 0 && waiting !== '') {
    return { type, status: 'True', reason: 'AgentsWaiting', message: `agents got no certificate: ${waiting}` };
  }
  if (overdue.length === 0) return { type, status: 'False', reason: 'CertificatesValid', message: '' };
  const list = overdue.map(({ secret, expiresAt }) => `${secret} ends ${new Date(expiresAt).toISOString()}`).join(', ');
  return { type, status: 'True', reason: 'RenewalOverdue', message: `not renewed in time: ${list}` };
}

/**
 * Puts the platform's conditions on every policy: that is where a platform team looks. Their field manager is the
 * platform's own, not that of the policy's controller. They are written only when they change.
 */
async function writePolicyConditions(
  policies: Informer<PolicyObject>,
  writer: StatusWriter<PolicyObject>,
  conditions: readonly ConditionInput[],
  { clock, signal }: Pick<ReconcileContext, 'clock' | 'signal'>,
): Promise<void> {
  for (const policy of policies.list()) {
    if (policy.metadata.deletionTimestamp) continue;
    const generation = policy.metadata.generation ?? 0;
    const merged = mergeConditions(policy.status?.conditions, conditions, { generation, now: clock.now() });
    await writer.write(policy, { conditions: merged }, { signal });
  }
}

/**
 * The policies' settings for the one DaemonSet of the agents. Pure.
 *
 * A policy that is refused counts with its last accepted spec, as in the agents' configs. Flows are read from the
 * host's own network devices, so capturing them anywhere puts the agents into the host's network: one policy that asks
 * for flows is enough. The strongest policy that sets `rollout.maxUnavailable` decides how many agents may be replaced
 * at a time.
 */
export function fromPolicies(
  base: PlatformInput,
  policies: readonly ClusterTrafficPolicy[],
): Pick<PlatformInput, 'hostNetwork' | 'agentMaxUnavailable'> {
  const environment = { instrumentVersion: instrumentVersion(base), allowExtraConfig: base.allowExtraConfig ?? false };
  const living = policies.filter((p) => p.metadata.deletionTimestamp === undefined);
  const specs = policiesInForce(judgePolicies(living, environment)).map(({ spec }) => spec);
  const [maxUnavailable = base.agentMaxUnavailable] = specs.flatMap((spec) => spec.rollout?.maxUnavailable ?? []);
  return {
    hostNetwork: base.hostNetwork || specs.some((spec) => spec.network?.enabled === true),
    agentMaxUnavailable: maxUnavailable,
  };
}
