import { appendFileSync, renameSync, statSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { QueryStats } from '../../promql/index.ts';
import { totalCount } from '../json/stats-json.ts';
import { queryTimings } from '../timings.ts';
import type { QuerySeconds } from '../timings.ts';

/** One query that has ended. Times in ms since the epoch. `stats` is set for a query that was answered. */
export interface LoggedQuery {
  readonly query: string;
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly request: LoggedRequest;
  readonly status: number;
  readonly seconds: QuerySeconds;
  readonly stats?: QueryStats;
  readonly missingNodes: readonly string[];
  readonly error?: string;
}

/** The client and the request. */
export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly clientIP: string;
  /** Empty on a loopback connection. */
  readonly user: string;
  /** The client's `traceparent` header (W3C Trace Context), which connects its trace with this line. */
  readonly traceparent?: string | undefined;
}

/** Receives queries that have ended. */
export interface QueryLog {
  write(query: LoggedQuery): void;
}

export const noQueryLog: QueryLog = { write: () => {} };

/**
 * Writes queries as JSON lines, `{ts, params, httpRequest, stats, degraded, …}`.
 * At `maxBytes` the file is renamed to `<path>.1`, which replaces an earlier file of that name, and a new file begins.
 * Neither file is ever larger than the cap, unless a single line is. A write failure is reported once and affects no
 * query. The path `-` is the standard output, which has no cap: its collector limits the size.
 */
export function openQueryLog(
  path: string,
  { maxBytes, clock, logger }: { maxBytes: number; clock: Clock; logger: Logger },
): QueryLog {
  if (path === '-') return lineLog((line) => void process.stdout.write(line), clock);
  let size = sizeOf(path);
  let broken = false;
  return lineLog((line) => {
    try {
      const bytes = Buffer.byteLength(line);
      if (size > 0 && size + bytes > maxBytes) {
        renameSync(path, `${path}.1`);
        size = 0;
      }
      appendFileSync(path, line);
      size += bytes;
      broken = false;
    } catch (error) {
      if (!broken) logger.warn('the query log cannot be written', { path, error: errorText(error) });
      broken = true;
    }
  }, clock);
}

const lineLog = (write: (line: string) => void, clock: Clock): QueryLog => ({
  write: (query) => write(`${JSON.stringify(lineOf(query, clock.now()))}\n`),
});

function lineOf(q: LoggedQuery, now: number): object {
  const { query, request, status, seconds, stats, missingNodes, error } = q;
  const { traceparent, ...httpRequest } = request;
  return {
    ts: new Date(now).toISOString(),
    params: { query, start: isoTime(q.start), end: isoTime(q.end), step: q.step / 1000 },
    httpRequest: { ...httpRequest, status },
    stats: {
      timings: queryTimings(seconds, stats),
      ...(stats === undefined ? {} : { samples: sampleNumbers(stats) }),
    },
    ...spanOf(traceparent),
    degraded: missingNodes.length > 0,
    missingNodes,
    ...(error === undefined ? {} : { error }),
  };
}

/** The sample counts of an answered query. The two that Prometheus logs are present only if they were counted. */
function sampleNumbers({ samplesRead, peakSamples, samples }: QueryStats): object {
  const counts = samples && {
    totalQueryableSamples: totalCount(samples.queryable),
    samplesRead: totalCount(samples.read),
  };
  return { ...counts, samplesDecoded: samplesRead, peakSamples };
}

/** The ids in a `traceparent` header; nothing for an invalid one. */
function spanOf(traceparent = ''): { traceID?: string; spanID?: string } {
  const [, traceID, spanID] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/.exec(traceparent) ?? [];
  return traceID === undefined || spanID === undefined ? {} : { traceID, spanID };
}

/** RFC 3339; a time outside the range of Date is written as seconds. */
function isoTime(ms: number): string {
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms / 1000);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
