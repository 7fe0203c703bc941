import { isObject } from '../base/text/texts.ts';
import { OperatorError, type ErrorCode } from '../base/errors.ts';

/** The API server's details of a failed request: the fields of a `Status` object that callers act on. */
export interface ApiFailure {
  /** HTTP status, or the `code` of an ERROR frame. */
  status: number;
  /** CamelCase word such as `NotFound`, `Expired`, `Conflict`; empty when the answer was not a `Status`. */
  reason: string;
  /** The delay that the server asks for, at most five minutes. Units: ms. Undefined when it asks for none. */
  retryAfterMs?: number | undefined;
  causes?: readonly { reason?: string; message?: string; field?: string }[] | undefined;
}

/** An answer of the API server that is not a success. */
export class ApiError extends OperatorError {
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  readonly causes: readonly { reason?: string; message?: string; field?: string }[];

  constructor(code: ErrorCode, message: string, failure: ApiFailure, options?: { cause?: unknown }) {
    super(code, message, options);
    this.name = 'ApiError';
    this.status = failure.status;
    this.reason = failure.reason;
    this.retryAfterMs = failure.retryAfterMs;
    this.causes = failure.causes ?? [];
  }
}

/** One field that another manager owns, from a 409 on apply. */
export interface FieldConflict {
  manager: string;
  field: string;
}

/**
 * Turns a failed answer into an error. `body` is the parsed `Status`, or the text of any other answer.
 * Source: apimachinery `Status`; 429 and 5xx may carry `details.retryAfterSeconds` as well as the header.
 */
export function apiError(
  what: string,
  status: number,
  body: unknown,
  retryAfterHeader?: string | undefined,
  now = 0,
): ApiError {
  const text = typeof body === 'string' ? body : '';
  const parsed = isObject(body) ? body : {};
  const details = isObject(parsed['details']) ? parsed['details'] : {};
  const reason = typeof parsed['reason'] === 'string' ? parsed['reason'] : '';
  const message = typeof parsed['message'] === 'string' ? parsed['message'] : text.slice(0, 512).trim();
  const failure: ApiFailure = {
    status,
    reason,
    retryAfterMs: retryAfter(retryAfterHeader, details['retryAfterSeconds'], now),
    causes: Array.isArray(details['causes']) ? (details['causes'] as ApiFailure['causes'] & object) : undefined,
  };
  return new ApiError(codeOf(status, failure), `${what}: ${status} ${message || reason || 'no reason given'}`, failure);
}

function codeOf(status: number, failure: ApiFailure): ErrorCode {
  switch (status) {
    case 404:
      return 'ERR_API_NOT_FOUND';
    case 409:
      return failure.causes?.some((c) => c.reason === 'FieldManagerConflict')
        ? 'ERR_APPLY_CONFLICT'
        : 'ERR_API_CONFLICT';
    case 410:
      return 'ERR_WATCH_EXPIRED';
    case 403:
      return 'ERR_API_FORBIDDEN';
    case 400:
    case 422:
      return 'ERR_API_INVALID';
    default:
      return 'ERR_API_REQUEST';
  }
}

/** The longest delay that a server may ask for: a date is wrong where clocks differ. Units: ms. */
const longestRetryAfterMs = 300_000;

/** Delay from a Retry-After header (seconds or HTTP date, RFC 9110 §10.2.3) or from `details`. Units: ms. */
function retryAfter(header: string | undefined, seconds: unknown, now: number): number | undefined {
  const capped = (ms: number): number => Math.min(Math.max(0, ms), longestRetryAfterMs);
  if (header !== undefined && /^\d+$/.test(header.trim())) return capped(Number(header) * 1000);
  if (header !== undefined) {
    const at = Date.parse(header);
    if (!Number.isNaN(at)) return capped(at - now);
  }
  return typeof seconds === 'number' && seconds > 0 ? capped(seconds * 1000) : undefined;
}

const status = (error: unknown): number | undefined => (error instanceof ApiError ? error.status : undefined);
const reason = (error: unknown): string | undefined => (error instanceof ApiError ? error.reason : undefined);

/** The object, or the kind itself, does not exist. */
export const isNotFound = (error: unknown): boolean => status(error) === 404;
/** The kind does not accept such a request now: its CRD is being removed, and no objects can be created any more. */
export const isMethodNotAllowed = (error: unknown): boolean => status(error) === 405;
/** 409 of any kind: stale resource version, failed precondition, existing name, or a field held by another manager. */
export const isConflict = (error: unknown): boolean => status(error) === 409;
/** A create found the name taken. */
export const isAlreadyExists = (error: unknown): boolean => reason(error) === 'AlreadyExists';
/** The resource version or the continue token is too old. */
export const isGone = (error: unknown): boolean => status(error) === 410;
/** The server asks to retry later, also while its storage starts (KEP-4568). */
export const isTooManyRequests = (error: unknown): boolean => status(error) === 429;
/** Nothing listens at the server's address. */
export function isConnectionRefused(error: unknown): boolean {
  return isObject(error) && (error['code'] === 'ECONNREFUSED' || isConnectionRefused(error['cause']));
}
/** 401: the credentials are missing, wrong or expired. */
export const isUnauthorized = (error: unknown): boolean => status(error) === 401;
/** 403: RBAC, a quota or an admission plugin refuses the request. */
export const isForbidden = (error: unknown): boolean => status(error) === 403;
/**
 * A create that RBAC refuses. The authorizer's message for a create has no object name; an admission plugin's has one.
 * Source: apiserver responsewriters `forbiddenMessage`.
 */
export const lacksRightToCreate = (error: unknown): boolean =>
  error instanceof ApiError &&
  /^create \S+ \S+: 403 \S+ is forbidden: User ".*" cannot create resource "/.test(error.message);
/**
 * A ResourceQuota leaves no room. Only the message identifies the refusal: its reason is that of any other 403. Source:
 * apiserver admission plugin resourcequota.
 */
export const isQuotaExceeded = (error: unknown): boolean =>
  error instanceof ApiError && /\b(exceeded|failed) quota\b/.test(error.message);
/**
 * A webhook or an admission policy refused the request, or could not be reached. Webhooks choose their own status code,
 * so only the message identifies them. Source: apiserver admission plugins webhook, validatingadmissionpolicy and
 * podsecurity.
 */
export const isRefusedByAdmission = (error: unknown): boolean =>
  error instanceof ApiError &&
  /admission webhook "|failed calling webhook|ValidatingAdmissionPolicy '|MutatingAdmissionPolicy '|violates PodSecurity/.test(
    error.message,
  );
/** 422 or 400: the object itself is invalid; a retry without a change cannot help. */
export const isInvalid = (error: unknown): boolean => status(error) === 422 || status(error) === 400;
/** The namespace is being deleted; nothing can be created in it any more. */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof ApiError && error.causes.some((c) => c.reason === 'NamespaceTerminating');
/** The server has not reached the requested resource version yet: list again without a version. */
export const isResourceVersionTooLarge = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.causes.some((c) => c.reason === 'ResourceVersionTooLarge') ||
    /too large resource version/i.test(error.message));

/** The delay that the server asked for, at most five minutes, or 0. Units: ms. */
export function retryAfterMs(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}

/** The managers and fields that an apply conflicted with; empty for any other error. */
export function fieldConflicts(error: unknown): FieldConflict[] {
  if (!(error instanceof ApiError)) return [];
  return error.causes
    .filter((c) => c.reason === 'FieldManagerConflict')
    .map((c) => ({ manager: /conflict with "([^"]*)"/.exec(c.message ?? '')?.[1] ?? 'unknown', field: c.field ?? '' }));
}
