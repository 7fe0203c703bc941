/**
 * One base class for every error that crosses a module boundary. Callers switch on `code`, never on the message. The
 * codes of all parts are in one table; docs/reference/errors.md has a row for each (a test compares the two).
 */

/** Whether an error can be retried: never, later, or only after an input has changed. */
export type Retry = 'no' | 'later' | 'after-change';

/** Every code, with its meaning and whether a retry can help. A retired code is never reused. */
export const errorCodes = {
  ERR_CONFIG_INVALID: {
    retry: 'after-change',
    meaning: 'A setting, flag or environment variable is wrong; the message names it.',
  },
  ERR_INPUT_INVALID: {
    retry: 'after-change',
    meaning: 'An input from outside (file, body, message) breaks its format; the message names the field.',
  },
  ERR_LISTEN: {
    retry: 'after-change',
    meaning: 'A port could not be bound; the message is `<listener> listen <address>:<port>: <reason>`.',
  },
  ERR_TLS_MATERIAL: {
    retry: 'after-change',
    meaning: 'A certificate, key or CA bundle could not be read or does not fit together.',
  },
  ERR_PEER_IDENTITY: {
    retry: 'later',
    meaning: 'The certificate at an address is that of another peer than the one that was asked; nothing was sent.',
  },
  ERR_TIMEOUT: { retry: 'later', meaning: 'A call did not finish before its deadline.' },
  ERR_TOO_LARGE: { retry: 'no', meaning: 'A body or answer exceeded its size cap.' },
  ERR_ABORTED: { retry: 'no', meaning: 'The work was cancelled, usually by shutdown.' },
  ERR_API_REQUEST: { retry: 'later', meaning: 'The API server answered with an error that has no code of its own.' },
  ERR_API_NOT_FOUND: { retry: 'after-change', meaning: 'The object does not exist (404).' },
  ERR_API_CONFLICT: { retry: 'later', meaning: 'The object changed since it was read (409).' },
  ERR_API_FORBIDDEN: { retry: 'after-change', meaning: 'RBAC forbids the request (403).' },
  ERR_API_INVALID: { retry: 'after-change', meaning: 'The API server refused the object (422 or 400).' },
  ERR_APPLY_CONFLICT: {
    retry: 'after-change',
    meaning: 'Another field manager owns a field we apply; the message names it.',
  },
  ERR_WATCH_EXPIRED: { retry: 'later', meaning: 'The resource version is too old (410): list again.' },
  ERR_WATCH_BROKEN: {
    retry: 'later',
    meaning: 'A watch stream was cut, silent too long, or carried a frame that is not JSON.',
  },
  ERR_CACHE_SYNC: {
    retry: 'later',
    meaning: 'A source did not fill in time, or has been silent too long; it is named.',
  },
  ERR_LEASE_LOST: { retry: 'no', meaning: 'Leadership was lost: the process stops working at once and exits.' },
  ERR_FINALIZER: {
    retry: 'later',
    meaning: 'A clean-up before deletion failed; the finalizer stays until it succeeds.',
  },
  ERR_TERMINAL: { retry: 'after-change', meaning: 'A reconcile failed in a way that only a new generation can mend.' },
  ERR_REQUEUE: { retry: 'later', meaning: 'A reconcile asked to run again after a delay.' },
  ERR_CAPTURE_INVALID: {
    retry: 'after-change',
    meaning: 'A capture setting cannot be expressed safely in the instrument configuration.',
  },
  ERR_CAPTURE_PUSH: { retry: 'later', meaning: 'An agent did not take a capture config.' },
  ERR_EXPORT_NOT_ALLOWED: {
    retry: 'after-change',
    meaning: 'A destination is in no allow list, or its name leads to a loopback, link-local or metadata address.',
  },
  ERR_EXPORT_SEND: { retry: 'later', meaning: 'A destination did not take what was sent; the message says why.' },
  ERR_STORE_CORRUPT: { retry: 'no', meaning: 'A store file failed its checksum or format check.' },
  ERR_STORE_FORMAT: { retry: 'after-change', meaning: 'A later version wrote the store; this one leaves it as it is.' },
  ERR_STORE_LOCKED: { retry: 'later', meaning: 'Another process holds the store directory.' },
  ERR_STORE_WRITE: { retry: 'later', meaning: 'The store could not write (disk full, I/O error).' },
  ERR_QUERY_PARSE: {
    retry: 'after-change',
    meaning: 'The PromQL text does not parse or type-check; the message carries line:column.',
  },
  ERR_QUERY_EXECUTION: {
    retry: 'after-change',
    meaning: 'The query failed while it was evaluated (422 in the HTTP API).',
  },
  ERR_QUERY_MEMORY: {
    retry: 'later',
    meaning: 'All queries of the process together hold as much memory as they may; the message names both numbers.',
  },
  ERR_SELECTION_LIMIT: {
    retry: 'after-change',
    meaning: 'A selector would take too long on the label values of a store; the message names the label.',
  },
  ERR_QUERY_LIMIT: { retry: 'after-change', meaning: 'The query exceeded a sample, series or memory limit.' },
  ERR_QUERY_TIMEOUT: { retry: 'later', meaning: 'The query ran out of time.' },
  ERR_AGENT_UNREACHABLE: {
    retry: 'later',
    meaning: 'An agent could not be reached or answered with a broken frame; the query is degraded.',
  },
  ERR_MINTER_DENIED: { retry: 'after-change', meaning: 'The minter refused a request by policy.' },
  ERR_MINTER_UPSTREAM: { retry: 'later', meaning: 'The key service or the hosting platform failed.' },
} as const satisfies Record<string, { retry: Retry; meaning: string }>;

/** A code of the error table. Codes may be added, but never change their meaning. */
export type ErrorCode = keyof typeof errorCodes;

/** Retired codes: old logs stay readable because no code ever gets a second meaning. */
export const retiredErrorCodes: readonly string[] = [];

/** The base of every error that this project throws on purpose. `cause` keeps the underlying error. */
export class OperatorError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'OperatorError';
    this.code = code;
  }
}

/** True for an error of ours, with that code if one is given. */
export function isOperatorError(error: unknown, code?: ErrorCode): error is OperatorError {
  return error instanceof OperatorError && (code === undefined || error.code === code);
}

/** Whether the system refused a write because a disk, or a quota on it, is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}

const meansCodes: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EACCES', 'EPERM']);

/** Whether a file could not be read for lack of memory, file descriptors or a right: that says nothing about the file. */
export function isBlameless(error: unknown): boolean {
  if (error instanceof RangeError && error.message.includes('allocation failed')) return true;
  return meansCodes.has((error as { code?: unknown }).code);
}

/** One line with an error and its causes, for logs and conditions. Never includes a stack. */
export function errorText(error: unknown): string {
  const parts: string[] = [];
  for (
    let e: unknown = error;
    e !== undefined && e !== null && parts.length < 5;
    e = e instanceof Error ? e.cause : undefined
  ) {
    const text =
      e instanceof AggregateError
        ? joined(eachError(e).map(errorText))
        : e instanceof Error
          ? e.message || e.name
          : String(e);
    if (!parts.some((p) => p.includes(text))) parts.push(text);
  }
  return parts.join(': ');
}

/** Number of different texts that `joined` shows. */
const maxShown = 5;

/** Joins the texts of several failures: equal texts once, and not more than five. Pure. */
export function joined(texts: readonly string[]): string {
  const different = [...new Set(texts)];
  const more = different.length - maxShown;
  return [...different.slice(0, maxShown), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

/** Throws what went wrong, if anything did: one error as it is, several as an AggregateError. */
export function throwAll(errors: readonly unknown[]): void {
  if (errors.length > 1) throw new AggregateError(errors);
  if (errors.length === 1) throw errors[0];
}

/** The errors that an AggregateError holds, or the error itself. */
export function eachError(error: unknown): readonly unknown[] {
  return error instanceof AggregateError ? error.errors.flatMap(eachError) : [error];
}
