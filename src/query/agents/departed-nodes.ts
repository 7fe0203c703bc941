import { emptyRecord, lackingSpan, noted, withoutServing } from '../../api/agents/node-record.ts';
import type { DepartedNode as Departed, NodeRecord } from '../../api/agents/node-record.ts';
import { isSameMachine } from '../../api/agents/sightings.ts';
import type { Sighting } from '../../api/agents/sightings.ts';
import type { Clock } from '../../base/clock.ts';
import { builtinRetention } from '../../capture/index.ts';
import type { DepartedNode } from './directory.ts';

/** How long an agent keeps its data if the record of its node does not say. Units: ms. */
const defaultKeepMs = builtinRetention.metrics.timeMs;
/**
 * A departure that we observe at most this long after one that the operator observed is the same departure; a later one
 * counts as another. Units: ms.
 */
const sameDepartureMs = 5_000;

/** The name in an answer that stands for departed nodes whose names are not known. */
export const earlierNodes = 'departed-nodes';

/**
 * Nodes that had an agent and left: those of the operator's record, and those whose departure we observed but the
 * record does not have yet. The serving nodes are taken from the record, too, so a process that has just started
 * notices nodes that left while the operator was away.
 */
export class DepartedNodes {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #startedMs: number;
  #own: NodeRecord = emptyRecord;
  #record: NodeRecord = emptyRecord;
  /** The departed nodes of `#own` and `#record`, cached until one of these changes: every query reads them. */
  #departed: readonly Departed[] | undefined;
  /** False: a record exists that we have not read, so the nodes that left before our start are not known. */
  isComplete = true;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  /** Sets the record; a part that could not be read keeps its former value. */
  recorded(record: Partial<NodeRecord>): void {
    this.#record = { ...this.#record, ...record };
    this.#departed = undefined;
  }

  /** Notes the nodes that are expected to have an agent now. */
  note(sightings: readonly Sighting[]): void {
    const { serving, departed } = this.#own;
    this.#departed = undefined;
    const known = new Set(serving.map(({ node }) => node));
    const recorded = this.#record.serving.filter(
      (one) => !known.has(one.node) && !departed.some((left) => isSameMachine(left, one)),
    );
    const keeping = new Map(this.#record.serving.map(({ node, keepMs }) => [node, keepMs]));
    this.#own = noted({ ...this.#own, serving: [...serving, ...recorded] }, sightings, {
      nowMs: this.#clock.now(),
      keepMs: (node) => keeping.get(node),
      defaultKeepMs,
    });
  }

  /** The nodes whose data is missing now, with the times that are missing. */
  lacking(): DepartedNode[] {
    const nowMs = this.#clock.now();
    this.#departed ??= this.#joined();
    const all = this.#departed.flatMap((one) => {
      const span = lackingSpan(one, nowMs);
      return span ? [{ node: one.node, fromMs: span.fromMs, leftMs: span.toMs }] : [];
    });
    return [...all, ...this.#unnamed(nowMs)];
  }

  #joined(): readonly Departed[] {
    const { serving, departed: own } = this.#own;
    // A node that we see serving is back, even if the operator has not recorded it yet.
    const recorded = withoutServing(this.#record.departed, serving);
    const isRecorded = (one: Departed): boolean =>
      recorded.some((other) => isSameMachine(one, other) && one.leftMs - other.leftMs <= sameDepartureMs);
    return [...recorded, ...own.filter((one) => !isRecorded(one))].sort(
      (a, b) => (a.node < b.node ? -1 : a.node > b.node ? 1 : 0) || a.leftMs - b.leftMs,
    );
  }

  #unnamed(nowMs: number): DepartedNode[] {
    const found: DepartedNode[] = [];
    const { earlier } = this.#record;
    const span = earlier && lackingSpan(earlier, nowMs);
    if (span) {
      const note = `${earlier.count} nodes left, the last of them at ${timeText(span.toMs)}; too many to name`;
      found.push({ node: earlierNodes, fromMs: span.fromMs, leftMs: span.toMs, note });
    }
    const fromMs = nowMs - defaultKeepMs;
    if (!this.isComplete && fromMs <= this.#startedMs) {
      const note = `the record of nodes that left cannot be read: who left before ${timeText(this.#startedMs)} is not known`;
      found.push({ node: earlierNodes, fromMs, leftMs: this.#startedMs, note });
    }
    return found;
  }
}

const timeText = (ms: number): string => new Date(ms).toISOString();
