/** The texts of spans and flows in rows, as in `kubectl svc observe`. Pure. */
import { endsOfSpan, endText, operationOf, outcomeOf } from '../../../src/stream/item-text.ts';
import type { FlowRecord, SpanRecord, StreamMessage } from '../../api/stream.ts';
import { bytes, duration } from '../../parts/format.ts';
import type { Level } from '../../parts/level.ts';

export interface ItemWords {
  /** Time of day with milliseconds, in the browser's zone. */
  readonly time: string;
  readonly from: string;
  readonly to: string;
  readonly what: string;
  /** Status code, `ok` or `error`; empty if unknown, and for a flow. */
  readonly outcome: string;
  readonly level: Level;
  /** Duration; bytes for a flow. */
  readonly size: string;
}

export function wordsOf({ time, span, flow }: StreamMessage): ItemWords {
  return { time: timeOfDay(new Date(time)), ...(span ? wordsOfSpan(span) : wordsOfFlow(flow!)) };
}

function wordsOfSpan(span: SpanRecord): Omit<ItemWords, 'time'> {
  const { source: from, destination: to } = endsOfSpan(span);
  const [what, outcome, size] = [operationOf(span), outcomeOf(span), duration(span.durationNs / 1e6)];
  return { from, to, what, outcome, level: levelOfSpan(span), size };
}

function wordsOfFlow({ source, destination, protocol, direction, bytes: count }: FlowRecord): Omit<ItemWords, 'time'> {
  const what = [protocol, direction === 'unknown' ? 'flow' : direction].filter(Boolean).join(' ');
  return { from: endText(source), to: endText(destination), what, outcome: '', level: 'none', size: bytes(count) };
}

/** A server error is bad, a client error a warning. */
export function levelOfSpan({ status, statusCode = 0 }: SpanRecord): Level {
  if (status === 'error' || statusCode >= 500) return 'bad';
  return statusCode >= 400 ? 'warn' : 'good';
}

function timeOfDay(at: Date): string {
  const two = (n: number): string => String(n).padStart(2, '0');
  const ms = String(at.getMilliseconds()).padStart(3, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${ms}`;
}
