import type { IncomingMessage } from 'node:http';
import { sha256Hex } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import type { RateLimiter } from '../../base/rate-limit.ts';
import type { AuditRecord } from '../audit.ts';
import { readWhole } from '../../base/wire/http-body.ts';
import { type Deadline, deadlineIn, orTimeout } from '../deadline.ts';
import { verifyIdentity, type VerifyOptions } from '../identity/verify.ts';
import type { MinterMetrics } from '../metrics.ts';
import type { Minter } from '../mint.ts';
import { Refusal } from '../refusal.ts';
import { type Bounds, decide, type RuleSet } from '../rules/rule-set.ts';
import type { TokenTrace } from '../token-trace.ts';
import { parseTokenRequest } from './token-request.ts';

export interface TokenRouteDeps {
  org: string;
  maxRepositories: number;
  keyVersion: string;
  verify: VerifyOptions;
  bounds: Bounds;
  rules: () => RuleSet;
  limiter: RateLimiter;
  minter: Pick<Minter, 'mint'>;
  metrics: MinterMetrics;
  clock: Clock;
}

/** The fields of an audit line that a decision fills in. */
export type AuditFields = Partial<
  Omit<AuditRecord, 'ts' | 'request_id' | 'decision' | 'code' | 'reason' | 'duration_ms'>
>;

export const maxBodyBytes = 64 * 1024;
/** Deadline of the whole request. Known clients give up after five seconds. Units: ms. */
const requestMs = 4_000;

/**
 * Decides one `POST /token`. The order of the checks is part of the contract: the first failing check decides the
 * answer, and only the last step signs and calls the platform.
 * Result: the token. Errors: Refusal; anything else is a bug of ours.
 */
export async function decideToken(
  req: IncomingMessage,
  deps: TokenRouteDeps,
  audit: AuditFields,
  spans: TokenTrace,
): Promise<string> {
  const deadline = deadlineIn(deps.clock, requestMs);
  checkContentType(req);
  if (Number(req.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge(maxBodyBytes);
  const caller = await spans.step('verify identity', () => verifyIdentity(oidcHeader(req), deps.verify));
  audit.iss = caller.iss;
  audit.sub = caller.sub;
  audit.email = caller.email;
  const body = await spans.step('read body', () => readBody(req, maxBodyBytes, deps.clock, deadline));
  const request = parseTokenRequest(body, deps);
  audit.org = request.org;
  audit.repositories = request.repositories;
  audit.scope = request.scope;
  if (request.org !== deps.org) {
    throw new Refusal('org_denied', 'org_other', `this service does not serve organisation "${request.org}"`);
  }
  const rules = deps.rules();
  audit.rules_hash = rules.hash;
  const decision = decide(rules, request, caller.claims, deps.bounds);
  audit.rule_file = decision.ruleFiles.join(',');
  audit.permissions = Object.fromEntries(decision.permissions);
  takeFromBucket(deps, caller.email ?? `sub ${caller.sub}`);
  const wanted = { repositories: request.repositories, permissions: decision.permissions };
  return exchange(deps, wanted, deadline, audit, spans);
}

async function exchange(
  deps: TokenRouteDeps,
  request: Parameters<Minter['mint']>[0],
  deadline: Deadline,
  audit: AuditFields,
  spans: TokenTrace,
): Promise<string> {
  const trace: Parameters<Minter['mint']>[2] = {};
  audit.key_version = deps.keyVersion;
  try {
    const grant = await deps.minter.mint(request, deadline, trace, spans);
    audit.token_sha256 = sha256Hex(grant.token);
    audit.expires_at = grant.expiresAt;
    return grant.token;
  } finally {
    Object.assign(audit, trace);
  }
}

function takeFromBucket(deps: TokenRouteDeps, caller: string): void {
  const wait = deps.limiter.take(caller);
  if (wait === null) return;
  deps.metrics.rateLimited.inc();
  throw new Refusal('rate_limited', 'rate_limited', 'too many tokens for this caller', { retryAfterSeconds: wait });
}

/** Node.js keeps the first of two Content-Type headers; two of them are ambiguous, so they are refused. */
function checkContentType(req: IncomingMessage): void {
  const types = req.headersDistinct['content-type'] ?? [];
  const json = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?[ \t]*$/i;
  if (types.length !== 1 || !json.test(types[0]!) || req.headers['content-encoding'] !== undefined) {
    throw new Refusal(
      'unsupported_media_type',
      'content_type',
      'the body must be application/json in UTF-8, not encoded',
    );
  }
}

function oidcHeader(req: IncomingMessage): string | undefined {
  const value = req.headers['x-oidc-token'];
  return typeof value === 'string' ? value : undefined;
}

/**
 * Reads the whole body, at most `maxBytes`, before the deadline.
 * Errors: Refusal `payload_too_large` or `request_timeout`; `invalid_request` when the client disconnects.
 */
function readBody(req: IncomingMessage, maxBytes: number, clock: Clock, deadline: Deadline): Promise<Buffer> {
  const late = (): Refusal => new Refusal('request_timeout', 'slow_body', 'the body did not arrive in time');
  const body = readWhole(req.iterator({ destroyOnReturn: false }), maxBytes, () => tooLarge(maxBytes));
  return orTimeout(clock, deadline, body, late).catch((cause: unknown) => {
    throw cause instanceof Refusal
      ? cause
      : new Refusal('invalid_request', 'aborted', 'the body ended too early', { cause });
  });
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('payload_too_large', 'body_size', `the body is larger than ${maxBytes} bytes`);
}
