import type { AgentStatus } from '../../capture/index.ts';
import type { ConditionInput } from '../../runtime/index.ts';

type MonitorRow = AgentStatus['monitors'][number];

/** When the span limit of each monitor last refused spans on one node, as its agent's statuses show. */
export class SpanDrops {
  #before: ReadonlyMap<string, number> = new Map();
  readonly #at = new Map<string, number>();

  /**
   * Takes the rows of a status. Agents count from the start of a config: a count other than 0 and than the previous one
   * means new drops. Units: `wall` is wall time in ms.
   */
  note(rows: readonly MonitorRow[], wall: number): void {
    const counts = new Map(rows.map((row) => [nameOf(row), row.droppedSpans ?? 0]));
    for (const [name, count] of counts) {
      if (count > 0 && count !== (this.#before.get(name) ?? 0)) this.#at.set(name, wall);
    }
    this.#before = counts;
  }

  /** When spans of this monitor were last refused; wall time in ms, null for never. */
  at(monitor: Pick<MonitorRow, 'namespace' | 'name'>): number | null {
    return this.#at.get(nameOf(monitor)) ?? null;
  }
}

const nameOf = ({ namespace, name }: Pick<MonitorRow, 'namespace' | 'name'>): string => `${namespace}/${name}`;

/** What is read of a node. */
export interface LimitedNode {
  /** Null before the first status. */
  readonly status: AgentStatus | null;
  readonly spanDrops: SpanDrops;
}

/** The data that ceilings (limits of series, and of spans a second) hold back now. */
export interface HeldBack {
  /** Series left out or folded into the overflow series. */
  series: number;
  /** Nodes that dropped spans within the last minute. */
  spanNodes: number;
}

/** Span ceilings are reached in bursts. A ceiling counts as reached for this long after the last burst. Units: ms. */
const spanMemoryMs = 60_000;

/**
 * The data that ceilings hold back from the monitors that `counts` accepts, on these nodes. `now` is wall time in ms.
 * Pure.
 */
export function heldBack(
  nodes: readonly LimitedNode[],
  counts: (monitor: { namespace: string; name: string }) => boolean,
  now: number,
): HeldBack {
  const held: HeldBack = { series: 0, spanNodes: 0 };
  for (const node of nodes) {
    const rows = (node.status?.monitors ?? []).filter(counts);
    for (const row of rows) held.series += row.droppedSeries;
    const recently = rows.some((row) => {
      const at = node.spanDrops.at(row);
      return at !== null && now - at < spanMemoryMs;
    });
    if (recently) held.spanNodes++;
  }
  return held;
}

/**
 * The condition `LimitsExceeded`. Series come first: a missing series is missing from every query, a missing span is
 * one of many. Pure.
 */
export function limitsExceeded({ series, spanNodes }: HeldBack): ConditionInput {
  const type = 'LimitsExceeded';
  if (series > 0) {
    return { type, status: 'True', reason: 'SeriesLimit', message: 'series beyond a ceiling are held back' };
  }
  if (spanNodes > 0) {
    return { type, status: 'True', reason: 'SpanRateLimit', message: `spans are dropped on ${spanNodes} nodes` };
  }
  return { type, status: 'False', reason: 'WithinLimits', message: '' };
}
