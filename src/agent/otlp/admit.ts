import type { Metric, MetricData, MetricsRequest, NumberPoint, PointBase } from './model.ts';

/** Limits on a point's time against the agent's clock. Units: ms. */
export const timeBounds = { pastMs: 3_600_000, futureMs: 300_000 } as const;

/** Far beyond all that is measured, and so small that no number of values has an infinite sum. */
const largestSum = 1e100;

/** Counts have this limit, and so have the values that are added to others: beside them, an increase of 1 still counts. */
const largestAddend = 1e15;

export interface Admitted {
  readonly request: MetricsRequest;
  /** The number of points left out, and the reason for the first. */
  readonly rejected: number;
  readonly reason: string;
}

/**
 * Leaves out the points that are well-formed but meaningless: a time far from the clock, counts that do not fit their
 * bounds, a count or a sum that nothing can reach. The rest of the request is taken, as OTLP's
 * partial success allows. A point without a time gets `nowMs`.
 */
export function admitMetrics(request: MetricsRequest, nowMs: number): Admitted {
  if (isClean(request, nowMs)) return { request, rejected: 0, reason: '' };
  let rejected = 0;
  let reason = '';
  const keep = (metric: Metric, point: PointBase): boolean => {
    const wrong = pointFault(metric.data!, point, nowMs);
    if (wrong === null) return true;
    if (rejected++ === 0) reason = `${metric.name}: ${wrong}`;
    return false;
  };
  const resources = request.resources.map((resource) => ({
    ...resource,
    scopes: resource.scopes.map((scope) => ({
      ...scope,
      metrics: scope.metrics.map((metric) => withPoints(metric, nowMs, (point) => keep(metric, point))),
    })),
  }));
  return { request: { resources }, rejected, reason };
}

function withPoints(metric: Metric, nowMs: number, keep: (point: PointBase) => boolean): Metric {
  const data = metric.data;
  if (!data || areClean(data, nowMs)) return metric;
  const points = (data.points as readonly PointBase[])
    .map((p) => (p.timeNs === 0 ? { ...p, timeNs: nowMs * 1e6 } : p))
    .filter(keep);
  return { ...metric, data: { ...data, points } as unknown as MetricData };
}

function isClean({ resources }: MetricsRequest, nowMs: number): boolean {
  for (const { scopes } of resources) {
    for (const { metrics } of scopes) for (const { data } of metrics) if (data && !areClean(data, nowMs)) return false;
  }
  return true;
}

function areClean(data: MetricData, nowMs: number): boolean {
  for (const point of data.points) if (point.timeNs === 0 || pointFault(data, point, nowMs) !== null) return false;
  return true;
}

/** The fault of a point, or null. */
function pointFault(data: MetricData, point: PointBase, nowMs: number): string | null {
  const tMs = point.timeNs / 1e6;
  if (point.timeNs !== 0 && tMs < nowMs - timeBounds.pastMs) return 'time_unix_nano is more than an hour old';
  if (tMs > nowMs + timeBounds.futureMs) return 'time_unix_nano is more than 5 minutes ahead';
  switch (data.kind) {
    case 'sum': {
      const { value } = point as NumberPoint;
      return sumFault(value, 'a sum that') ?? (data.monotonic && value < 0 ? 'a monotonic sum below zero' : null);
    }
    case 'histogram': {
      const { bounds, bucketCounts, count, sum } = point as (typeof data.points)[number];
      if (bucketCounts.length !== 0 && bucketCounts.length !== bounds.length + 1) {
        return `${bucketCounts.length} bucket_counts for ${bounds.length} explicit_bounds`;
      }
      if (bucketCounts.length === 0 && bounds.length !== 0) return 'explicit_bounds without bucket_counts';
      if (bounds !== lastGoodBounds && !areGoodBounds(bounds)) return 'explicit_bounds are not finite and ascending';
      return countFault(count, totalOf(bucketCounts)) ?? sumFault(sum);
    }
    case 'exponential': {
      const { scale, count, sum, zeroCount, positive, negative } = point as (typeof data.points)[number];
      if (scale < -10 || scale > 20) return `scale ${scale} is outside -10 to 20`;
      if (positive.counts.some((c) => c < 0) || negative.counts.some((c) => c < 0)) return 'a negative bucket count';
      const inBuckets = zeroCount + totalOf(positive.counts) + totalOf(negative.counts);
      return countFault(count, inBuckets) ?? sumFault(sum);
    }
    case 'summary': {
      const { count, sum } = point as (typeof data.points)[number];
      return countFault(count, 0) ?? sumFault(sum);
    }
    default:
      return null;
  }
}

function sumFault(sum: number | null, subject = 'sum'): string | null {
  if (sum === null || Math.abs(sum) <= largestSum) return null;
  return `${subject} ${Number.isFinite(sum) ? `is beyond ${largestSum}` : 'is not a finite number'}`;
}

function countFault(count: number, inBuckets: number): string | null {
  if (!isAddable(count)) return `count is beyond ${largestAddend.toExponential()}`;
  return isAddable(inBuckets) ? null : `bucket_counts are beyond ${largestAddend.toExponential()}`;
}

function totalOf(counts: readonly number[]): number {
  let total = 0;
  for (let i = 0; i < counts.length; i++) total += counts[i]!;
  return total;
}

/** Whether a value may be added to others. One that may not would leave their sum without what is small beside it. Pure. */
export function isAddable(value: number): boolean {
  return Math.abs(value) <= largestAddend;
}

/** The points of one histogram share their list of bounds, so the last valid list is not checked again. */
let lastGoodBounds: readonly number[] = [];

function areGoodBounds(bounds: readonly number[]): boolean {
  for (let i = 0; i < bounds.length; i++) {
    const ascending = i === 0 || bounds[i]! > bounds[i - 1]!;
    if (!ascending || !Number.isFinite(bounds[i]!)) return false;
  }
  lastGoodBounds = bounds;
  return true;
}
