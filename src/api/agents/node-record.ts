import { isSameMachine } from './sightings.ts';
import type { Machine, Sighting } from './sightings.ts';

/** A node whose agent serves, or did when it was last seen. Units: ms. */
export interface ServingNode extends Machine {
  /** Start of the node's data: it has no older data. */
  readonly fromMs: number;
  /** How long its agent keeps a sample. */
  readonly keepMs: number;
}

/** A node that had an agent and needs none any more. No agent has its data. Units: ms. */
export interface DepartedNode extends Machine {
  readonly fromMs: number;
  /** End of the node's data: it has no newer data. */
  readonly leftMs: number;
  /** When its last sample would have been dropped: from then on no data is missing. */
  readonly untilMs: number;
}

/** Nodes that left and were too many to be kept one by one. Units: ms. */
export interface EarlierNodes {
  readonly count: number;
  readonly fromMs: number;
  readonly leftMs: number;
  readonly untilMs: number;
}

/** The nodes that serve and those that have left. The next look at the cluster is compared with this record. */
export interface NodeRecord {
  readonly serving: readonly ServingNode[];
  readonly departed: readonly DepartedNode[];
  readonly earlier: EarlierNodes | null;
}

export const emptyRecord: NodeRecord = { serving: [], departed: [], earlier: null };

export interface NotedOptions {
  readonly nowMs: number;
  /** A time that has passed for certain, by which nodes are forgotten for good. Default: nowMs. */
  readonly lastedMs?: number;
  /** How long the agent of a node keeps samples; undefined while that is unknown. */
  readonly keepMs: (node: string) => number | undefined;
  /** The retention assumed for a node whose own was never known. */
  readonly defaultKeepMs: number;
}

/**
 * The record after a look at the cluster. A node leaves when it should no longer have an agent, or when another machine
 * has its name. When its agent serves again, it is not listed as departed any more: its data is there. A node whose
 * agent never served is not recorded: it has no data that could be missing. Pure.
 */
export function noted(record: NodeRecord, sightings: readonly Sighting[], options: NotedOptions): NodeRecord {
  const { nowMs, lastedMs = nowMs, keepMs, defaultKeepMs } = options;
  const seen = new Map(sightings.map((sighting) => [sighting.node, sighting]));
  const serving: ServingNode[] = [];
  const departed = record.departed.filter(({ untilMs }) => untilMs > lastedMs);
  for (const known of record.serving) {
    const sighting = seen.get(known.node);
    if (sighting === undefined || (sighting.uid !== '' && !isSameMachine(known, sighting))) {
      const { keepMs: keep, ...rest } = known;
      // `fromMs` is of the API server's clock, which may be ahead of this one.
      const leftMs = Math.max(nowMs, known.fromMs);
      departed.push({ ...rest, leftMs, untilMs: leftMs + keep });
      continue;
    }
    const identity = sighting.uid === '' ? {} : { uid: sighting.uid, machine: sighting.machine ?? known.machine };
    serving.push({ ...known, ...identity, keepMs: keepMs(known.node) ?? known.keepMs });
    seen.delete(known.node);
  }
  for (const sighting of seen.values()) {
    const { node, uid, machine, createdMs, isServing } = sighting;
    if (!isServing || uid === '') continue;
    const before = departed.filter((one) => isSameMachine(one, sighting));
    const fromMs = Math.min(createdMs, ...before.map((one) => one.fromMs));
    serving.push({ node, uid, machine, fromMs, keepMs: keepMs(node) ?? defaultKeepMs });
  }
  const earlier = record.earlier !== null && record.earlier.untilMs > lastedMs ? record.earlier : null;
  return { serving, departed: withoutServing(departed, serving), earlier };
}

/** The departed nodes that are not among those that serve. Pure. */
export function withoutServing(
  departed: readonly DepartedNode[],
  serving: readonly ServingNode[],
): readonly DepartedNode[] {
  const byName = new Map(serving.map((one) => [one.node, one]));
  return departed.filter((one) => {
    const other = byName.get(one.node);
    return other === undefined || !isSameMachine(one, other);
  });
}

/**
 * The time range for which a departed node would still have samples: from `fromMs`, or as far back as it would have
 * kept them, to `leftMs`. Null when it would have none any more. Pure.
 */
export function lackingSpan(
  { fromMs, leftMs, untilMs }: Pick<DepartedNode, 'fromMs' | 'leftMs' | 'untilMs'>,
  nowMs: number,
): { readonly fromMs: number; readonly toMs: number } | null {
  const oldest = nowMs - (untilMs - leftMs);
  return oldest > leftMs ? null : { fromMs: Math.max(fromMs, oldest), toMs: leftMs };
}
