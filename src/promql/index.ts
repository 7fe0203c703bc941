/**
 * PromQL: lexer, parser, printer, and a vectorised engine over one small interface (`SeriesSource`). Pure: no I/O, no
 * clock, no environment. Prometheus 3.x semantics.
 */
export type * from './types.ts';
export type { FloatHistogram, Buckets, CounterResetHint } from './histogram/float-histogram.ts';
export { QueryError, ParseError, lineColumn, type QueryErrorType, type Position } from './errors.ts';
export { parse, parseSelector } from './parser/parser.ts';
export { print } from './parser/printer.ts';
export { typeOf, type Expr, type ValueType } from './parser/ast.ts';
export { functionTable, type FunctionSignature } from './parser/functions.ts';
export { compileMatcher, matches, matchesAll, type CompiledMatcher } from './matching/matcher.ts';
