import { errorText, isOperatorError } from '../../base/errors.ts';
import type { RefusalForm } from '../../net/http/index.ts';
import { QueryError } from '../../promql/index.ts';

export type ApiErrorType =
  | 'bad_data'
  | 'execution'
  | 'timeout'
  | 'canceled'
  | 'internal'
  | 'unavailable'
  | 'too_many_requests'
  | 'not_found'
  | 'unauthorized'
  | 'forbidden';

/** HTTP status of each error type. Source: Prometheus web/api/v1; `unavailable` is our own and maps to 503. */
const statusOf: Record<ApiErrorType, number> = {
  bad_data: 400,
  execution: 422,
  timeout: 503,
  canceled: 499,
  internal: 500,
  unavailable: 503,
  too_many_requests: 429,
  not_found: 404,
  unauthorized: 401,
  forbidden: 403,
};

/** An error that is answered in the form of Prometheus' API: JSON with `status`, `errorType` and `error`. */
export class ApiError extends Error {
  readonly errorType: ApiErrorType;

  constructor(errorType: ApiErrorType, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ApiError';
    this.errorType = errorType;
  }

  get status(): number {
    return statusOf[this.errorType];
  }
}

/** 400 with Prometheus' text for an invalid parameter. */
export function invalidParameter(name: string, message: string): ApiError {
  return new ApiError('bad_data', `invalid parameter "${name}": ${message}`);
}

/**
 * Turns an error of the engine, or any other, into an ApiError; a query that does not parse is reported as an error of
 * parameter `name`.
 */
export function toApiError(error: unknown, name = 'query'): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof QueryError) {
    if (error.errorType === 'bad_data') return invalidParameter(name, error.message);
    return new ApiError(error.errorType, error.message, { cause: error });
  }
  if (isOperatorError(error, 'ERR_QUERY_MEMORY')) return new ApiError('unavailable', error.message, { cause: error });
  if (isOperatorError(error, 'ERR_SELECTION_LIMIT')) return new ApiError('execution', error.message, { cause: error });
  return new ApiError('internal', errorText(error), { cause: error });
}

/** The JSON of an ApiError, for a request that the HTTP server refuses before a handler sees it. */
export const refusalForm: RefusalForm = ({ status, message }) => ({
  type: 'application/json',
  body: JSON.stringify({ status: 'error', errorType: refusalTypes[status] ?? 'bad_data', error: message }),
});

const refusalTypes: Readonly<Record<number, ApiErrorType>> = { 408: 'timeout', 500: 'internal', 503: 'unavailable' };
