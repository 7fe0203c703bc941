/**
 * What `svc-operator/promql` exports: parser, printer and engine, and the plan of a query over several nodes.
 * The list of every name is in `surface/promql.txt`. The wire formats between our own programs are not exported.
 */
export type * from '../promql/types.ts';
export type { QueryOptions } from '../promql/query-options.ts';
export type { Buckets, CounterResetHint, FloatHistogram } from '../promql/histogram/float-histogram.ts';
export { Engine } from '../promql/engine.ts';
export { lineColumn, ParseError, QueryError, type Position, type QueryErrorType } from '../promql/errors.ts';

export { parse, parseSelector } from '../promql/parser/parser.ts';
export { print } from '../promql/parser/printer.ts';
export { withMatchers } from '../promql/parser/with-matchers.ts';
export { childrenOf, typeOf } from '../promql/parser/ast.ts';
export type * from '../promql/parser/ast.ts';
export { functionTable, type FunctionSignature, type ValueType } from '../promql/parser/functions.ts';
export { formatDurationLiteral, parseDurationLiteral } from '../promql/parser/durations.ts';
export { isPlainLabelName, quote, unquote } from '../promql/parser/strings.ts';

export { compileMatcher, matches, matchesAll, type CompiledMatcher } from '../promql/matching/matcher.ts';
export {
  compareLabels,
  compareStrings,
  labelsKey,
  labelsText,
  labelValue,
  metricName,
  sortedLabels,
} from '../promql/labels.ts';

export { planQuery, type Fragment, type PlanNode, type PlanOptions, type QueryPlan } from '../promql/plan/plan.ts';
export { explain } from '../promql/plan/explain.ts';
export { evaluateFragment, type FragmentOptions } from '../promql/plan/evaluate-fragment.ts';
export { mergePartials } from '../promql/plan/merge-partials.ts';
export type * from '../promql/plan/fragment.ts';

export type { Memory } from '../base/memory-pool.ts';
export type { TurnTaking } from '../base/turns/turns.ts';
export type { TextLimits } from '../promql/parser/text-limits.ts';
export type { Kind, PortableAnnotation } from '../promql/annotations.ts';
export type { ForcedMonotonicity } from '../promql/partial/partial.pb.ts';
export type { GroupRow } from '../promql/eval/aggregate/group-rows.ts';
export type { Column } from '../promql/eval/columns.ts';
export type { EvalSettings } from '../promql/eval/context.ts';
export type { QuerySpan } from '../promql/eval/resolve.ts';
export type { QueryRead } from '../promql/eval/select/reads.ts';
export type { SpecialCounts, SumState } from '../promql/exact/exact-sums.ts';
export type { Shortage } from '../base/memory-pool.ts';
