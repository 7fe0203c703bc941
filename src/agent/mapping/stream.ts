import type { Enriched } from '../identity/enrich.ts';
import type { EnrichedFlow } from '../identity/enrich-flow.ts';
import type { Attribute } from '../otlp/model.ts';
import type { Shape } from './components.ts';
import type { LimitScope, MonitorCounts } from './series-limits.ts';
import type { Family, Group, Series } from './series-table.ts';

/** The streams of one metric of one resource and scope. */
export interface StreamSet {
  readonly key: string;
  readonly byList: WeakMap<readonly Attribute[], Stream>;
  readonly byText: Map<string, Stream>;
}

/**
 * One sender's stream: a metric with all its attributes, before any label is dropped.
 * It keeps the last raw values, so that resets are seen and increments are known whatever the labels become.
 */
export interface Stream {
  /** The metric of the resource and scope it belongs to. */
  readonly set: StreamSet;
  readonly otlpName: string;
  family: Family;
  readonly resource: readonly Attribute[];
  readonly point: readonly Attribute[];
  /** Who sent it, or what its flow's ends are, as it was bound last; null before the first time. */
  sender: Enriched | null;
  flow: EnrichedFlow | null;
  /** The account that it is counted for in the table of streams. */
  account: string;
  /** Its place among the names of its sender's peers. */
  peer: { readonly sender: string; readonly name: string } | null;
  /** Nothing is known of the pod, or the ends, that it speaks of. */
  unknown: boolean;
  /** Its rules keep one sample in this many ms; 0 keeps all. */
  intervalMs: number;
  shape: Shape;
  /** The series it feeds, in the order of the shape's components; empty while it feeds none. */
  series: readonly Series[];
  group: Group | null;
  /** Which limit keeps it out of a series of its own. */
  scope: LimitScope | null;
  monitors: readonly MonitorCounts[];
  /** Last raw values; of increments, their sum. */
  values: Float64Array;
  startNs: number;
  timeNs: number;
  /** When it was last heard of, on the monotonic clock, ms. */
  seenMs: number;
  /** Time between its last two points, ms; 0 before the second. */
  gapMs: number;
  /** The hand-out window of its last point: a second point in one window hands out the first. */
  window: number;
  /** Time of its series' end, wall clock ms; 0 while it lives. */
  endedMs: number;
  /** Taken out of the index: whoever still holds it must look again. */
  forgotten: boolean;
}

/**
 * How long a stream may be silent before its series end. Units: ms.
 * Three of its own intervals, at least 30 s so that one late export does no harm, at most the lookback of a query.
 */
export function silenceLimit(stream: Pick<Stream, 'gapMs'>): number {
  return stream.gapMs === 0 ? 60_000 : Math.min(Math.max(3 * stream.gapMs, 30_000), 300_000);
}

/** How long an ended stream is remembered, so that its return with a smaller or larger value is seen as a reset. */
export const rememberEndedMs = 600_000;
