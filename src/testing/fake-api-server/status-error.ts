import type { ResourceRef } from '../../api/meta.ts';

/** A failure in the words of a real API server. The fake server sends it as a `Status`. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: Record<string, unknown>;

  constructor(code: number, reason: string, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  /** The body of the answer, and the object of an ERROR frame. */
  toStatus(): Record<string, unknown> {
    return {
      apiVersion: 'v1',
      kind: 'Status',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      details: this.details,
      code: this.code,
    };
  }
}

/** 410: the version is too old to watch from. */
export const expired = (message = 'The resourceVersion for the provided watch is too old.'): StatusError =>
  new StatusError(410, 'Expired', message);
/** 404: `what` does not exist. */
export const notFound = (what: string): StatusError => new StatusError(404, 'NotFound', `${what} not found`);
/** 409: another client has changed `what` since it was read. */
export const conflict = (what: string): StatusError =>
  new StatusError(409, 'Conflict', `Operation cannot be fulfilled on ${what}: the object has been modified`);
/** 429: the server is busy. It asks to wait for `retryAfterSeconds`, if given. */
export const busy = (retryAfterSeconds?: number): StatusError =>
  new StatusError(
    429,
    'TooManyRequests',
    'storage is (re)initializing',
    retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
  );

/** 422: an update of this kind must name the version that it replaces. */
export const versionMissing = (resource: ResourceRef, name: string): StatusError =>
  new StatusError(
    422,
    'Invalid',
    `${resource.plural}.${resource.group} "${name}" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
  );

/** 504: the requested version is newer than the server's. A real server first waits three seconds for it. */
export const tooLargeVersion = (asked: string, current: number): StatusError =>
  new StatusError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    retryAfterSeconds: 1,
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
  });
