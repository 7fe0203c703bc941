import { parseDuration } from '../../../base/duration.ts';
import { isOperatorError } from '../../../base/errors.ts';
import { type FilterValues, streamQuery, type StreamRequest } from '../../../stream/index.ts';
import { UsageError } from '../errors.ts';
import { timeFlag, timeText } from '../query/times.ts';

/** The flags that select how much of the past to show, and whether to follow. */
export interface SpanFlags {
  follow: boolean;
  since?: string;
  until?: string;
  last?: string;
  first?: string;
  type?: ('span' | 'flow')[];
}

const duration = /^([0-9]+(ms|s|m|h))+$/;

/** Default number of past items. */
const defaultNumber = 20;

/** The request that the flags and filters ask for. Errors: UsageError that names the flag. */
export function observeRequest(
  flags: SpanFlags,
  filters: { readonly include: readonly FilterValues[]; readonly exclude: readonly FilterValues[] },
  now: number,
): StreamRequest {
  const { follow, first, last, since, until, type = [] } = flags;
  if (first !== undefined && last !== undefined) throw new UsageError('--first and --last exclude each other');
  if (first !== undefined && follow) throw new UsageError('--first and --follow exclude each other');
  if (until !== undefined && follow) throw new UsageError('--until and --follow exclude each other');
  const bounded = since !== undefined || until !== undefined;
  const request = {
    ...(first === undefined ? lastOf(last, follow, bounded) : { number: whole(first, '--first'), first: true }),
    ...(follow ? { follow } : {}),
    ...(since === undefined ? {} : { since: moment(since, '--since', now) }),
    ...(until === undefined ? {} : { until: moment(until, '--until', now) }),
    ...(filters.include.length > 0 ? { include: filters.include } : {}),
    ...(filters.exclude.length > 0 ? { exclude: filters.exclude } : {}),
    ...(type.length > 0 ? { types: [...new Set(type)] } : {}),
  } as StreamRequest;
  checked(request, now);
  return request;
}

/** The request for all items since then, instead of a number of past items. */
export function allSince({ number: _, ...rest }: StreamRequest, since: string): StreamRequest {
  return { ...rest, since, all: true };
}

/** The request that asks for the same past some time later: a duration before now becomes longer. */
export function laterRequest(request: StreamRequest, elapsedMs: number): StreamRequest {
  const { since } = request;
  if (since === undefined || !duration.test(since)) return request;
  return { ...request, since: `${parseDuration(since, 'since') + elapsedMs}ms` };
}

function lastOf(last: string | undefined, follow: boolean, bounded: boolean): StreamRequest {
  if (last === 'all') return { all: true };
  if (last !== undefined) return { number: whole(last, '--last') };
  // A start or end time already sets the amount: all items in that range.
  if (bounded) return { all: true };
  return { number: follow ? 0 : defaultNumber };
}

function whole(text: string, flag: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(
    `${flag} ${JSON.stringify(text)} is ${flag === '--last' ? 'neither a whole number nor all' : 'not a whole number'}`,
  );
}

/**
 * The value of a time flag as it is sent. A duration, which is relative to now, is sent unchanged, because the clock of
 * the cluster may differ from that of this machine.
 */
function moment(text: string, flag: string, now: number): string {
  return duration.test(text) ? text : timeText(timeFlag(text, flag, now));
}

/** Errors: UsageError that names the flag, for a request that the server would refuse. */
function checked(request: StreamRequest, now: number): void {
  try {
    streamQuery(request, now, { node: '', podLabels: () => undefined });
  } catch (error) {
    if (!isOperatorError(error)) throw error;
    const dashed = error.message.replace(/^\w+/, (field) => `--${flagNames[field] ?? field}`);
    throw new UsageError(dashed);
  }
}

const flagNames: Readonly<Record<string, string>> = {
  labelSelector: 'label',
  minDuration: 'min-duration',
  traceId: 'trace-id',
};
