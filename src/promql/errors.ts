import { OperatorError, type ErrorCode } from '../base/errors.ts';

/** The error types of Prometheus' HTTP API with which an evaluation can end. */
export type QueryErrorType = 'bad_data' | 'execution' | 'timeout' | 'canceled' | 'internal';

const codeOf: Record<QueryErrorType, ErrorCode> = {
  bad_data: 'ERR_QUERY_PARSE',
  execution: 'ERR_QUERY_EXECUTION',
  timeout: 'ERR_QUERY_TIMEOUT',
  canceled: 'ERR_ABORTED',
  internal: 'ERR_QUERY_EXECUTION',
};

/** A query that cannot be answered. `errorType` is Prometheus' name of the error type; the message is for the user. */
export class QueryError extends OperatorError {
  readonly errorType: QueryErrorType;

  constructor(errorType: QueryErrorType, message: string, options?: { cause?: unknown; code?: ErrorCode }) {
    super(options?.code ?? codeOf[errorType], message, options);
    this.name = 'QueryError';
    this.errorType = errorType;
  }
}

/** Half-open range of UTF-16 offsets in the query text. */
export interface Position {
  readonly start: number;
  readonly end: number;
}

/** `line:col` of an offset, both from 1; columns count bytes of UTF-8 as Prometheus does. */
export function lineColumn(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  const line = before.split('\n').length;
  return `${line}:${Buffer.byteLength(before.slice(lineStart)) + 1}`;
}

/** The error for a query that does not parse or type-check: `line:col: parse error: reason`. */
export class ParseError extends QueryError {
  readonly position: Position;
  readonly reason: string;

  constructor(text: string, position: Position, reason: string) {
    const where = text === '' ? 'unknown position' : lineColumn(text, position.start);
    super('bad_data', `${where}: parse error: ${reason}`);
    this.name = 'ParseError';
    this.position = position;
    this.reason = reason;
  }
}

/** A failure while evaluating (HTTP 422). */
export function executionError(message: string): QueryError {
  return new QueryError('execution', message);
}
