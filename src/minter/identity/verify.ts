import { jwtVerify, errors as jose } from 'jose';
import type { Clock } from '../../base/clock.ts';
import { isOperatorError } from '../../base/errors.ts';
import { Refusal } from '../refusal.ts';
import { members, parseStrictJson } from '../strict-json.ts';
import type { Claims } from '../rules/evaluate.ts';
import { claimNames, type ClaimName } from '../rules/expression-parser.ts';
import type { Jwks } from './jwks.ts';

export interface VerifyOptions {
  issuer: string;
  audiences: readonly string[];
  keys: Pick<Jwks, 'find'>;
  clock: Clock;
}

/** A caller whose token was verified. `email` is set only when the issuer has verified it. */
export interface Caller {
  iss: string;
  sub: string;
  email: string | undefined;
  /** The claims that rules may use. */
  claims: Claims;
}

const maxTokenLength = 8 * 1024;
const skewSeconds = 5;
const maxLifeSeconds = 3_600;
/** Header members that contain a key, or change what the signature covers. */
const refusedHeaders = ['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c', 'zip', 'enc', 'cty'];

/**
 * Verifies an identity token: shape, header, issuer, signature, audience, times, claim types, in this order. The issuer
 * is compared before any request is sent, so no token can choose where keys are fetched from.
 * Errors: Refusal `invalid_token` whose message never says which check failed (the audit line has the reason), or
 * `issuer_keys_unavailable`.
 */
export async function verifyIdentity(raw: string | undefined, options: VerifyOptions): Promise<Caller> {
  if (raw === undefined || raw === '') throw invalid('header_missing');
  if (raw.length > maxTokenLength || !/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/.test(raw)) {
    throw invalid('header_shape');
  }
  const [headerPart, payloadPart, signaturePart] = raw.split('.') as [string, string, string];
  const kid = checkHeader(decode(headerPart, 'header_shape'));
  const payload = decode(payloadPart, 'payload_shape');
  if (!isCanonical(signaturePart)) throw invalid('signature_shape');
  if (payload.get('iss') !== options.issuer) throw invalid('issuer');
  const key = await options.keys.find(kid);
  const { clock } = options;
  try {
    await jwtVerify(raw, key, {
      algorithms: ['RS256'],
      issuer: options.issuer,
      audience: [...options.audiences],
      requiredClaims: ['iss', 'sub', 'aud', 'iat', 'exp'],
      clockTolerance: skewSeconds,
      maxTokenAge: '1h',
      currentDate: new Date(clock.now()),
    });
  } catch (error) {
    throw invalid(joseReason(error));
  }
  return checkClaims(payload, options);
}

function checkHeader(header: Map<string, unknown>): string {
  if (header.get('alg') !== 'RS256') throw invalid('algorithm');
  if (header.has('typ') && header.get('typ') !== 'JWT') throw invalid('header_type');
  if (refusedHeaders.some((name) => header.has(name))) throw invalid('header_member');
  const kid = header.get('kid');
  if (typeof kid !== 'string' || kid === '' || kid.length > 256) throw invalid('key_id');
  return kid;
}

/** The checks that jose does not make: number forms, life span, audience lists, claim types. */
function checkClaims(payload: Map<string, unknown>, options: VerifyOptions): Caller {
  const iat = wholeSeconds(payload, 'iat');
  const exp = wholeSeconds(payload, 'exp');
  if (payload.has('nbf')) wholeSeconds(payload, 'nbf');
  if (exp - iat > maxLifeSeconds + skewSeconds || exp <= iat) throw invalid('life_span');
  const aud = payload.get('aud');
  const audience: unknown = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud;
  if (typeof audience !== 'string' || !options.audiences.includes(audience)) throw invalid('audience');
  const sub = payload.get('sub');
  if (typeof sub !== 'string' || sub === '' || sub.length > 255) throw invalid('subject');
  const email = verifiedEmail(payload);
  const claims = new Map<ClaimName, string>();
  for (const name of claimNames) {
    const value = payload.get(name);
    if (typeof value === 'string' && !name.startsWith('parsed_')) claims.set(name, value);
  }
  claims.set('aud', audience);
  claims.delete('email');
  if (email !== undefined) claims.set('email', email);
  return { iss: options.issuer, sub, email, claims };
}

function verifiedEmail(payload: Map<string, unknown>): string | undefined {
  const email = payload.get('email');
  const verified = payload.get('email_verified');
  if (email !== undefined && (typeof email !== 'string' || email.length > 320)) throw invalid('email_type');
  if (verified !== undefined && typeof verified !== 'boolean') throw invalid('email_type');
  return verified === true && email !== '' ? email : undefined;
}

function wholeSeconds(payload: Map<string, unknown>, name: string): number {
  const value = payload.get(name);
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw invalid('times');
  return value;
}

function decode(part: string, reason: string): Map<string, unknown> {
  if (!isCanonical(part)) throw invalid(reason);
  try {
    return members(parseStrictJson(Buffer.from(part, 'base64url')));
  } catch (error) {
    if (isOperatorError(error)) throw invalid(reason);
    throw error;
  }
}

/**
 * Several base64url texts decode to the same bytes if the last character has spare bits: only one of them is accepted.
 */
function isCanonical(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part;
}

function joseReason(error: unknown): string {
  if (error instanceof jose.JWTExpired) return 'expired';
  if (error instanceof jose.JWTClaimValidationFailed) return error.claim === 'aud' ? 'audience' : 'times';
  if (error instanceof jose.JWSSignatureVerificationFailed) return 'signature';
  return 'malformed';
}

function invalid(reason: string): Refusal {
  return new Refusal('invalid_token', reason, 'the identity token is missing or not valid');
}
