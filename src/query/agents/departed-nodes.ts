import { emptyRecord, lackingSpan, noted, withoutServing } from '../../api/agents/node-record.ts';
import type { DepartedNode as Departed, NodeRecord } from '../../api/agents/node-record.ts';
import { isSameMachine } from '../../api/agents/sightings.ts';
import type { Sighting } from '../../api/agents/sightings.ts';
import type { Clock } from '../../base/clock.ts';
import { builtinRetention } from '../../capture/index.ts';
import type { DepartedNode } from './directory.ts';

/** How long an agent keeps samples where nobody says otherwise. ms. */
const defaultKeepMs = builtinRetention.metrics.timeMs;
/** The operator and we see the same departure so much apart at most; what we see later than that is another one. ms. */
const sameDepartureMs = 5_000;

/** Names in an answer that stand for nodes whose names are not known. */
export const earlierNodes = 'departed-nodes';

/**
 * Nodes that had an agent and left: those of the operator's record, and those that we saw leaving which it does not have
 * yet. Who served is taken from the record, too, so a process that was just started notices who left while the operator
 * was away.
 */
export class DepartedNodes {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #startedMs: number;
  #own: NodeRecord = emptyRecord;
  #record: NodeRecord = emptyRecord;
  /** Both together, until one of them changes: every query asks. */
  #departed: readonly Departed[] | undefined;
  /** False: there is a record that we have not seen, and who left before our time is not known. */
  isComplete = true;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  /** The record as it is now; what could not be read of it is as it was. */
  recorded(record: Partial<NodeRecord>): void {
    this.#record = { ...this.#record, ...record };
    this.#departed = undefined;
  }

  /** Takes note of who is expected now. */
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

  /** Whose data of what times is lacking now. */
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
    // One that we see serving is back, even if the operator has not written it down yet.
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
