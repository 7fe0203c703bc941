import type { Condition, KubeObject } from '../../api/meta.ts';
import { conditionOf, type PodStatus } from '../../api/statuses.ts';
import { minterDeploymentConditions, minterDeployments, type MinterDeployment } from '../../api/v1alpha1/index.ts';
import type { MinterReadiness } from '../../api/v1alpha1/minter-readiness.ts';
import { coreResources, getIfExists, isForbidden, type TypedObject } from '../../kube/index.ts';
import {
  appCredentialsSecret,
  declaredRepositories,
  renderedKinds,
  renderMinter,
  selectorText,
} from '../../render/index.ts';
import {
  changed,
  conditionTransitions,
  generationChanged,
  keyText,
  oneObject,
  StatusWriter,
  throwFailures,
  type ControllerEnvironment,
  type ControllerHandle,
  type ObjectKey,
  type ReconcileContext,
  type ReconcileResult,
} from '../../runtime/index.ts';
import { applySetOf, fieldManagerOf } from '../apply-set.ts';
import { PacedStatus } from '../capture/paced-status.ts';
import { withForeignScale } from '../foreign-scale.ts';
import { crashTrouble, imagePullTrouble } from '../pod-trouble.ts';
import { grantMinters, grantSecret } from '../grants.ts';
import { refusalOf, type Refusal } from '../refusal.ts';
import { appIdHashOf, judgeAppCredentials, unreadableAppCredentials, type AppCredentials } from './app-credentials.ts';
import { planMinterStatus } from './plan.ts';
import { registryConfigMap, repositoriesInForce, withRegistered } from './registered-repositories.ts';
import { repositoryOutsideSpec } from './rule-repositories.ts';
import { minterReadinessReader, type ReadinessReader } from './readiness-client.ts';

export interface MinterSettings {
  /** The operator's own namespace: its pods may reach the minters' admin port. */
  namespace: string;
}

export interface MinterDeps {
  readReadiness?: ReadinessReader;
}

type MinterObject = MinterDeployment & KubeObject;

/** Retry interval of a failed apply, however often it failed. Units: ms. */
const failedRecheckMs = 30_000;
/**
 * Time limit of a reconcile: a webhook that does not answer can hold up the write of each of the six children for 30 s.
 * The status comes last. Units: ms.
 */
const timeoutMs = 300_000;
const controllerName = 'minter-deployment';
const fieldManager = fieldManagerOf(controllerName);
const selector = 'app.kubernetes.io/managed-by=svc-controller,app.kubernetes.io/component=minter';
const childKinds = [
  renderedKinds.ServiceAccount,
  renderedKinds.ConfigMap,
  renderedKinds.NetworkPolicy,
  renderedKinds.Service,
  renderedKinds.PodDisruptionBudget,
  renderedKinds.Deployment,
];

/**
 * Runs one minter (a server that gives out GitHub tokens) for each MinterDeployment.
 *
 * Flow: read the Secret and ConfigMap that the spec refers to, and the registered repositories → apply and prune the
 * children → ask the pods for the results of their own checks → write the status → record Events for what changed.
 * Guarantees: `Ready` exists from the first write; a failed apply is in the status before it is retried; the operator
 * reads one Secret value, the App ID, and keeps only its hash.
 * Caveats: permissions for minters are granted per namespace; without them `Ready` is False/Forbidden with the command
 * that grants them, and the reconcile is repeated every 30 s. The operator may get a Secret but not watch it, so it
 * polls: after 5 s while the minter is not ready, else after 30 s.
 */
export function setupMinterDeployment(
  env: ControllerEnvironment,
  settings: MinterSettings,
  deps: MinterDeps = {},
): ControllerHandle {
  const readReadiness = deps.readReadiness ?? minterReadinessReader(env.clock);
  const minters = env.cache.informer<MinterObject>({ resource: minterDeployments });
  const children = childKinds.map((resource) => env.cache.informer({ resource, labelSelector: selector }));
  const deployments = children.at(-1)!;
  const pods = env.cache.informer({
    resource: coreResources.pods,
    labelSelector: selectorText('minter'),
  });
  pods.addIndex('minter', (pod) => mintersOfPod(pod).map(keyText));
  const registries = env.cache.informer(oneObject(coreResources.configMaps, { name: registryConfigMap }));
  const set = applySetOf(env, controllerName, children);
  const paced = new PacedStatus<MinterObject>({
    clock: env.clock,
    writer: new StatusWriter<MinterObject>({ client: env.client, fieldManager, informer: minters }),
    announce: (minter, before, after) => recordTransitions(env, minter, before, after),
  });

  const reconcile = async (context: ReconcileContext): Promise<ReconcileResult> => {
    const { key, clock, logger, signal } = context;
    const found = minters.get(key);
    // The object is deleted or being deleted: the garbage collector removes the children, which name it as their owner.
    if (!found || found.metadata.deletionTimestamp) {
      paced.forget(keyText(key));
      return undefined;
    }
    const registry = registries.get({ namespace: key.namespace, name: registryConfigMap });
    const registered = repositoriesInForce(found, registry?.['data'] as Record<string, string> | undefined);
    const minter = withRegistered(found, registered.names);
    const [appCredentials, rules, missing] = await Promise.all([
      lookUpApp(context, minter, settings.namespace),
      lookUpRules(context, minter),
      lookUpOthers(context, minter),
    ]);
    const appIdHash = appCredentials.hash ?? appIdHashOf(deployments.get(key));
    const wanted = renderMinter({
      minter,
      operatorNamespace: settings.namespace,
      ...(appIdHash === undefined ? {} : { appIdHash }),
    });
    const owner = { object: minter, resource: minterDeployments };
    const outcome = await set.tryApply({ wanted, adjust: withForeignScale, owner, force: true, logger, signal });
    const all = pods.byIndex('minter', keyText(key));
    const running = all.filter(isRunning);
    const plan = planMinterStatus({
      minter,
      deployment: deployments.get(key),
      appCredentials: appCredentials.condition,
      rulesSourceFound: rules.found,
      outsideSpec: registered.fault ?? rules.outsideSpec,
      ignored: registered.ignored,
      answers: await askPods(running, readReadiness, context),
      pods: running.length,
      applyFailures: outcome.failures.map(({ kind, object, error }) => ({
        kind,
        refusal: withRemedy(kind, refusalOf(error, object), key.namespace ?? '', settings.namespace),
      })),
      missing,
      imagePull: imagePullTrouble(all),
      crash: crashTrouble(all),
      now: clock.now(),
    });
    const { waitMs } = await paced.write(minter, () => plan.status, signal);
    if (outcome.failures.length > 0) {
      // The back-off grows to minutes; a fix by a user should be noticed sooner.
      handle.trigger(key, { afterMs: waitMs ?? failedRecheckMs });
      throwFailures(outcome);
    }
    return { requeueAfterMs: Math.min(waitMs ?? Infinity, plan.recheckMs) };
  };

  const handle = env.addController({
    name: controllerName,
    for: { source: minters.source, predicates: [generationChanged] },
    owns: children.map(({ source }) => ({ source })),
    watches: [
      {
        source: pods.source,
        map: mintersOfPod,
        predicates: [changed((pod) => podState(pod as KubeObject))],
      },
      {
        source: registries.source,
        map: ({ metadata }) =>
          minters
            .list()
            .filter((minter) => minter.metadata.namespace === metadata.namespace)
            .map((minter) => ({ namespace: minter.metadata.namespace!, name: minter.metadata.name! })),
      },
    ],
    concurrency: 2,
    timeoutMs,
    reconcile,
  });
  return handle;
}

async function lookUpApp(
  { client, signal }: ReconcileContext,
  minter: MinterDeployment,
  operatorNamespace: string,
): Promise<AppCredentials> {
  const ref = minter.spec.vcs.appIdSecretRef;
  const name = { namespace: minter.metadata.namespace, name: ref.name };
  try {
    return judgeAppCredentials(await getIfExists(client, coreResources.secrets, name, { signal }), ref);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const namespace = minter.metadata.namespace ?? '';
    const grant =
      ref.name === appCredentialsSecret
        ? grantMinters(namespace, operatorNamespace)
        : grantSecret(namespace, ref.name, operatorNamespace);
    return unreadableAppCredentials(ref, grant);
  }
}

/**
 * A sentence about the first missing object that the pods need to start, besides the App ID and the rules: the
 * certificate or the service account that the spec names. Undefined when none is missing.
 */
async function lookUpOthers(
  { client, signal }: ReconcileContext,
  minter: MinterDeployment,
): Promise<string | undefined> {
  const { tls, serviceAccount } = minter.spec;
  const options = { signal, metadataOnly: true };
  const { namespace } = minter.metadata;
  if (
    tls &&
    !(await mayExist(getIfExists(client, coreResources.secrets, { namespace, name: tls.secretName }, options)))
  ) {
    return `Secret ${tls.secretName} with the certificate does not exist in this namespace`;
  }
  const account = serviceAccount.create ? undefined : (serviceAccount.name ?? minter.metadata.name);
  if (account && !(await getIfExists(client, coreResources.serviceAccounts, { namespace, name: account }, options))) {
    return `ServiceAccount ${account} does not exist in this namespace; create it, or set serviceAccount.create`;
  }
  return undefined;
}

/** An object that may not be read is assumed to exist: the pods report it if it does not. */
async function mayExist(look: Promise<unknown>): Promise<boolean> {
  try {
    return (await look) !== undefined;
  } catch (error) {
    if (isForbidden(error)) return true;
    throw error;
  }
}

/**
 * Permissions for minters are granted per namespace; the message names the command that grants them. That of a service
 * account which another minter creates names the field that shares it.
 */
function withRemedy(kind: string, refusal: Refusal, namespace: string, operatorNamespace: string): Refusal {
  if (kind === 'ServiceAccount' && refusal.reason === 'Conflict')
    return { ...refusal, message: `${refusal.message}; set serviceAccount.create: false to share it` };
  if (refusal.reason !== 'Forbidden' || !/ cannot \w+ resource /.test(refusal.message)) return refusal;
  const grant = grantMinters(namespace, operatorNamespace);
  return { ...refusal, message: `${refusal.message}; give the operator its rights in this namespace: ${grant}` };
}

interface RulesSource {
  found: boolean;
  outsideSpec?: string | undefined;
}

async function lookUpRules({ client, signal }: ReconcileContext, minter: MinterDeployment): Promise<RulesSource> {
  const ref = minter.spec.rules.configMapRef;
  if (!ref) return { found: true };
  const name = { namespace: minter.metadata.namespace, name: ref.name };
  const source = await getIfExists<KubeObject>(client, coreResources.configMaps, name, { signal });
  if (!source) return { found: false };
  const files = (source['data'] ?? {}) as Record<string, string>;
  return { found: true, outsideSpec: repositoryOutsideSpec(files, declaredRepositories(minter.spec)) };
}

/** The pods' answers about their readiness. A pod without an answer starts or ends, which the Deployment reports. */
async function askPods(
  pods: readonly KubeObject[],
  read: ReadinessReader,
  { signal, logger }: ReconcileContext,
): Promise<MinterReadiness[]> {
  const results = await Promise.allSettled(pods.map((pod) => read(podState(pod).ip!, signal)));
  return results.flatMap((result, i) => {
    if (result.status === 'fulfilled') return [result.value];
    logger.debug('minter pod did not answer', { pod: pods[i]!.metadata.name, error: result.reason as unknown });
    return [];
  });
}

function recordTransitions(
  env: ControllerEnvironment,
  minter: MinterObject,
  conditionsBefore: readonly Condition[] | undefined,
  conditions: readonly Condition[],
): void {
  for (const { before, after } of conditionTransitions(conditionsBefore, conditions)) {
    // No Event for a condition that is still Unknown, for one other than `Ready` that is good from the start, or for
    // an `Available` that is not True yet, as in the first seconds of a Deployment.
    const { good } = minterDeploymentConditions[after.type as keyof typeof minterDeploymentConditions];
    if (after.type === 'Reconciling') continue;
    const wentBad =
      after.status === (good === 'True' ? 'False' : 'True') &&
      (after.type !== 'Available' || before?.status === 'True');
    const recovered = after.status === good && (before?.status === 'False' || after.type === 'Ready');
    if (!wentBad && !recovered) continue;
    const type = wentBad ? 'Warning' : 'Normal';
    env.events.record(minter, { type, reason: after.reason, message: `${after.type}: ${after.message}` });
  }
}

/** A pod carries the name of its MinterDeployment as a label. */
function mintersOfPod(pod: TypedObject): ObjectKey[] {
  const name = pod.metadata.labels?.['app.kubernetes.io/instance'];
  const { namespace } = pod.metadata;
  return name && namespace ? [{ namespace, name }] : [];
}

function podState(pod: KubeObject) {
  const { podIP: ip, phase } = (pod['status'] ?? {}) as PodStatus;
  return {
    trouble: imagePullTrouble([pod]) ?? crashTrouble([pod]),
    ip,
    phase,
    ready: conditionOf(pod, 'Ready')?.status,
  };
}

function isRunning(pod: KubeObject): boolean {
  const { ip, phase } = podState(pod);
  return phase === 'Running' && ip !== undefined && pod.metadata.deletionTimestamp === undefined;
}
