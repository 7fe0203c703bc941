/** Judges answers and stored samples by what was sent; pure. */
import type { Sent } from '../meter.ts';

/** An answer to the query for the newest count of a pod. */
export interface Answer {
  readonly isDegraded: boolean;
  readonly missingNodes: readonly string[];
  /** The count; null if the answer has none. */
  readonly value: number | null;
}

/** What had been sent at the time of a query and of its answer. */
export interface Known {
  /** The newest value that the agent had acknowledged before the query. */
  readonly acknowledged: number;
  /** The newest value that had been sent by the time of the answer. */
  readonly newest: number;
  readonly nodes: readonly string[];
}

/** `right`, `degraded`, or a sentence that says what is wrong with the answer. */
export function judge(answer: Answer, { acknowledged, newest, nodes }: Known): string {
  if (answer.isDegraded) {
    const strange = answer.missingNodes.filter((name) => !nodes.includes(name));
    if (answer.missingNodes.length === 0) return 'degraded, and no node is missing';
    return strange.length === 0 ? 'degraded' : `degraded for nodes that do not exist: ${strange.join(', ')}`;
  }
  const value = answer.value ?? 0;
  if (value < acknowledged) return `${value}, and ${acknowledged} had been acknowledged before it was asked`;
  if (value > newest) return `${value}, and ${newest} is all that was sent`;
  return 'right';
}

/** A sample as it is stored: time in seconds, value. */
export type Sample = readonly [number, string];

/** Values that were acknowledged and are not among the stored samples at their time, to the millisecond. */
export function lostOf(sent: readonly Sent[], stored: readonly Sample[]): Sent[] {
  const there = new Set(stored.map(([time, value]) => `${Math.round(time * 1000)} ${Number(value)}`));
  return sent.filter(({ at, value, isAcknowledged }) => isAcknowledged && !there.has(`${at} ${value}`));
}

/** Stored samples that were never sent. */
export function inventedOf(sent: readonly Sent[], stored: readonly Sample[]): Sample[] {
  const known = new Set(sent.map(({ at, value }) => `${at} ${value}`));
  return stored.filter(([time, value]) => !known.has(`${Math.round(time * 1000)} ${Number(value)}`));
}

/** The median and the longest of some durations, in their unit. */
export function spread(times: readonly number[]): { median: number; longest: number } {
  const sorted = [...times].sort((a, b) => a - b);
  return { median: sorted[(sorted.length - 1) >> 1] ?? 0, longest: sorted.at(-1) ?? 0 };
}
