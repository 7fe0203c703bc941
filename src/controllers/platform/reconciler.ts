import { metricsOn } from '../../base/metric-set.ts';
import { throwAll } from '../../base/errors.ts';
import { hasSharedCertificate } from '../../api/agents/agent-certificate.ts';
import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { clusterTrafficPolicies } from '../../api/v1alpha1/index.ts';
import { coreResources } from '../../kube/index.ts';
import { caBundle, type CaTiming } from '../../net/ca-rotation.ts';
import {
  ApplySet,
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
} from '../../runtime/index.ts';
import {
  customMetricsApiServices,
  defaultCustomMetricsMode,
  externalMetricsApiServices,
  names,
  renderedKinds,
  renderPlatform,
  withUserChanges,
  type CustomMetricsMode,
  type PlatformInput,
} from '../../render/index.ts';
import { isAgentPod, podTransform, type PodObject } from '../capture/facts.ts';
import { withForeignScale } from '../foreign-scale.ts';
import { keepAuthority } from './authority.ts';
import { certificateStates, managedSelector, planLeaves, type SecretObject } from './certificates.ts';
import {
  isAvailable,
  isOurs,
  customMetricsApi,
  externalMetricsApi,
  planMetricsApi,
  type ApiServiceObject,
  type QueryDeployment,
} from './metrics-apis.ts';
import { fromPolicies } from './from-policies.ts';
import { applyMonitors, isMonitor, monitorSources, servedMonitors } from './monitors.ts';
import { installationOwner, ownedFromOutside } from './ownership.ts';
import type { WaitingAgents } from '../agent-certificates/waiting.ts';
import { certificateCondition, writePolicyConditions, type PolicyObject } from './policy-conditions.ts';
import { reportingTo, type PlatformTrouble } from './trouble.ts';

/** The one key of this controller: there is one platform. */
export const platformKey = { name: 'platform' } as const;

const controllerName = 'platform';
const fieldManager = `svc-controller/${controllerName}`;
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

export interface PlatformOptions {
  /** Whether captured metrics are offered to autoscalers. */
  customMetrics?: CustomMetricsMode;
  /** Whether they are also offered as external metrics. Default off. */
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
 * Flow: CA Secret → leaf Secrets → everything that `renderPlatform` renders, pruning what it no longer renders →
 * monitors → the platform's conditions on every policy.
 * Guarantees: an existing CA is never replaced by accident (authority.ts). A failure of one step does not stop the
 * others, and the conditions are written in any case. Drift is repaired on the event that shows it. Certificates are
 * renewed at two thirds of their life; nothing restarts for that, because the pods reload their files. Objects outside
 * our namespace are owned by the operator's own ClusterRole, so that removing the installation removes it.
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
  const secrets = env.cache.informer<SecretObject>({
    resource: coreResources.secrets,
    namespace,
    labelSelector: managedSelector,
  });
  const crds = env.cache.informer({ resource: coreResources.customResourceDefinitions, metadataOnly: true });
  const pods = env.cache.informer<PodObject>({ resource: coreResources.pods, transform: podTransform });
  const apiServices = env.cache.informer<ApiServiceObject>({ resource: renderedKinds.APIService });
  const children = childKinds.map((resource) => env.cache.informer(childSource(resource, namespace)));
  const common = { client: env.client, fieldManager, controller: controllerName, metrics: env.metrics };
  const deployments = children[childKinds.indexOf(renderedKinds.Deployment)]!;
  const queryServer = (): QueryDeployment | undefined => deployments.get({ namespace, name: names.query });
  const set = new ApplySet({ ...common, children, events: env.events });
  const secretSet = new ApplySet({ ...common, children: [secrets as Informer], events: env.events });
  const monitorChildren = monitorSources(namespace, managedSelector).map((source) => env.cache.informer(source));
  const monitorSet = new ApplySet({ ...common, children: monitorChildren, events: env.events });
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

  const reconcile = async (context: ReconcileContext): Promise<ReconcileResult> => {
    const { clock, logger, signal } = context;
    const failures: unknown[] = [];
    const tried = async <T>(step: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await step();
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error);
        return undefined;
      }
    };
    const certificates = await tried(() => keepCertificates(context));
    const plan = planMetricsApi(customMetricsApi, customMetrics, namespace, apiServices.list(), queryServer());
    const external = planMetricsApi(externalMetricsApi, externalMetrics, namespace, apiServices.list(), queryServer());
    const monitors = servedMonitors(crds);
    const rendered = renderPlatform({
      ...base,
      ...fromPolicies(base, policies.list()),
      ...(certificates ? { caBundle: certificates.bundle } : {}),
      ...(plan.serve ? { customMetrics: { register: plan.register } } : {}),
      ...(external.serve ? { externalMetrics: { register: external.register } } : {}),
      ...(monitors ? { monitors } : {}),
    });
    const owner = await tried(() => installationOwner(context));
    const adjust = (child: KubeObject, live: KubeObject | undefined): KubeObject =>
      ownedFromOutside(withForeignScale(withUserChanges(child, live), live), namespace, owner);
    // Without a bundle the objects that carry it cannot be rendered: the existing ones stay.
    const belongs = (child: KubeObject): boolean =>
      certificates !== undefined && (child.kind !== 'APIService' || isOurs(namespace, child));
    const { secretObjects, monitorObjects, others } = sorted(rendered);
    await tried(() => secretSet.apply({ wanted: secretObjects, belongs: () => false, force: true, logger, signal }));
    await tried(() => set.apply({ wanted: others, adjust, belongs, force: true, logger, signal }));
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

  /** CA and leaves as they should be now. Errors: those of the requests. */
  async function keepCertificates(context: ReconcileContext): Promise<{ bundle: string; nextAt: number }> {
    const { clock, logger, signal } = context;
    const authority = await keepAuthority(context, namespace, fieldManager, options.caTiming);
    const live = new Map(secrets.list().map((s) => [s.metadata.name ?? '', s]));
    const sharedAgents = pods.list().some((pod) => isSharedAgent(pod, namespace));
    const plan = await planLeaves(namespace, authority.state, live, { now: clock.now(), sharedAgents });
    // Only the Secret that the agents shared is ever removed: with the last pod that mounts it.
    const belongs = ({ metadata }: KubeObject): boolean => metadata.name === names.agentTls;
    await secretSet.apply({ wanted: plan.secrets, belongs, force: true, logger, signal });
    for (const [secret, reason] of Object.entries(plan.issued)) logger.info('certificate issued', { secret, reason });
    return { bundle: caBundle(authority.state), nextAt: Math.min(plan.renewAt, authority.nextAt) };
  }

  const handle = env.addController({
    name: controllerName,
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

/** Secrets and monitors are applied each in their own way. */
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
  // One binding lies beside the Role that it binds.
  const where = resource.kind === 'RoleBinding' ? 'kube-system' : namespace;
  return { resource, labelSelector: childSelector, ...(resource.namespaced ? { namespace: where } : {}) };
}
