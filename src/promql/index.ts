/**
 * PromQL: lexer, parser, printer, and a vectorised engine over one small interface (`SeriesSource`). Pure: no I/O, no
 * clock, no environment. Prometheus 3.x semantics, native histograms included.
 *
 * For: answering queries over any series that can be handed over as typed arrays, on a server or in a test.
 * Not for: storage, HTTP, JSON. Those are the caller's.
 *
 * ```ts
 * const engine = new Engine({ monotonic: () => performance.now() });
 * const source: SeriesSource = { select: ({ matchers, mint, maxt }) => store.read(matchers, mint, maxt) };
 * const { value, warnings, infos } = await engine.range('sum(rate(x_total[5m]))', start, end, 60_000, { source });
 * ```
 *
 * The stages of an evaluation: parse (typed tree) ▸ resolve (durations, `@ start()`) ▸ request the series of every
 * selector from the source ▸ evaluate the tree bottom-up, each expression for all steps at a time ▸ sort, annotate.
 */
export type { QueryOptions } from './query-options.ts';
export type * from './types.ts';
export type { FloatHistogram, CounterResetHint } from './histogram/float-histogram.ts';
export { queryLimits } from './limits.ts';
export { judgeMetric, metricSamples, type MetricFault } from './plan/metric-expression.ts';
export { takeMemory, tooManySamples, tooManySeries } from './eval/budget.ts';
export { QueryError, ParseError } from './errors.ts';
export { parse, parseSelector } from './parser/parser.ts';
export { TextLimits } from './parser/text-limits.ts';
export { bucketQuantile } from './eval/functions/classic-histogram.ts';
export { print, printInOrder, printMatcher } from './parser/printer.ts';
export { selectorsOf, withMatchers } from './parser/with-matchers.ts';
export { typeOf, type Expr } from './parser/ast.ts';
export { functionTable } from './parser/functions.ts';
export { compileMatcher, matchesAll, type CompiledMatcher } from './matching/matcher.ts';
export { Engine } from './engine.ts';
export type { QueryRead } from './eval/select/reads.ts';
export { addHistograms, compactHistogram, emptyHistogram, scaleHistogram } from './histogram/arithmetic.ts';
export { detectReset } from './histogram/reset.ts';
export { allBuckets as histogramBuckets } from './histogram/buckets.ts';
export { compareLabels, labelsKey, sortedLabels } from './labels.ts';
export { parseDurationLiteral } from './parser/durations.ts';
export { unquote, quote, isPlainLabelName } from './parser/strings.ts';
export { almostEqual } from './numbers.ts';
export { labelsText } from './labels.ts';
export { childrenOf } from './parser/ast.ts';
export { atModifierUnsafeFunctions } from './parser/functions.ts';
export { formatFloatPlain } from './parser/printer.ts';
export { metricName, labelValue } from './labels.ts';
export { planQuery } from './plan/plan.ts';
export { explain } from './plan/explain.ts';
export { evaluateFragment } from './plan/evaluate-fragment.ts';
export { packedSums, type PackedAnswer } from './eval/run/packed-sums.ts';
export { unpackedLabels, type PackedSums } from './plan/packed-rows.ts';
export { PartialMerge } from './plan/merge-partials.ts';
export type { Distribution, FragmentRequest, FragmentResult, FragmentSettings, Steps } from './plan/fragment.ts';
export {
  decodePartialRequest,
  encodePartialRequest,
  engineVersion,
  partialPath,
  planHash,
  UnsupportedRequest,
  type PartialRequest,
  type ReceivedRequest,
} from './partial/request.ts';
export { encodePartial, partialContentType } from './partial/encode.ts';
export { PartialDecoder } from './partial/decode.ts';
export { LabelPool } from './partial/label-pool.ts';
export type { PartialHeader, PartialStats } from './partial/answer.ts';
export { fragmentDemands, type FragmentDemands } from './plan/fragment-demands.ts';
export { warmUp } from './warm-up/warm-up.ts';
export { fromSpans } from './histogram/from-spans.ts';
export {
  decodeIndexRequest,
  encodeIndexRequest,
  indexPath,
  maxIndexLimit,
  type IndexRequest,
} from './label-index/request.ts';
export { maxSetMatchers } from './partial/matcher-sets.ts';
export { indexContentType, type IndexHeader, type IndexLists } from './label-index/answer.ts';
export { encodeIndexAnswer } from './label-index/encode.ts';
export { IndexDecoder } from './label-index/decode.ts';
export { PooledSeries, SeriesPool, type LabelList } from './label-index/series-pool.ts';
