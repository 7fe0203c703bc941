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

/**
 * `line:col` of offsets into a text, both from 1; columns count bytes of UTF-8 as Prometheus does. The lines are found
 * once for all offsets.
 */
export function lineColumns(text: string): (offset: number) => string {
  const starts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return (offset) => {
    let [line, after] = [0, starts.length];
    while (after - line > 1) {
      const middle = (line + after) >> 1;
      if (starts[middle]! <= offset) line = middle;
      else after = middle;
    }
    return `${line + 1}:${Buffer.byteLength(text.slice(starts[line], offset)) + 1}`;
  };
}

/** `line:col` of one offset, as of `lineColumns`. */
export function lineColumn(text: string, offset: number): string {
  return lineColumns(text)(offset);
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
