import type { ClusterTrafficPolicy, ClusterTrafficPolicySpec } from '../api/v1alpha1/index.ts';
import { parseDuration } from '../base/duration.ts';
import { lastPolicySpec } from './compile/check/last-accepted.ts';
import { policiesOf } from './compile/select/scope.ts';
import { comparePolicies } from './compile/select/precedence.ts';
import { isEmptySelector } from './compile/select/selector.ts';
import type { PolicyInForce } from './compile/settings.ts';
import type { NamedLabels } from './compile/types.ts';

type QuerySpec = NonNullable<ClusterTrafficPolicySpec['query']>;
export type QueryField = keyof QuerySpec;

/** The fields of `spec.query`, in the order in which messages list them. */
export const queryFields = [
  'timeout',
  'perAgentTimeout',
  'maxSamples',
  'maxSeries',
  'partialResponse',
  'maxConcurrency',
] as const satisfies readonly QueryField[];

/** The limits that policies set for the queries of one caller; unset limits are left out. */
export interface QueryLimits {
  readonly timeoutMs?: number;
  readonly agentTimeoutMs?: number;
  readonly maxSamples?: number;
  /** Series that one query may touch. */
  readonly maxSeries?: number;
  /** Whether an answer without the data of a node is an error. */
  readonly failPartial?: boolean;
  /** Concurrent queries, over all callers that share the policy's limit. */
  readonly places?: { readonly policy: string; readonly limit: number };
}

/** The fields of a policy that are read here. */
export type QueryPolicy = Pick<ClusterTrafficPolicy, 'metadata' | 'spec' | 'status'>;

/**
 * The policies that count by their status, each with the spec that does: a refused one with its last accepted spec, and
 * not at all when there are too many policies. Policies that are being deleted are left out.
 */
export function policiesByStatus(policies: readonly QueryPolicy[]): Pick<QueryPolicy, 'metadata' | 'spec'>[] {
  return policies.flatMap(({ metadata, spec, status }) => {
    const refusal = status?.conditions?.find((c) => c.type === 'Accepted' && c.status === 'False');
    const used = refusal ? lastPolicySpec(status) : spec;
    const counts = metadata.deletionTimestamp === undefined && refusal?.reason !== 'TooManyPolicies';
    return used && counts ? [{ metadata, spec: used }] : [];
  });
}

/**
 * The policies that limit queries, strongest first. Policies that select nodes are left out, because a query reads all
 * nodes.
 */
export function queryPolicies(policies: readonly QueryPolicy[]): PolicyInForce[] {
  return policiesByStatus(policies)
    .sort(comparePolicies)
    .filter(({ spec }) => isEmptySelector(spec.nodeSelector))
    .map(({ metadata, spec }) => ({ name: metadata.name ?? '', spec }));
}

/**
 * The limits of a caller's queries. For a caller that may read everything (no `namespaces`) or nothing (an empty list),
 * policies without a namespace selector count. For a caller that may read some namespaces, the lowest limit over these
 * applies; in each namespace the strongest policy that sets a field decides it. Pure.
 */
export function queryLimits(policies: readonly PolicyInForce[], namespaces?: readonly NamedLabels[]): QueryLimits {
  if (namespaces === undefined || namespaces.length === 0) return limitsBy(policiesOf(policies, undefined));
  return namespaces.map(({ labels }) => limitsBy(policiesOf(policies, labels))).reduce(lower);
}

/** The policy that decides a field. `policies` are sorted, strongest first. */
export function decides(policies: readonly PolicyInForce[], field: QueryField): PolicyInForce | undefined {
  return policies.find(({ spec }) => spec.query?.[field] !== undefined);
}

function limitsBy(policies: readonly PolicyInForce[]): QueryLimits {
  const value = <F extends QueryField>(field: F): QuerySpec[F] | undefined =>
    decides(policies, field)?.spec.query?.[field];
  const timeout = value('timeout');
  const perAgent = value('perAgentTimeout');
  const partial = value('partialResponse');
  const placesBy = decides(policies, 'maxConcurrency');
  return defined({
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout, 'timeout'),
    agentTimeoutMs: perAgent === undefined ? undefined : parseDuration(perAgent, 'perAgentTimeout'),
    maxSamples: value('maxSamples'),
    maxSeries: value('maxSeries'),
    failPartial: partial === undefined ? undefined : partial === 'Fail',
    places: placesBy && { policy: placesBy.name, limit: placesBy.spec.query!.maxConcurrency! },
  });
}

function lower(a: QueryLimits, b: QueryLimits): QueryLimits {
  const least = (x: number | undefined, y: number | undefined): number | undefined =>
    x === undefined || y === undefined ? (x ?? y) : Math.min(x, y);
  return defined({
    timeoutMs: least(a.timeoutMs, b.timeoutMs),
    agentTimeoutMs: least(a.agentTimeoutMs, b.agentTimeoutMs),
    maxSamples: least(a.maxSamples, b.maxSamples),
    maxSeries: least(a.maxSeries, b.maxSeries),
    failPartial: a.failPartial === true || b.failPartial === true ? true : (a.failPartial ?? b.failPartial),
    places: a.places && b.places ? (b.places.limit < a.places.limit ? b.places : a.places) : (a.places ?? b.places),
  });
}

type Optional<T> = { [K in keyof T]?: T[K] | undefined };

/** The limits without undefined members. */
function defined(limits: Optional<QueryLimits>): QueryLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)) as QueryLimits;
}
