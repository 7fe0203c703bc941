import { importJWK, type CryptoKey } from 'jose';
import type { Clock } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { boundedFetch } from '../bounded-fetch.ts';
import { Refusal } from '../refusal.ts';
import { members, parseStrictJson } from '../strict-json.ts';

/** The limits for fetching the issuer's key set and using it. Units: ms and bytes. */
export const jwksLimits = {
  timeoutMs: 2_000,
  /** From this age on a use of the set also starts the fetch of the next one, without waiting for it. */
  aheadMs: 9 * 60_000,
  /**
   * From this age on a request waits for the next set, so that a withdrawn key ends. For `cooldownMs` after a failed
   * fetch it does not wait, and uses the old set.
   */
  freshMs: 10 * 60_000,
  /** How long the last good set is used while refreshes fail. */
  staleMs: 60 * 60_000,
  /**
   * No refetch for an unknown key id in this time after an answer of the issuer, and no wait for the next set in this
   * time after a failed fetch while the last good one is in force.
   */
  cooldownMs: 30_000,
  /** Pause after a failed fetch, so that an outage of the issuer does not cause a flood of requests. */
  retryMs: 1_000,
  maxBytes: 256 * 1024,
  maxKeys: 64,
} as const;

type KeySet = ReadonlyMap<string, CryptoKey>;

export interface JwksOptions {
  uri: string;
  clock: Clock;
  logger: Logger;
  onRefresh?: (result: 'success' | 'failure') => void;
}

/**
 * The issuer's signing keys, by key id.
 * Guarantees: one fetch at a time; no redirect followed; a set without any usable key never replaces a good one.
 * Errors of `find`, when the set in force lacks the key: Refusal `issuer_keys_unavailable` when the last fetch failed,
 * because a later one may have the key; `invalid_token` when the issuer answered it, also without a usable key.
 */
export class Jwks {
  readonly #options: JwksOptions;
  readonly #fetch: typeof fetch;
  #keys: KeySet | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  /** When the issuer last answered, with or without usable keys. */
  #answeredAt = Number.NEGATIVE_INFINITY;
  /** Whether the issuer answered the last fetch. */
  #answered = false;
  /** When the last fetch ended that gave no usable key. */
  #failedAt = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | undefined;

  constructor(options: JwksOptions) {
    this.#options = options;
    this.#fetch = boundedFetch({
      clock: options.clock,
      timeoutMs: jwksLimits.timeoutMs,
      maxBytes: jwksLimits.maxBytes,
    });
  }

  /** Age of the set in force in ms; null without one. */
  get ageMs(): number | null {
    return this.#keys ? this.#now() - this.#fetchedAt : null;
  }

  async find(kid: string): Promise<CryptoKey> {
    const age = this.ageMs ?? Infinity;
    const hasFailed = this.#now() - this.#failedAt < jwksLimits.cooldownMs;
    if (age >= jwksLimits.staleMs || (age >= jwksLimits.freshMs && !hasFailed)) await this.#refresh();
    else if (age >= jwksLimits.aheadMs) void this.#refresh();
    const known = this.#inForce?.get(kid);
    if (known) return known;
    if (this.#refreshing || this.#now() - this.#answeredAt >= jwksLimits.cooldownMs) await this.#refresh();
    const found = this.#inForce?.get(kid);
    if (found) return found;
    if (!this.#answered) {
      throw new Refusal(
        'issuer_keys_unavailable',
        'jwks_unavailable',
        'the keys of the identity issuer cannot be had',
        {
          retryAfterSeconds: 1,
        },
      );
    }
    throw new Refusal('invalid_token', 'unknown_key', 'the identity token is missing or not valid');
  }

  get #inForce(): KeySet | undefined {
    return this.#now() - this.#fetchedAt < jwksLimits.staleMs ? this.#keys : undefined;
  }

  /** Never rejects: after a failure the old set stays in force, if there is one. */
  #refresh(): Promise<void> {
    if (this.#refreshing) return this.#refreshing;
    if (this.#now() - this.#failedAt < jwksLimits.retryMs) return Promise.resolve();
    this.#refreshing = this.#load().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  async #load(): Promise<void> {
    this.#answered = false;
    try {
      const keys = await fetchKeys(this.#fetch, this.#options.uri);
      this.#answered = true;
      this.#answeredAt = this.#now();
      if (keys.size === 0) throw new OperatorError('ERR_INPUT_INVALID', 'key set without a usable RS256 key');
      this.#keys = keys;
      this.#fetchedAt = this.#now();
      this.#options.onRefresh?.('success');
    } catch (error) {
      this.#failedAt = this.#now();
      this.#options.logger.warn('issuer keys not refreshed', { error: errorText(error) });
      this.#options.onRefresh?.('failure');
    }
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }
}

async function fetchKeys(fetcher: typeof fetch, uri: string): Promise<KeySet> {
  const response = await fetcher(uri, { headers: { accept: 'application/json, application/jwk-set+json' } });
  if (response.status !== 200 || !response.headers.has('content-type')) {
    throw new OperatorError('ERR_INPUT_INVALID', `answered ${response.status}, or not with JSON`);
  }
  const list = members(parseStrictJson(new Uint8Array(await response.arrayBuffer()))).get('keys');
  if (!Array.isArray(list) || list.length > jwksLimits.maxKeys) {
    throw new OperatorError('ERR_INPUT_INVALID', `keys must be a list of at most ${jwksLimits.maxKeys}`);
  }
  const keys = new Map<string, CryptoKey>();
  const repeated = new Set<string>();
  for (const jwk of list as unknown[]) {
    const usable = usableRsaKey(jwk);
    if (!usable) continue;
    if (keys.has(usable.kid)) repeated.add(usable.kid);
    // Only n and e are passed on: no other member of the document can change the imported key.
    const key = await importJWK({ kty: 'RSA', n: usable.n, e: usable.e, alg: 'RS256' }, 'RS256').catch(() => null);
    if (key && !(key instanceof Uint8Array)) keys.set(usable.kid, key);
  }
  for (const kid of repeated) keys.delete(kid);
  return keys;
}

/** A public RSA signature key of 2048 to 8192 bits with an odd exponent above 2^16, or null. */
function usableRsaKey(jwk: unknown): { kid: string; n: string; e: string } | null {
  if (typeof jwk !== 'object' || jwk === null) return null;
  const { kty, kid, n, e, use, alg, key_ops: operations, d } = jwk as Record<string, unknown>;
  if (kty !== 'RSA' || d !== undefined) return null;
  if (typeof kid !== 'string' || kid === '' || kid.length > 256) return null;
  if (use !== undefined && use !== 'sig') return null;
  if (alg !== undefined && alg !== 'RS256') return null;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return null;
  if (typeof n !== 'string' || typeof e !== 'string' || !isBase64Url(n) || !isBase64Url(e)) return null;
  const modulus = unsigned(n);
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  const exponent = unsigned(e);
  if (bits < 2048 || bits > 8192 || exponent.length < 3 || exponent.length > 4) return null;
  return (exponent.at(-1)! & 1) === 1 ? { kid, n, e } : null;
}

/** The bytes of a number, without the zeros that some libraries put in front. */
function unsigned(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? Buffer.alloc(0) : bytes.subarray(first);
}

function isBase64Url(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,2048}$/.test(text);
}
