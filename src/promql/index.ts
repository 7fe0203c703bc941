/**
 * PromQL: lexer, parser, printer, and a vectorised engine over one small interface (`SeriesSource`). Pure: no I/O, no
 * clock, no environment. Prometheus 3.x semantics.
 */
export type * from './types.ts';
export type { FloatHistogram, Buckets, CounterResetHint } from './histogram/float-histogram.ts';
export { QueryError, ParseError, lineColumn, type QueryErrorType, type Position } from './errors.ts';
