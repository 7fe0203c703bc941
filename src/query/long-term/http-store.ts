import { readFileSync } from 'node:fs';
import { sleep, type Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import { Pace } from '../../base/turns/turns.ts';
import { loadFetch } from '../../base/wire/http-client.ts';
import { QueryError } from '../../promql/index.ts';
import { buildStreamedRead, readStreamedSeries } from '../../tsdb/index.ts';
import type { ReadQuery } from '../../tsdb/index.ts';
import { allOrNone } from '../fanout/all-or-none.ts';
import { AgentFailure, reasonOfStatus } from '../fanout/failure.ts';
import { attempt } from '../fanout/merge/attempt-budget.ts';
import { decodeAll, SeriesCollector } from '../fanout/merge/series-collector.ts';
import type { ReadSeries, SampleBudget } from '../fanout/merge/series-collector.ts';
import { briefly, longTermName } from './long-term-store.ts';
import type { LongTermReadOptions, LongTermStore } from './long-term-store.ts';
import { RangeAnswer } from './range-answer.ts';
import { rangeQuery } from './range-selectors.ts';
import { TrustingPool } from './trusting-pool.ts';

export interface HttpStoreOptions {
  /** Address of the store, without `/api/v1/…`. */
  readonly url: string;
  /**
   * `read`: remote read, exact, stale markers included. `query`: range selectors through the query API, for stores
   * without remote read.
   */
  readonly api: 'read' | 'query';
  /** File with a bearer token, read at each request; empty: no token is sent. */
  readonly tokenFile: string;
  /** File with authorities that are trusted besides the system's, read at each request; empty: none. */
  readonly caFile: string;
  /** Value of `X-Scope-OrgID`; empty: the header is not sent. */
  readonly tenant: string;
  readonly clock: Clock;
  /** Largest answer. Units: bytes. Default 512 MiB. */
  readonly maxBytes?: number;
}

const maxAnswerBytes = 512 * 1024 * 1024;
/** At most this many bytes of an error's text are read. */
const maxErrorBytes = 64 * 1024;
/** Cost of reading one byte of JSON. Units: the cost of one sample. */
const byteWork = 2;
/** Back-off before the one retry. */
const pauseMs = 200;

/**
 * A Prometheus, Mimir, Thanos or VictoriaMetrics, read through its Prometheus-compatible API.
 * Retry: once within the deadline, when the connection fails or the answer is 429, 502, 503 or 504.
 * Errors: AgentFailure; the signal's reason when the query has ended; QueryError when the budget of samples or memory
 * is spent.
 */
export function createHttpStore(options: HttpStoreOptions): LongTermStore {
  const pool = new TrustingPool(options.caFile);
  const store = {
    ...options,
    fetch: (url: string, init: RequestInit) => loadFetch()(url, { ...init, dispatcher: pool.current }),
  };
  return {
    async read(queries, read) {
      const limit = new TimeLimit(options.clock, read.deadlineMs, read.signal);
      try {
        return await readTwice(queries, store, read, limit);
      } finally {
        limit.release();
      }
    },
  };
}

/** A store with its connections. */
interface OpenStore extends HttpStoreOptions {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

async function readTwice(
  queries: readonly ReadQuery[],
  options: OpenStore,
  read: LongTermReadOptions,
  limit: TimeLimit,
): Promise<ReadSeries[][]> {
  const { signal } = limit;
  const readOnce = (budget: SampleBudget): Promise<ReadSeries[][]> =>
    options.api === 'read'
      ? byRemoteRead(queries, options, budget, signal)
      : allOrNone(
          signal,
          queries.map((query) => (own: AbortSignal) => byQuery(query, options, budget, own)),
        );
  for (let repeated = false; ; repeated = true) {
    try {
      return await attempt(read.budget, readOnce);
    } catch (error) {
      if (read.signal.aborted) throw read.signal.reason;
      if (limit.passed) throw new AgentFailure('timeout', `no answer within ${Math.round(read.deadlineMs)} ms`);
      if (error instanceof QueryError) throw error;
      const failure = asFailure(error);
      if (repeated || !(failure instanceof Passing)) throw failure;
      await sleep(options.clock, pauseMs, signal).catch(() => {});
    }
  }
}

/** A failure that may be transient. */
class Passing extends AgentFailure {}

async function byRemoteRead(
  queries: readonly ReadQuery[],
  options: OpenStore,
  budget: SampleBudget,
  signal: AbortSignal,
): Promise<ReadSeries[][]> {
  const collector = new SeriesCollector(longTermName, queries.length, budget);
  collector.foreignAllowed = true;
  const { headers, body } = buildStreamedRead(queries.map(withSamples));
  const response = await ask(options, '/api/v1/read', { method: 'POST', headers, body: Buffer.from(body) }, signal);
  const type = response.headers.get('content-type') ?? undefined;
  for await (const series of readStreamedSeries(type, bytesOf(response, options))) collector.add(series);
  const pace = new Pace(signal);
  const results: ReadSeries[][] = [];
  for (const all of collector.finish()) results.push(await decodeAll(all, budget.memory, pace));
  return results;
}

/**
 * The hint for a list of series is not sent: with it Prometheus reads no samples, and a series without samples is not
 * streamed. The answer would be empty.
 */
function withSamples({ hints, ...query }: ReadQuery): ReadQuery {
  return hints === undefined || hints.func === 'series' ? query : { ...query, hints };
}

async function byQuery(
  query: ReadQuery,
  options: OpenStore,
  budget: SampleBudget,
  signal: AbortSignal,
): Promise<ReadSeries[]> {
  const { path, form } = rangeQuery(query);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const response = await ask(options, path, { method: 'POST', headers, body: form }, signal);
  const answer = new RangeAnswer(query, budget);
  const pace = new Pace(signal);
  for await (const part of bytesOf(response, options)) {
    answer.add(part);
    if (pace.spend(part.length * byteWork)) await pace.turn();
  }
  return answer.end();
}

async function ask(
  { url, tokenFile, tenant, fetch }: OpenStore,
  path: string,
  init: { method: string; headers: Record<string, string>; body: string | Buffer<ArrayBuffer> },
  signal: AbortSignal,
): Promise<Response> {
  const headers = { ...init.headers };
  if (tokenFile !== '') headers['authorization'] = `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`;
  if (tenant !== '') headers['x-scope-orgid'] = tenant;
  const target = `${url.replace(/\/+$/, '')}${path}`;
  const response = await fetch(target, { ...init, headers, signal, redirect: 'error' });
  if (response.ok) return response;
  const { status } = response;
  const hint =
    status === 404 && path === '/api/v1/read' ? ' (a store without remote read needs --long-term-api=query)' : '';
  const text = `HTTP ${status}: ${briefly(reasonIn(await beginningOf(response)))}${hint}`;
  const reason = reasonOfStatus(status);
  throw [429, 502, 503, 504].includes(status) ? new Passing(reason, text) : new AgentFailure(reason, text);
}

/** The beginning of an error's text, which may be of any length. */
async function beginningOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    parts.push(part as Uint8Array);
    length += (part as Uint8Array).length;
    if (length >= maxErrorBytes) break;
  }
  return Buffer.concat(parts).toString();
}

/** The `error` of a Prometheus API's answer; the whole text when it has none. */
function reasonIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? error : text;
  } catch {
    return text;
  }
}

async function* bytesOf(
  response: Response,
  { maxBytes = maxAnswerBytes }: HttpStoreOptions,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const part of response.body ?? []) {
    total += (part as Uint8Array).length;
    if (total > maxBytes) throw new AgentFailure('over limit', `answer is larger than ${maxBytes} bytes`);
    yield part as Uint8Array;
  }
}

function asFailure(error: unknown): AgentFailure {
  if (error instanceof AgentFailure) return error;
  // Errors that fetch itself throws: connection refused, name not found, connection cut.
  const { name, cause } = (error ?? {}) as { name?: unknown; cause?: unknown };
  if (name === 'TypeError') return new Passing('unreachable', errorText(cause ?? error), { cause: error });
  return new AgentFailure('protocol', errorText(error), { cause: error });
}
