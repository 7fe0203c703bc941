import type { KubeObject } from '../../api/meta.ts';
import { minterDeployments, type MinterDeployment } from '../../api/v1alpha1/index.ts';
import type { MinterReadiness } from '../../api/v1alpha1/minter-readiness.ts';
import { coreResources, getIfExists, type TypedObject } from '../../kube/index.ts';
import { renderedKinds, renderMinter } from '../../render/index.ts';
import {
  ApplySet,
  changed,
  conditionTransitions,
  conflictText,
  generationChanged,
  keyText,
  StatusWriter,
  throwFailures,
  type ControllerEnvironment,
  type ControllerHandle,
  type ObjectKey,
  type ReconcileContext,
  type ReconcileResult,
} from '../../runtime/index.ts';
import { judgeAppCredentials, type AppCredentials } from './app-credentials.ts';
import { planMinterStatus } from './plan.ts';
import { readMinterReadiness, type ReadinessReader } from './readiness-client.ts';

export interface MinterSettings {
  /** The operator's own namespace: its pods may reach the minters' admin port. */
  namespace: string;
}

export interface MinterDeps {
  readReadiness?: ReadinessReader;
}

const controllerName = 'minter-deployment';
const fieldManager = `svc-controller/${controllerName}`;
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
 * One minter for each MinterDeployment.
 *
 * Flow: Secret and ConfigMap that the spec refers to → children applied and pruned → pods asked for their checks →
 * status → Events for what changed.
 * Guarantees: `Ready` is there from the first write; a failed apply is told in the status before it is retried; the
 * operator reads one Secret value, the App ID, and keeps only its hash.
 * Caveats: the operator may get Secrets but not watch them, so a Secret that appears is noticed by the next look: 5 s
 * while something is missing, 30 s else.
 */
export function setupMinterDeployment(
  env: ControllerEnvironment,
  settings: MinterSettings,
  deps: MinterDeps = {},
): ControllerHandle {
  const readReadiness = deps.readReadiness ?? readMinterReadiness;
  const minters = env.cache.informer<MinterDeployment>({ resource: minterDeployments });
  const children = childKinds.map((resource) => env.cache.informer({ resource, labelSelector: selector }));
  const deployments = children.at(-1)!;
  const pods = env.cache.informer({
    resource: coreResources.pods,
    labelSelector: 'app.kubernetes.io/name=svc-operator,app.kubernetes.io/component=minter',
  });
  pods.addIndex('minter', (pod) => mintersOfPod(pod).map(keyText));
  const set = new ApplySet({
    client: env.client,
    fieldManager,
    controller: controllerName,
    metrics: env.metrics,
    children,
  });
  const status = new StatusWriter<MinterDeployment>({ client: env.client, fieldManager, informer: minters });

  const reconcile = async (context: ReconcileContext): Promise<ReconcileResult> => {
    const { key, clock, logger, signal } = context;
    const minter = minters.get(key);
    // Gone, or going: the garbage collector removes the children, which name it as their owner.
    if (!minter || minter.metadata.deletionTimestamp) return undefined;
    const [appCredentials, rulesSourceFound] = await Promise.all([
      lookUpApp(context, minter),
      lookUpRules(context, minter),
    ]);
    const wanted = renderMinter({
      minter,
      operatorNamespace: settings.namespace,
      ...(appCredentials.hash === undefined ? {} : { appIdHash: appCredentials.hash }),
    });
    const owner = { object: minter, resource: minterDeployments };
    const outcome = await set.tryApply({ wanted, owner, force: true, logger, signal });
    const running = pods.byIndex('minter', keyText(key)).filter(isRunning);
    const plan = planMinterStatus({
      minter,
      deployment: deployments.get(key),
      appCredentials: appCredentials.condition,
      rulesSourceFound,
      answers: await askPods(running, readReadiness, context),
      pods: running.length,
      applyFailures: outcome.failures.map(({ kind, object, error }) => ({
        kind,
        text: `${object}: ${conflictText(error)}`,
      })),
      now: clock.now(),
    });
    await status.write(minter, plan.status, { signal });
    recordTransitions(env, minter, plan.status.conditions);
    throwFailures(outcome);
    return { requeueAfterMs: plan.recheckMs };
  };

  return env.addController({
    name: controllerName,
    for: { source: minters.source, predicates: [generationChanged] },
    owns: children.map(({ source }) => ({ source })),
    watches: [
      {
        source: pods.source,
        map: mintersOfPod,
        predicates: [changed((pod) => podState(pod as KubeObject))],
      },
    ],
    concurrency: 2,
    reconcile,
  });
}

async function lookUpApp({ client, signal }: ReconcileContext, minter: MinterDeployment): Promise<AppCredentials> {
  const ref = minter.spec.vcs.appIdSecretRef;
  const name = { namespace: minter.metadata.namespace, name: ref.name };
  return judgeAppCredentials(await getIfExists(client, coreResources.secrets, name, { signal }), ref);
}

async function lookUpRules({ client, signal }: ReconcileContext, minter: MinterDeployment): Promise<boolean> {
  const ref = minter.spec.rules.configMapRef;
  if (!ref) return true;
  const name = { namespace: minter.metadata.namespace, name: ref.name };
  return (await getIfExists(client, coreResources.configMaps, name, { signal, metadataOnly: true })) !== undefined;
}

/** The answers of those that answer; one that does not is a pod that starts or ends, which the Deployment knows. */
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
  minter: MinterDeployment,
  conditions: Parameters<typeof conditionTransitions>[1],
): void {
  for (const { before, after } of conditionTransitions(minter.status?.conditions, conditions)) {
    // Things that merely are not known yet, and those that start out well, are no news.
    // A Deployment is never available in its first seconds.
    const wentBad = after.status === 'False' && (after.type !== 'Available' || before?.status === 'True');
    const recovered = after.status === 'True' && (before?.status === 'False' || after.type === 'Ready');
    if (!wentBad && !recovered) continue;
    if (after.type === 'Reconciling' || after.type === 'Stalled') continue;
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

interface PodState {
  ip: string | undefined;
  phase: string | undefined;
  ready: string | undefined;
}

function podState(pod: KubeObject): PodState {
  const status = (pod['status'] ?? {}) as {
    podIP?: string;
    phase?: string;
    conditions?: { type: string; status: string }[];
  };
  return {
    ip: status.podIP,
    phase: status.phase,
    ready: status.conditions?.find((c) => c.type === 'Ready')?.status,
  };
}

function isRunning(pod: KubeObject): boolean {
  const { ip, phase } = podState(pod);
  return phase === 'Running' && ip !== undefined && pod.metadata.deletionTimestamp === undefined;
}
