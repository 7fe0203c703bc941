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
  /** Its sender, or the ends of its flow, as they were last looked up; null before the first look-up. */
  sender: Enriched | null;
  flow: EnrichedFlow | null;
  /** The account for which it counts in the limits on streams: see `accountOf`. */
  account: string;
  /** The number of streams for which it counts there. */
  readonly weight: number;
  /** The server that it names as its peer. One sender may name only `maxPeersPerSender` different servers. */
  peer: { readonly sender: string; readonly name: string } | null;
  /** The pod, or the ends, that it describes are unknown. */
  unknown: boolean;
  /** The rules for its pod keep one sample in this many ms; 0 keeps all. */
  intervalMs: number;
  shape: Shape;
  /** The series it feeds, in the order of the shape's components; empty while it feeds none. */
  series: readonly Series[];
  group: Group | null;
  /** The limit that prevents it from having a series of its own. */
  scope: LimitScope | null;
  monitors: readonly MonitorCounts[];
  /** Last raw values; if its points are increments, their sum. */
  values: Float64Array;
  startNs: number;
  timeNs: number;
  /** When its last point came, on the monotonic clock, ms. */
  seenMs: number;
  /** Time between its last two points, ms; 0 before the second. */
  gapMs: number;
  /** Number of the flush after its last point. If a point comes before that flush, the last one is handed out first. */
  window: number;
  /** Time of its series' end, wall clock ms; 0 while it lives. */
  endedMs: number;
  /** It was removed from the `StreamIndex`: a caller that still has it must look it up again. */
  forgotten: boolean;
}

/** What a stream has from its first point on. */
type FirstSeen = Pick<
  Stream,
  'set' | 'otlpName' | 'family' | 'resource' | 'point' | 'account' | 'weight' | 'shape' | 'values' | 'seenMs'
>;

/** A stream before its first point is taken in: it feeds no series, and its sender has not been looked up. */
export function newStream(seen: FirstSeen): Stream {
  // Without a spread: V8 keeps the members of this literal in the object itself, and there are as many as streams.
  return {
    set: seen.set,
    otlpName: seen.otlpName,
    family: seen.family,
    resource: seen.resource,
    point: seen.point,
    sender: null,
    flow: null,
    account: seen.account,
    weight: seen.weight,
    peer: null,
    unknown: false,
    intervalMs: 0,
    shape: seen.shape,
    series: [],
    group: null,
    scope: null,
    monitors: [],
    values: seen.values,
    startNs: 0,
    timeNs: 0,
    seenMs: seen.seenMs,
    gapMs: 0,
    window: 0,
    endedMs: 0,
    forgotten: false,
  };
}

/** A stream's own interval counts up to this, because a longer time between two points may be a pause. Units: ms. */
const longestGapMs = 3_600_000;

/**
 * How long a stream may be silent before its series end. Units: ms.
 * Three intervals, its own or those of the instrument's exports, at least 30 s so that one late export does not end it,
 * and at most the lookback of a query. A stream that is exported less often than that must not end between two exports:
 * when it comes back, its history would be an increase. Its own interval counts there, too: the instrument may not run
 * the interval of a new policy yet.
 */
export function silenceLimit({ gapMs }: Pick<Stream, 'gapMs'>, exportIntervalMs: number): number {
  const threeMs = Math.max(3 * gapMs, 3 * exportIntervalMs, gapMs === 0 ? 60_000 : 30_000);
  const intervalMs = Math.max(exportIntervalMs, Math.min(gapMs, longestGapMs));
  return Math.max(Math.min(threeMs, 300_000), 1.5 * intervalMs);
}

/**
 * How long a stream that ended after `limitMs` of silence is remembered from its last point on, so that a reset is
 * detected when the stream returns, even if its value is larger than before. Units: ms.
 */
export function rememberedMs(limitMs: number): number {
  return Math.max(600_000, 2 * limitMs);
}
