import { Octokit } from '@octokit/core';
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import { isOperatorError } from '../../base/errors.ts';
import { parseJson } from '../../base/text/parse-json.ts';
import { within } from '../../base/time-limit.ts';
import { Gate } from '../../base/turns/gate.ts';
import { boundedFetch, type BoundedFetchOptions } from '../bounded-fetch.ts';
import type { Deadline } from '../deadline.ts';

export type PlatformOperation = 'get_app' | 'get_installation' | 'create_token' | 'revoke_token';

export interface PlatformClientOptions {
  apiBaseUrl: string;
  userAgent: string;
  clock: Clock;
  onCall?: (operation: PlatformOperation, code: string, seconds: number) => void;
  onRateLimit?: (remaining: number) => void;
}

/** An answer of the platform, whatever its status. `data` is parsed JSON, or undefined without a body. */
export interface PlatformAnswer {
  status: number;
  data: unknown;
  /** Set when the answer says that we send too many requests: seconds to wait. */
  retryAfterSeconds: number | undefined;
  /** The time of the platform's clock, in whole seconds, if it says so. Units: ms since 1970. */
  dateMs: number | undefined;
}

/** No usable answer: a network error, no time left, or an answer beyond our limits. */
export class PlatformUnreachable extends Error {
  readonly kind: 'timeout' | 'network' | 'too_large';

  constructor(kind: 'timeout' | 'network' | 'too_large', cause: unknown) {
    super(`platform: ${kind}`, { cause });
    this.name = 'PlatformUnreachable';
    this.kind = kind;
  }
}

/** A limit that the platform has stated. `until`: on the monotonic clock, ms. */
interface Limit {
  status: number;
  until: number;
}

const attemptMs = 1_500;

/** The largest answer that is read: so much, and so much more for each repository that a new token is for. */
const answerBytes = 64 * 1024;
const repositoryBytes = 16 * 1024;

/**
 * The most values of an answer, as for its bytes; GitHub describes a repository by fewer than 200. A small value takes
 * many times the memory of its text.
 */
const answerValues = 10_000;
const repositoryValues = 1_000;

/** How many answers that may have more than `largeBytes` are read at a time. Up to 8 MiB each, they share the memory. */
const largePlaces = 4;
const largeBytes = 256 * 1024;

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const routes = {
  get_app: 'GET /app',
  get_installation: 'GET /orgs/{org}/installation',
  create_token: 'POST /app/installations/{installation_id}/access_tokens',
  revoke_token: 'DELETE /installation/token',
} as const satisfies Record<PlatformOperation, string>;

/**
 * The four calls we make, to the configured host only: no URL of an answer is ever followed.
 * A call is repeated once, with the same body, after a network error, a timeout, a 5xx, or a rate limit that ends
 * before the deadline. `revoke_token` is never repeated.
 * A limit is remembered until it ends, for its operation alone: the platform counts some limits per endpoint, and all of
 * them for the App, so no caller could get more. Until then, calls are answered here, by the limit's status and the
 * seconds that are left. Revocations are always sent: they count for the installation.
 * The platform describes every repository of a new token, so the limit of an answer grows with the request; one that
 * may be large waits for a place before it is sent.
 * Errors: PlatformUnreachable. A status is not an error here: the caller interprets it.
 */
export class PlatformClient {
  readonly #options: PlatformClientOptions;
  readonly #octokit: Octokit;
  readonly #large = new Gate(largePlaces);
  readonly #limits = new Map<PlatformOperation, Limit>();

  constructor(options: PlatformClientOptions) {
    this.#options = options;
    this.#octokit = new Octokit({
      baseUrl: options.apiBaseUrl,
      userAgent: options.userAgent,
      log: silent,
      request: { redirect: 'manual' },
    });
  }

  async call(
    operation: PlatformOperation,
    bearer: string,
    parameters: Record<string, unknown>,
    deadline: Deadline,
  ): Promise<PlatformAnswer> {
    const retryable = operation !== 'revoke_token';
    const limit = this.#limitOf(operation);
    if (limit) return limit;
    for (let attempt = 1; ; attempt++) {
      const last = attempt >= 2 || !retryable;
      try {
        const answer = await this.#once(operation, bearer, parameters, deadline);
        const pause = pauseBeforeRetry(answer);
        if (last || pause === null || pause + 100 > deadline.remaining()) {
          if (retryable) this.#noteLimit(operation, answer);
          return answer;
        }
        await sleep(this.#options.clock, pause);
      } catch (error) {
        const worth = error instanceof PlatformUnreachable && error.kind !== 'too_large';
        if (last || !worth || deadline.remaining() < 100) throw error;
      }
    }
  }

  #limitOf(operation: PlatformOperation): PlatformAnswer | undefined {
    const limit = this.#limits.get(operation);
    const ms = limit ? limit.until - this.#options.clock.monotonic() : 0;
    if (!limit || ms <= 0) return undefined;
    return { status: limit.status, data: undefined, retryAfterSeconds: Math.ceil(ms / 1_000), dateMs: undefined };
  }

  #noteLimit(operation: PlatformOperation, { status, retryAfterSeconds }: PlatformAnswer): void {
    if (retryAfterSeconds === undefined) return;
    const until = this.#options.clock.monotonic() + retryAfterSeconds * 1_000;
    if (until > (this.#limits.get(operation)?.until ?? 0)) this.#limits.set(operation, { status, until });
  }

  async #once(
    operation: PlatformOperation,
    bearer: string,
    parameters: Record<string, unknown>,
    deadline: Deadline,
  ): Promise<PlatformAnswer> {
    const limits = answerLimits(parameters);
    const leave = limits.maxBytes > largeBytes ? await this.#enter(deadline) : undefined;
    try {
      return await this.#attempt(operation, bearer, parameters, { deadline, ...limits });
    } finally {
      leave?.();
    }
  }

  /** Waits for a place to read a large answer; returns how to leave it. Errors: PlatformUnreachable at the deadline. */
  async #enter(deadline: Deadline): Promise<() => void> {
    try {
      return await within(this.#options.clock, deadline.remaining(), (signal) => this.#large.enter(signal));
    } catch (error) {
      throw new PlatformUnreachable('timeout', error);
    }
  }

  async #attempt(
    operation: PlatformOperation,
    bearer: string,
    parameters: Record<string, unknown>,
    { deadline, maxBytes, maxValues }: { deadline: Deadline; maxBytes: number; maxValues: number },
  ): Promise<PlatformAnswer> {
    const { clock, onCall, onRateLimit } = this.#options;
    const start = clock.monotonic();
    const report = (code: string): void => onCall?.(operation, code, (clock.monotonic() - start) / 1000);
    const timeoutMs = deadline.atMost(attemptMs);
    if (timeoutMs < 1) throw new PlatformUnreachable('timeout', undefined);
    try {
      const answer = await this.#request(operation, bearer, parameters, { timeoutMs, maxBytes });
      const remaining = Number(answer.headers['x-ratelimit-remaining'] ?? Number.NaN);
      if (Number.isFinite(remaining)) onRateLimit?.(remaining);
      report(String(answer.status));
      const { status, headers } = answer;
      const data = parsed(answer.text, maxValues);
      const retryAfterSeconds = retryAfter({ status, headers, data }, clock.now());
      return { status, data, retryAfterSeconds, dateMs: Date.parse(String(headers['date'])) || undefined };
    } catch (error) {
      const failure = unreachable(error);
      report(failure.kind);
      throw failure;
    }
  }

  /** Octokit throws on some statuses and not on others; both become an answer here. */
  async #request(
    operation: PlatformOperation,
    bearer: string,
    parameters: Record<string, unknown>,
    limits: { timeoutMs: number; maxBytes: number },
  ): Promise<{ status: number; text: unknown; headers: AnswerHeaders }> {
    const request = { fetch: textFetch({ clock: this.#options.clock, ...limits }) };
    const headers = { authorization: `Bearer ${bearer}`, 'x-github-api-version': '2022-11-28' };
    try {
      const answer = await this.#octokit.request(routes[operation], { ...parameters, headers, request });
      return { status: answer.status, text: answer.data, headers: answer.headers as AnswerHeaders };
    } catch (error) {
      // Octokit reports network errors as status 500 too; only an answer from the platform carries `response`.
      const response = (error as { response?: { status: number; data: unknown; headers: AnswerHeaders } }).response;
      if (response) return { ...response, text: response.data };
      throw error;
    }
  }
}

function answerLimits({ repositories }: Record<string, unknown>): { maxBytes: number; maxValues: number } {
  const count = Array.isArray(repositories) ? repositories.length : 0;
  return { maxBytes: answerBytes + count * repositoryBytes, maxValues: answerValues + count * repositoryValues };
}

/**
 * A bounded fetch whose answers have no type, so that Octokit returns their text: its own JSON parser takes more than a
 * second for each megabyte of numbers.
 */
function textFetch(options: BoundedFetchOptions): typeof fetch {
  const fetchJson = boundedFetch(options);
  return async (input, init) => {
    const answer = await fetchJson(input, init);
    answer.headers.delete('content-type');
    return answer;
  };
}

/** The object or list in a text; undefined if it is anything else, or has too many values. */
function parsed(text: unknown, maxValues: number): unknown {
  try {
    const value = parseJson(String(text), 'the answer', maxValues);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

type AnswerHeaders = Readonly<Record<string, string | number | undefined>>;

/** Milliseconds to wait before the only retry, or null when the answer is final. */
function pauseBeforeRetry(answer: PlatformAnswer): number | null {
  if (answer.retryAfterSeconds !== undefined) return answer.retryAfterSeconds * 1000;
  return answer.status >= 500 ? 0 : null;
}

/**
 * What a 403 says that only its text tells from a refusal. No repository is named like this: names have no spaces.
 * Source: GitHub's "Rate limit errors"; the second wording is that of older servers.
 */
const limitText = /\b(secondary rate limit|abuse detection)\b/i;

/**
 * Seconds to wait when an answer means "too many requests": 429, or 403 that says so in its headers or its message.
 * Every answer states when the primary limit is reset, so that time counts only if this limit may be the one.
 */
function retryAfter(
  { status, headers, data }: { status: number; headers: AnswerHeaders; data: unknown },
  nowMs: number,
): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  const remaining = String(headers['x-ratelimit-remaining'] ?? '');
  const { message } = (data ?? {}) as { message?: unknown };
  const isNamed = typeof message === 'string' && limitText.test(message);
  if (status !== 429 && !(status === 403 && (Number.isFinite(seconds) || remaining === '0' || isNamed))) {
    return undefined;
  }
  if (Number.isFinite(seconds)) return clamp(seconds);
  const reset = Number(headers['x-ratelimit-reset'] ?? Number.NaN);
  const isPrimary = remaining === '0' || remaining === '';
  return isPrimary && Number.isFinite(reset) ? clamp(reset - nowMs / 1000) : 60;
}

function clamp(seconds: number): number {
  return Math.min(3_600, Math.max(1, Math.ceil(seconds)));
}

function unreachable(error: unknown): PlatformUnreachable {
  for (let e: unknown = error, depth = 0; e instanceof Error && depth < 5; e = e.cause, depth++) {
    if (e instanceof PlatformUnreachable) return e;
    if (isOperatorError(e, 'ERR_TIMEOUT')) return new PlatformUnreachable('timeout', error);
    if (isOperatorError(e, 'ERR_TOO_LARGE')) return new PlatformUnreachable('too_large', error);
  }
  return new PlatformUnreachable('network', error);
}
