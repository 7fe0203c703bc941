import { OperatorError } from '../base/errors.ts';

/** Every `error` word of an answer and its status. Clients switch on the word. */
export const answerStatus = {
  invalid_request: 400,
  invalid_token: 401,
  org_denied: 403,
  scope_denied: 403,
  repository_denied: 403,
  permission_denied: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal_error: 500,
  installation_error: 502,
  exchange_error: 502,
  grant_mismatch: 502,
  issuer_keys_unavailable: 503,
  signer_unavailable: 503,
  platform_rate_limited: 503,
  not_ready: 503,
} as const satisfies Record<string, number>;

export type AnswerCode = keyof typeof answerStatus;

/**
 * Why a request gets no token. `message` goes to the caller: it may repeat names that the caller sent and that passed
 * validation, and never reveals allowed identities, the key, the App, a file or an upstream's message. `reason` is for
 * the audit line and the denial counter: a fixed word, more exact than the code.
 */
export class Refusal extends OperatorError {
  readonly answer: AnswerCode;
  readonly reason: string;
  /** Seconds after which a retry can help, if known. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    answer: AnswerCode,
    reason: string,
    message: string,
    options: { retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(answerStatus[answer] >= 500 ? 'ERR_MINTER_UPSTREAM' : 'ERR_MINTER_DENIED', message, { cause: options.cause });
    this.name = 'Refusal';
    this.answer = answer;
    this.reason = reason;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): number {
    return answerStatus[this.answer];
  }
}
