import { cutToUnits } from '../../base/text/texts.ts';
import type { Condition, ConditionStatus, KubeObject } from '../../api/meta.ts';
import { rolloutOf } from '../../api/statuses.ts';
import type { MinterDeployment, MinterDeploymentStatus } from '../../api/v1alpha1/index.ts';
import {
  minterCheckTypes,
  type MinterCheck,
  type MinterCheckType,
  type MinterReadiness,
} from '../../api/v1alpha1/minter-readiness.ts';
import { minterUrl } from '../../render/index.ts';
import { podRefusal, type Refusal } from '../refusal.ts';
import {
  findCondition,
  mergeConditions,
  progressConditions,
  summarizeReady,
  type ConditionInput,
} from '../../runtime/index.ts';

/** Everything that the status of a MinterDeployment is computed from. */
export interface MinterFacts {
  minter: MinterDeployment;
  /** Undefined until it exists. */
  deployment: KubeObject | undefined;
  appCredentials: ConditionInput;
  /** Whether the ConfigMap that the spec refers to exists; true for inline rules. */
  rulesSourceFound: boolean;
  /** A repository that a rule names but the spec does not declare, or a fault in ConfigMap gitops-state; a sentence. */
  outsideSpec?: string | undefined;
  /** Registered repositories that are ignored, as a sentence. */
  ignored?: string | undefined;
  /** Answers of the reachable pods. */
  answers: readonly MinterReadiness[];
  /** Number of running pods, with or without an answer. */
  pods: number;
  /** The objects of the minter that could not be applied or deleted, and why. */
  applyFailures: readonly { kind: string; refusal: Refusal }[];
  /** Names of missing objects that the pods need, as a sentence; undefined when all exist. */
  missing?: string | undefined;
  /** Why an image cannot be pulled, as a sentence. */
  imagePull?: string | undefined;
  /** Which pod crashes repeatedly, with its last log line, as a sentence. */
  crash?: string | undefined;
  /** Wall time, ms. */
  now: number;
}

export interface MinterPlan {
  status: MinterDeploymentStatus & { conditions: Condition[] };
  ready: ConditionStatus;
  /** After how long to check again if no event arrives: the pods' own checks cause no events. Units: ms. */
  recheckMs: number;
}

/** Ready takes the reason of the first of these that is not True. */
const readyOrder = [
  'NetworkPolicyApplied',
  'RulesValid',
  'AppCredentialsFound',
  'KeyEnabled',
  'KeyMatchesApp',
  'InstallationFound',
  'Available',
  'Progressing',
] as const;

/** `lastMintTime` changes at most this often, so that a busy minter does not cause constant status writes. */
const mintTimeStepMs = 60_000;

/** Computes the status from the facts. Pure. */
export function planMinterStatus(facts: MinterFacts): MinterPlan {
  const { minter, answers, now } = facts;
  const conditions: ConditionInput[] = [
    ...minterCheckTypes.map((type) => podCondition(type, facts)),
    facts.appCredentials,
    ...deploymentConditions(facts),
    networkPolicyCondition(facts),
  ];
  const ready = readyCondition(facts, conditions);
  const all = [ready, ...conditions, ...progress(facts, ready, conditions)];
  const status = {
    observedGeneration: minter.metadata.generation ?? 0,
    url: minterUrl(minter),
    ...replicaCounts(facts.deployment),
    ...fromPods(answers, minter.status, now),
    conditions: mergeConditions(minter.status?.conditions, all, { generation: minter.metadata.generation ?? 0, now }),
  };
  return { status, ready: ready.status, recheckMs: ready.status === 'True' ? 30_000 : 5_000 };
}

/** One of the four conditions that only a pod can judge: the worst answer counts. */
function podCondition(type: MinterCheckType, facts: MinterFacts): ConditionInput {
  if (type === 'RulesValid' && !facts.rulesSourceFound) {
    const name = facts.minter.spec.rules.configMapRef?.name ?? '';
    return { type, status: 'False', reason: 'ConfigMapNotFound', message: `ConfigMap ${name} does not exist` };
  }
  if (type === 'RulesValid' && facts.outsideSpec) {
    return { type, status: 'False', reason: 'RepositoryOutsideSpec', message: facts.outsideSpec };
  }
  const checks = facts.answers.flatMap((a) => a.checks.filter((c) => c.type === type));
  const worst = checks.toSorted((a, b) => badness(b) - badness(a))[0];
  if (!worst) {
    const message = facts.pods === 0 ? 'no pod is running yet' : `none of ${facts.pods} running pods answered`;
    const why = facts.crash ? `; ${facts.crash}` : '';
    return { type, status: 'Unknown', reason: 'NoPodAnswered', message: `${message}${why}` };
  }
  const share = checks.filter((c) => c.reason === worst.reason && c.status === worst.status).length;
  const where = checks.length > 1 && share < checks.length ? ` (${share} of ${checks.length} pods)` : '';
  const ignored = type === 'RulesValid' && facts.ignored ? `; ${facts.ignored}` : '';
  const message = `${worst.message}${where}${importHint(worst, facts.minter)}${ignored}`;
  return { type, status: worst.status, reason: worst.reason, message };
}

function badness(check: MinterCheck): number {
  return check.status === 'False' ? 2 : check.status === 'Unknown' ? 1 : 0;
}

/** A key that was never imported is the normal state of a new installation: the message names the command to run. */
function importHint(check: MinterCheck, minter: MinterDeployment): string {
  if (check.type !== 'KeyEnabled' || check.reason !== 'NotFound' || check.message.includes('import-pk')) return '';
  const [project, location, ring, key] = (
    /^projects\/([^/]+)\/locations\/([^/]+)\/keyRings\/([^/]+)\/cryptoKeys\/([^/]+)\//.exec(
      minter.spec.kms.keyVersion,
    ) ?? []
  )
    .slice(1)
    .map(shellWord);
  return `; import it: minter tools import-pk --project-id ${project} --location ${location} --key-ring ${ring} --key ${key} --private-key @FILE`;
}

/** One word of a command: quoted if a shell would read anything else. */
function shellWord(text: string): string {
  return /^[\w.:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function deploymentConditions({ deployment, imagePull, crash }: MinterFacts): ConditionInput[] {
  const status = deployment?.['status'] as { conditions?: Condition[]; observedGeneration?: number } | undefined;
  const current = status?.observedGeneration === deployment?.metadata.generation;
  return (['Available', 'Progressing'] as const).map((type) => {
    const found = current ? findCondition(status?.conditions, type) : undefined;
    if (!found)
      return { type, status: 'Unknown', reason: 'DeploymentPending', message: 'the Deployment has no status yet' };
    const reason = deploymentReason(type, found.reason);
    const trouble = imagePull ?? crash;
    const why = type === 'Available' && found.status !== 'True' && trouble ? `; ${trouble}` : '';
    return { type, status: found.status, reason, message: `${found.message}${why}` };
  });
}

/** The Deployment's reason if our API has the same one; all its other reasons during a rollout mean progress. */
function deploymentReason(type: 'Available' | 'Progressing', reason: string): string {
  if (type === 'Available' || reason === 'NewReplicaSetAvailable' || reason === 'ProgressDeadlineExceeded')
    return reason;
  return 'ReplicaSetUpdated';
}

function networkPolicyCondition({ applyFailures }: MinterFacts): ConditionInput {
  const type = 'NetworkPolicyApplied';
  const failure = applyFailures.find((f) => f.kind === 'NetworkPolicy');
  if (failure) return { type, status: 'False', reason: 'ApplyFailed', message: failure.refusal.message };
  return { type, status: 'True', reason: 'Applied', message: 'only allowed callers reach the minter' };
}

function readyCondition(facts: MinterFacts, conditions: readonly ConditionInput[]): ConditionInput {
  const refusal = facts.applyFailures.find((f) => f.kind !== 'NetworkPolicy')?.refusal ?? podsRefused(facts);
  if (refusal && refusal.reason !== 'Invalid') {
    return { type: 'Ready', status: 'False', reason: refusal.reason, message: refusal.message };
  }
  if (refusal) return { type: 'Ready', status: 'False', reason: 'ApplyFailed', message: refusal.message };
  if (facts.missing) return { type: 'Ready', status: 'False', reason: 'MissingDependency', message: facts.missing };
  return summarizeReady(conditions, readyOrder, { reason: 'Ready', message: 'tokens can be minted' });
}

/** Waiting for a user is `Stalled`, waiting for the cluster is `Reconciling`. */
function progress(facts: MinterFacts, ready: ConditionInput, conditions: readonly ConditionInput[]): ConditionInput[] {
  const reconciling = (reason: string, message: string): ConditionInput[] =>
    progressConditions({ reconciling: { reason, message } });
  const stalled = (reason: string, message: string): ConditionInput[] =>
    progressConditions({ stalled: { reason, message } });
  const failed = (type: string): ConditionInput | undefined => {
    const found = findCondition(conditions, type);
    return found?.status === 'False' ? found : undefined;
  };
  const refusals = [...facts.applyFailures.map((f) => f.refusal), podsRefused(facts)].filter((r) => r !== undefined);
  const final = refusals.find((refusal) => refusal.stalled);
  if (final) return stalled(final.reason, final.message);
  if (refusals[0]) return reconciling('Retrying', refusals[0].message);
  const credentials = findCondition(conditions, 'AppCredentialsFound');
  if (credentials?.reason === 'Forbidden') return stalled('Forbidden', credentials.message);
  const absent =
    facts.missing ??
    (facts.rulesSourceFound ? undefined : failed('RulesValid')?.message) ??
    failed('AppCredentialsFound')?.message;
  if (absent) return stalled('MissingDependency', absent);
  if (facts.imagePull) return stalled('ImagePullFailed', facts.imagePull);
  const key = failed('KeyEnabled');
  if (key) return stalled('MissingDependency', key.message);
  const app = failed('KeyMatchesApp');
  // A node's clock is set right without a change of the object.
  const wrongApp = app?.reason === 'ClockSkew' ? undefined : app;
  const invalid = failed('RulesValid') ?? wrongApp ?? failed('InstallationFound');
  if (invalid) return stalled('Invalid', invalid.message);
  if (ready.status !== 'True') return reconciling('Progressing', ready.message);
  // Old pods may serve while new ones start: tokens can be minted, but this generation is not in place yet.
  const moving = rollingOut(facts.deployment);
  return moving ? reconciling('Progressing', moving) : [];
}

/** Why the Deployment cannot create its pods. */
function podsRefused({ deployment }: MinterFacts): Refusal | undefined {
  const { conditions } = (deployment?.['status'] ?? {}) as { conditions?: Condition[] };
  const failure = findCondition(conditions, 'ReplicaFailure');
  return failure?.status === 'True' ? podRefusal(failure.message) : undefined;
}

/** The progress of a rollout that has not ended; undefined when all pods are of the newest template and ready. */
function rollingOut(deployment: KubeObject | undefined): string | undefined {
  const { done, updated, wanted, available } = rolloutOf(deployment);
  return done ? undefined : `${updated} of ${wanted} pods are of this generation, ${available} are available`;
}

function replicaCounts(deployment: KubeObject | undefined): { replicas: number; readyReplicas: number } {
  const status = (deployment?.['status'] ?? {}) as { replicas?: number; readyReplicas?: number };
  return { replicas: status.replicas ?? 0, readyReplicas: status.readyReplicas ?? 0 };
}

/** What the pods report in addition to their checks. While no pod answers, the last report stays. */
function fromPods(
  answers: readonly MinterReadiness[],
  before: MinterDeploymentStatus | undefined,
  now: number,
): Partial<MinterDeploymentStatus> {
  const first = answers[0];
  const lastMintTime = steppedTime(
    before?.lastMintTime,
    answers.flatMap((a) => a.lastMintTime ?? []),
    now,
  );
  const failed = newest(
    answers.flatMap((a) => a.lastMintError ?? []),
    now,
  );
  const lastMintError = failed ? { reason: cutToUnits(failed.reason, 128), time: failed.time } : before?.lastMintError;
  const values = {
    keyVersion: first?.keyVersion ?? before?.keyVersion,
    rulesHash: first?.rulesHash ?? before?.rulesHash,
    scopes: first?.scopes.length ?? before?.scopes,
    installationId: answers.find((a) => a.installationId !== undefined)?.installationId ?? before?.installationId,
    lastMintTime,
    lastMintError,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** The newest mint, in steps of a minute. It goes back only from a time that came from a clock that ran ahead. */
function steppedTime(shown: string | undefined, mints: readonly string[], now: number): string | undefined {
  const mint = newest(
    mints.map((time) => ({ time })),
    now,
  )?.time;
  if (shown === undefined || mint === undefined) return mint ?? shown;
  const step = Date.parse(mint) - Date.parse(shown);
  return (isAhead(shown, now) ? Math.abs(step) : step) < mintTimeStepMs ? shown : mint;
}

/** The newest of what the pods report. What comes from a clock that ran ahead counts only if all of it does. */
function newest<T extends { time: string }>(reports: readonly T[], now: number): T | undefined {
  const right = reports.filter(({ time }) => !isAhead(time, now));
  return (right.length > 0 ? right : reports).toSorted((a, b) => Date.parse(b.time) - Date.parse(a.time))[0];
}

/** Whether a time comes from a clock that ran ahead of ours. Less than a minute counts as equal. */
function isAhead(time: string, now: number): boolean {
  return Date.parse(time) >= now + 60_000;
}
