import { appendTo } from '../../base/collections/counts.ts';
import type { TrafficMonitor, TrafficMonitorStatus } from '../../api/v1alpha1/index.ts';
import { formatDuration } from '../../base/duration.ts';
import { cutToUnits } from '../../base/text/texts.ts';
import { maxSecretLength, type MonitorOutcome } from '../../capture/index.ts';
import { mergeConditions, rfc3339, summarizeReady, type ConditionInput } from '../../runtime/index.ts';
import { metricsOffered } from './metric-conditions.ts';
import type { NodeState } from '../capture/node-state.ts';
import { heldBack, limitsExceeded } from '../capture/limits.ts';
import type { SecretAbsence } from '../capture/exports/export-secrets.ts';
import { acceptance, programmed, progressOf, type Programmed } from '../capture/programmed.ts';
import { platformDefaults } from '../../render/index.ts';
import { notExporting, sending } from './sending.ts';
import { grantSecret } from '../grants.ts';

export interface MonitorStatusInput {
  object: TrafficMonitor;
  outcome: MonitorOutcome;
  /** The states of the nodes that `outcome.nodes` names, as far as they are known. */
  nodes: readonly NodeState[];
  /** Wall time, ms since the epoch. */
  now: number;
  /**
   * The operator's own namespace. A message names it in the command with which a user lets the operator read a Secret.
   * Default: `platformDefaults.namespace`.
   */
  operatorNamespace?: string;
  /** Why a Secret key (`<namespace>/<name>/<key>`) has no value, once that is known. */
  secretAbsence?: (ref: string) => SecretAbsence | undefined;
}

/** A node's reasons for capturing nothing: those that stop the whole node come before those that concern a pod. */
const captureReasons: readonly string[] = [
  'MissingCapability',
  'KernelUnsupported',
  'PortNotOpen',
  'NotAttached',
  'MetadataMissing',
];
/** `lastSampleTime` of a status changes at most this often. Units: ms. */
const sampleTimeStepMs = 60_000;

/** The conditions that make a monitor not ready, in order of precedence. */
const readyOrder = ['Accepted', 'ResolvedRefs', 'Programmed'];

/**
 * The whole status of a monitor. Pure; equal inputs give equal statuses, so that nothing is written when nothing
 * changed. A pod without traffic and a monitor without pods are not faults: they do not affect `Ready`.
 */
export function monitorStatus(input: MonitorStatusInput): TrafficMonitorStatus {
  const { object, outcome, nodes, now } = input;
  const generation = object.metadata.generation ?? 0;
  const previous = object.status;
  const rollout = programmed(object, nodes);
  const data = dataOf(outcome, nodes, now);
  const own = (m: { namespace: string; name: string }): boolean =>
    m.namespace === outcome.namespace && m.name === outcome.name;
  const conditions = conditionsOf(outcome, rollout, data, [
    limitsExceeded(heldBack(nodes, own, now)),
    resolvedRefs(
      outcome,
      input.secretAbsence ?? (() => undefined),
      input.operatorNamespace ?? platformDefaults.namespace,
    ),
    ...exporting(outcome, nodes),
    ...metricsOffered(outcome.inForce),
  ]);
  const lastSampleTime = steppedTime(previous?.lastSampleTime, data.lastSampleMs, now);
  const accepted = outcome.accepted.ok ? object.spec : previous?.lastAcceptedSpec;
  return {
    observedGeneration: generation,
    conditions: mergeConditions(previous?.conditions, conditions, { generation, now }),
    matchedPods: outcome.matchedPods,
    nodes: {
      desired: rollout.desired,
      updated: outcome.accepted.ok ? rollout.updated : 0,
      capturing: data.capturing,
      failed: rollout.failed,
    },
    ...(outcome.configHash ? { configHash: outcome.configHash } : {}),
    activeSeries: data.activeSeries,
    droppedSeries: data.droppedSeries,
    ...(lastSampleTime ? { lastSampleTime } : {}),
    ...(accepted ? { lastAcceptedSpec: accepted } : {}),
    effective: {
      policyRefs: outcome.policyRefs.slice(0, 16),
      overriddenFields: outcome.overriddenFields.slice(0, 32),
    },
    conflicts: outcome.conflicts.slice(0, 16).map((c) => ({ ...c, fields: c.fields.slice(0, 32) })),
    failedNodes: rollout.failedNodes,
  };
}

interface Data {
  capturing: number;
  activeSeries: number;
  droppedSeries: number;
  /** `now` at the latest: an agent can send any time, even one that RFC 3339 cannot write. */
  lastSampleMs: number | null;
  /** Why a node captures nothing: the first of `captureReasons` that any node has. */
  obstacle: { reason: string; message: string } | null;
  /** What cannot be captured → the names of the nodes that report it, as certain or only as possible. */
  limits: { certain: Map<string, string[]>; possible: Map<string, string[]> };
}

function rank(obstacle: Data['obstacle']): number {
  return obstacle ? captureReasons.indexOf(obstacle.reason) : captureReasons.length;
}

function dataOf(outcome: MonitorOutcome, nodes: readonly NodeState[], now: number): Data {
  const recent = now - 3 * outcome.intervalMs;
  const data: Data = {
    capturing: 0,
    activeSeries: 0,
    droppedSeries: 0,
    lastSampleMs: null,
    obstacle: null,
    limits: { certain: new Map(), possible: new Map() },
  };
  for (const node of nodes) {
    const row = node.status?.monitors.find((m) => m.namespace === outcome.namespace && m.name === outcome.name);
    const found = [node.failure, node.fault, row?.obstacle].find((o) => o && captureReasons.includes(o.reason));
    if (found && rank(found) < rank(data.obstacle)) {
      data.obstacle = { reason: found.reason, message: `${node.name}: ${found.message}` };
    }
    if (!row) continue;
    for (const { certain, message } of node.status?.limits ?? []) {
      appendTo(certain ? data.limits.certain : data.limits.possible, message, node.name);
    }
    data.activeSeries += row.activeSeries;
    data.droppedSeries += row.droppedSeries;
    const at = row.lastSampleTime === undefined ? Number.NaN : Date.parse(row.lastSampleTime) + node.clockOffsetMs;
    if (Number.isNaN(at)) continue;
    data.lastSampleMs = Math.max(data.lastSampleMs ?? 0, Math.min(at, now));
    if (at >= recent) data.capturing++;
  }
  return data;
}

function conditionsOf(
  outcome: MonitorOutcome,
  rollout: Programmed,
  data: Data,
  more: readonly ConditionInput[],
): ConditionInput[] {
  const capturing = capturingCondition(outcome, data);
  const conditions: ConditionInput[] = [
    ...acceptance(outcome, rollout),
    capturing,
    ...more,
    conflictedCondition(outcome),
  ];
  const order = captureReasons.includes(capturing.reason) ? [...readyOrder, 'Capturing'] : readyOrder;
  const ready = outcome.suspended
    ? { reason: 'Suspended', message: 'the monitor is suspended' }
    : { reason: 'Ready', message: '' };
  return [summarizeReady(conditions, order, ready), ...conditions, ...progressOf(outcome, rollout)];
}

function capturingCondition(outcome: MonitorOutcome, data: Data): ConditionInput {
  const type = 'Capturing';
  const not = (reason: string, message: string): ConditionInput => ({ type, status: 'False', reason, message });
  if (!outcome.inForce) return not('NotAttached', 'nothing of this monitor is in force');
  if (outcome.inForce.mode === 'Exclude') return not('NoTraffic', 'an excluding monitor captures nothing');
  if (outcome.suspended) return not('NoTraffic', 'the monitor is suspended');
  if (outcome.pausedBy) return not('NoTraffic', `capture is paused by ClusterTrafficPolicy ${outcome.pausedBy}`);
  if (outcome.matchedPods === 0) return not('NoMatchingPods', 'no running pod matches');
  if (data.capturing > 0) {
    const message = `recent samples from ${data.capturing} nodes${limitsText(data.limits.certain)}${excludedText(outcome)}`;
    return { type, status: 'True', reason: 'TrafficSeen', message };
  }
  if (outcome.excluded?.pods === outcome.matchedPods) {
    const message = `none of the ${outcome.matchedPods} matched pods is captured; excluded by ${excludersText(outcome)}`;
    return not('Excluded', message);
  }
  if (data.obstacle) return not(data.obstacle.reason, data.obstacle.message);
  const limits = limitsText(data.limits.certain) || limitsText(data.limits.possible);
  const silence = `no sample within ${formatDuration(3 * outcome.intervalMs)}`;
  return not('NoTraffic', `${silence}${limits}${excludedText(outcome)}`);
}

function excludedText(outcome: MonitorOutcome): string {
  const { excluded, matchedPods } = outcome;
  return excluded ? `; ${excluded.pods} of ${matchedPods} matched pods excluded by ${excludersText(outcome)}` : '';
}

function excludersText({ excluded }: MonitorOutcome): string {
  const [first, ...more] = excluded?.by ?? [];
  return `${first}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}

function limitsText(limits: ReadonlyMap<string, readonly string[]>): string {
  return [...limits]
    .map(([message, [first, ...more]]) => `; ${first}${more.length > 0 ? ` and ${more.length} more` : ''}: ${message}`)
    .join('');
}

function conflictedCondition(outcome: MonitorOutcome): ConditionInput {
  const first = outcome.conflicts[0];
  if (!first) return { type: 'Conflicted', status: 'False', reason: 'NoConflicts', message: '' };
  const byPolicy = first.with.startsWith('ClusterTrafficPolicy/');
  return {
    type: 'Conflicted',
    status: 'True',
    reason: byPolicy ? 'OverriddenByPolicy' : 'OverriddenByMonitor',
    message: outcome.conflicts.map((c) => `${c.fields.join(', ')}: ${c.with} (${c.resolution})`).join('; '),
  };
}

/**
 * The time of the newest sample, in steps of a minute: a status is not written with every sample. It goes back only
 * from a time after `now`, which comes from an operator whose clock ran ahead, or from one up to version 0.1.0.
 */
function steppedTime(previous: string | undefined, latestMs: number | null, now: number): string | undefined {
  if (latestMs === null) return previous;
  if (previous === undefined) return rfc3339(latestMs);
  const previousMs = Date.parse(previous);
  const step = previousMs > now ? Math.abs(latestMs - previousMs) : latestMs - previousMs;
  return step < sampleTimeStepMs ? previous : rfc3339(latestMs);
}

/** Conditions whose change is worth an Event. */
export const eventConditions: readonly string[] = [
  'Accepted',
  'Programmed',
  'Capturing',
  'Conflicted',
  'ResolvedRefs',
  'LimitsExceeded',
  'Exporting',
];

/** The reason for each absence of a Secret's value; of several, the first here is the condition's. */
const absenceReasons = {
  missing: 'SecretNotFound',
  tooLong: 'SecretTooLong',
  forbidden: 'SecretForbidden',
  unreadable: 'SecretUnreadable',
} as const satisfies Record<SecretAbsence, string>;

/**
 * `ResolvedRefs`: whether the Secrets that the exports refer to have values that agents can get. The operator has no
 * permission to read Secrets in the namespaces of monitors; the message says how to grant it.
 */
export function resolvedRefs(
  outcome: MonitorOutcome,
  absence: (ref: string) => SecretAbsence | undefined,
  operatorNamespace: string,
): ConditionInput {
  const type = 'ResolvedRefs';
  const absent = outcome.exports.flatMap(({ name, secret }) => {
    const why = secret === undefined ? undefined : absence(secret);
    return why === undefined ? [] : [{ name, secret: secret!, why }];
  });
  const found = new Set(absent.map(({ why }) => absenceReasons[why]));
  const reason = Object.values(absenceReasons).find((r) => found.has(r));
  if (reason === undefined) return { type, status: 'True', reason: 'ResolvedRefs', message: '' };
  const words = absent.map((a) => `export ${a.name}: ${absenceText(a.why, a.secret, operatorNamespace)}`);
  return { type, status: 'False', reason, message: cutToUnits(words.join('; '), 1_024) };
}

function absenceText(why: SecretAbsence, ref: string, operatorNamespace: string): string {
  const [namespace = '', name = '', key] = ref.split('/');
  switch (why) {
    case 'missing':
      return `Secret ${name} or its key ${key} does not exist`;
    case 'tooLong':
      return `key ${key} of Secret ${name} has more than ${maxSecretLength} characters`;
    case 'unreadable':
      return `the API server does not return Secret ${name}; the operator tries again`;
    case 'forbidden':
      return `the operator may not read Secret ${name}; grant it: ${grantSecret(namespace, name, operatorNamespace)}`;
  }
}

/**
 * The condition `Exporting`. It is absent if the monitor is suspended or has no `export`. A destination that is in no
 * allow list takes precedence over the agents' reports: no node sends to it.
 */
export function exporting(outcome: MonitorOutcome, nodes: readonly NodeState[]): ConditionInput[] {
  if (outcome.exports.length === 0 || outcome.suspended) return [];
  const refused = outcome.exports.filter((e) => !e.allowed);
  if (refused.length === 0) return [sending(`TrafficMonitor/${outcome.namespace}/${outcome.name}`, nodes)];
  const named = refused.map((e) => `export ${e.name}: no policy allows the host ${e.host || '(none)'}`);
  return [notExporting('DestinationNotAllowed', named.join('; '))];
}
