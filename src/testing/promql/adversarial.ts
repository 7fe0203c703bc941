import type { Matcher } from '../../tsdb/index.ts';

/**
 * Queries made to block a process, to fill its memory, or to starve other queries. They select the series of
 * `adversarialSeries`; the fuzz command makes random variants. Whatever the answers, the process must keep serving.
 */
export interface AdversarialQuestion {
  /** The attack in a few words. */
  readonly name: string;
  /** Default: `query`. */
  readonly path?:
    'query' | 'query_range' | 'series' | 'labels' | 'label/pod/values' | 'parse_query' | 'format_query' | '/federate';
  readonly query?: string;
  readonly match?: readonly string[];
  /** Makes the matchers of each query of a remote read. */
  readonly read?: () => readonly (readonly Matcher[])[];
  /** The range of a range query; it ends now. Units: seconds. */
  readonly range?: { readonly seconds: number; readonly step: number };
  /** The error type that the answer must have. Default: a result, or any error but an internal one. */
  readonly refused?: 'bad_data' | 'execution';
}

/** Stands in a query for a number that is new each time the query is sent, so that no cache has its selection. */
export const newNumber = '<new number>';

/** A gauge with fractions, a counter with resets, and buckets: every pod of every node has all of them. */
export const adversarialSeries = {
  gauge: 'load',
  counter: 'requests_total',
  bucket: 'latency_bucket',
  bounds: ['0.1', '0.5', '1', '5', '+Inf'],
} as const;

const day = { seconds: 86_400, step: 8 } as const;
const hour = { seconds: 3_600, step: 1 } as const;
const chained = (times: number, wrap: (inner: string, i: number) => string, inner: string): string => {
  let text = inner;
  for (let i = 0; i < times; i++) text = wrap(text, i);
  return text;
};
const joined = (times: number, between: string, one: (i: number) => string): string =>
  Array.from({ length: times }, (_, i) => one(i)).join(between);
const quoted = (text: string): string => JSON.stringify(text);

export const adversarialQuestions: readonly AdversarialQuestion[] = [
  // Steps of subqueries.
  {
    name: 'a constant every millisecond of ten days',
    query: 'count_over_time(vector(1)[10d:1ms])',
    refused: 'execution',
  },
  { name: 'every millisecond, pushed down', query: 'max(count_over_time(load[7d:1ms]))', refused: 'execution' },
  { name: 'absence every ten milliseconds', query: 'absent_over_time(load[30d:10ms])', refused: 'execution' },
  {
    name: 'smoothing every ten milliseconds',
    query: 'double_exponential_smoothing(load[30d:10ms], 0.5, 0.5)',
    refused: 'execution',
  },
  { name: 'a line through every ten milliseconds', query: 'predict_linear(load[30d:10ms], 60)', refused: 'execution' },
  { name: 'the most steps that are accepted', query: 'count_over_time(vector(1)[249s:1ms])' },
  { name: 'the most steps, of a series', query: 'max(max_over_time(load{pod="pod-1"}[249s:1ms]))' },
  { name: 'the most steps, of all series', query: 'max(max_over_time(load[249s:1ms]))' },
  { name: 'the most steps, sorted', query: 'quantile_over_time(0.5, load{pod="pod-1"}[249s:1ms])' },
  { name: 'the most steps, their median deviation', query: 'mad_over_time(load{pod="pod-1"}[249s:1ms])' },
  {
    name: 'the most steps, their changes',
    query: 'changes(load{pod="pod-1"}[249s:1ms]) + resets(load{pod="pod-1"}[249s:1ms])',
  },
  { name: 'the most steps, with information', query: 'count_over_time(info(load{pod="pod-1"})[249s:1ms])' },
  {
    name: 'the most steps, information about itself',
    query: 'count_over_time(info(load{pod="pod-1"}, {__name__="load"})[249s:1ms])',
  },
  { name: 'the most steps, smoothed', query: 'double_exponential_smoothing(load{pod="pod-1"}[249s:1ms], 0.5, 0.5)' },
  {
    name: 'the most steps, as labels',
    query: 'count_values("v", time() * vector(1))',
    path: 'query_range',
    range: { seconds: 10_000, step: 1 },
  },
  {
    name: 'labels of every step of a subquery',
    query: 'count(count_over_time(count_values("v", load + time())[400s:10ms]))',
  },
  { name: 'the most steps, shown', query: 'load{pod="pod-1"}[249s:1ms]' },
  {
    name: 'subqueries within subqueries',
    query: 'max_over_time(max_over_time(max_over_time(load[5m:1s])[5m:1s])[5m:1s])',
  },
  {
    name: 'twenty subqueries within each other',
    query: chained(20, (inner) => `max_over_time(${inner}[4m:1s])`, 'load{pod="pod-1"}'),
  },
  {
    name: 'long windows at every step',
    query: 'quantile_over_time(0.9, load[1h:1s])',
    path: 'query_range',
    range: hour,
  },
  {
    name: 'sums of long windows of fractions',
    query: 'sum(sum_over_time(load[1h:1s]))',
    path: 'query_range',
    range: hour,
  },
  {
    name: 'a rate of long windows with resets',
    query: 'sum(rate(requests_total[1h:1s]))',
    path: 'query_range',
    range: hour,
  },
  {
    name: 'deviations of long windows',
    query: 'sum(stddev_over_time(load{pod=~"pod-1.*"}[1h:1s]))',
    path: 'query_range',
    range: hour,
  },
  {
    name: 'a rate of a rate of a rate',
    query: 'rate(rate(rate(requests_total[5m])[5m:1s])[5m:1s])',
    path: 'query_range',
    range: hour,
  },
  { name: 'a step of zero milliseconds', query: 'load[1m:0ms]', refused: 'bad_data' },
  // Steps of the query.
  { name: 'eleven thousand steps of everything', query: '{__name__=~".+"}', path: 'query_range', range: day },
  {
    name: 'eleven thousand steps of every counter',
    query: 'rate(requests_total[5m])',
    path: 'query_range',
    range: day,
  },
  {
    name: 'arithmetic on eleven thousand steps',
    query: `sum(${joined(60, ' + ', (i) => `load * ${i}`)})`,
    path: 'query_range',
    range: day,
  },
  {
    name: 'four hundred numbers at eleven thousand steps',
    query: `vector(${joined(400, ' + ', String)})`,
    path: 'query_range',
    range: day,
  },
  { name: 'the best of every step', query: 'topk(1000, load)', path: 'query_range', range: hour },
  // Many series.
  { name: 'everything there is', query: '{__name__=~".+"}' },
  { name: 'everything there is, with its samples', query: '{__name__=~".+"}[1h]' },
  { name: 'everything, the best of it', query: 'topk(1e6, {__name__=~".+"})' },
  { name: 'everything, the worst of it by pod', query: 'bottomk by (pod) (1e6, {__name__=~".+"})' },
  { name: 'everything, sorted', query: 'sort({__name__=~".+"})' },
  { name: 'everything, sorted downwards', query: 'sort_desc(load)' },
  { name: 'everything, sorted by its labels', query: 'sort_by_label_desc({__name__=~".+"}, "pod", "le", "group")' },
  { name: 'some of everything', query: 'limit_ratio(0.9, {__name__=~".+"})' },
  {
    name: 'some of everything with a long label',
    query: `limit_ratio(0.9, label_replace({__name__=~".+"}, "a", "${'x'.repeat(4_000)}$1", "pod", "(.*)"))`,
  },
  { name: 'the first of everything', query: 'limitk(1e6, {__name__=~".+"})' },
  { name: 'a quantile of everything', query: 'quantile(0.5, {__name__=~".+"})' },
  {
    name: 'a quantile of everything by pod',
    query: 'quantile by (pod) (0.5, load)',
    path: 'query_range',
    range: { seconds: 3_600, step: 10 },
  },
  {
    name: 'deviations of everything by pod',
    query: 'stddev by (pod) (load)',
    path: 'query_range',
    range: { seconds: 3_600, step: 10 },
  },
  { name: 'each value a label', query: 'count_values("v", {__name__=~".+"})' },
  {
    name: 'each value of each step a label',
    query: 'count_values("v", load)',
    path: 'query_range',
    range: { seconds: 3_600, step: 30 },
  },
  { name: 'each series a group', query: 'sum without (nothing) ({__name__=~".+"})' },
  {
    name: 'each series a group at many steps',
    query: 'avg by (pod, group, k8s_node_name) (load)',
    path: 'query_range',
    range: { seconds: 3_600, step: 5 },
  },
  {
    name: 'absence of many',
    query: 'absent({__name__=~".+"})',
    path: 'query_range',
    range: { seconds: 3_600, step: 5 },
  },
  {
    name: 'quantiles of series that are not buckets',
    query: 'histogram_quantile(0.9, label_replace(load, "le", "$1", "pod", "pod-(.*)"))',
  },
  {
    name: 'quantiles of series whose le has thousands of digits and is no number',
    query: `histogram_quantile(0.5, label_replace(load, "le", "${'1'.repeat(4_095)}x", "", ""))`,
  },
  {
    name: 'quantiles of every bucket',
    query: 'histogram_quantile(0.9, rate(latency_bucket[5m]))',
    path: 'query_range',
    range: { seconds: 3_600, step: 10 },
  },
  {
    name: 'a warning at each step, far down in the text',
    query: `${'\n'.repeat(130_000)}histogram_quantile(time(), vector(1))`,
    path: 'query_range',
    range: { seconds: 10_999, step: 1 },
  },
  {
    name: 'a warning at each of the most steps',
    query: 'max_over_time(histogram_quantile(time(), vector(1))[249s:1ms])',
  },
  {
    name: 'a warning for each of many parts, far down in the text',
    query: '\n'.repeat(110_000) + joined(490, ' or ', (i) => `histogram_quantile(${i + 2}, vector(1))`),
  },
  {
    name: 'an information for each series, on every agent',
    query: 'rate(label_replace(load, "__name__", "$1", "pod", "(.*)")[10m:1m])',
  },
  { name: 'a metric for each series', query: 'label_replace({__name__=~".+"}, "__name__", "$1", "pod", "(.*)")' },
  { name: 'information about everything', query: 'info({__name__=~".+"})' },
  // Matching.
  {
    name: 'all with one',
    query: 'load * on () group_left () topk(1, load)',
    path: 'query_range',
    range: { seconds: 3_600, step: 10 },
  },
  { name: 'all with all, nothing in common', query: 'load * on () group_left () load' },
  {
    name: 'all with all of each step',
    query: '(load > 1e9) * on () group_left () load',
    path: 'query_range',
    range: { seconds: 3_600, step: 10 },
  },
  {
    name: 'all with all by pod',
    query: 'latency_bucket / on (pod, k8s_node_name) group_left () load',
    path: 'query_range',
    range: { seconds: 3_600, step: 10 },
  },
  { name: 'all or all or all', query: joined(40, ' or ', (i) => `label_replace(load, "n", "${i}", "", "")`) },
  { name: 'all unless all', query: joined(40, ' unless ', () => '{__name__=~".+"}') },
  {
    name: 'labels brought over',
    query: 'latency_bucket * on (pod, k8s_node_name) group_left (group, a, b, c, d, e) load',
  },
  {
    name: 'nearly two thousand labels brought over',
    query: `latency_bucket * on (pod, k8s_node_name) group_left (${joined(1_990, ',', (i) => `l${i}`)}) load`,
  },
  {
    name: 'twenty thousand labels brought over',
    query: `latency_bucket * on (pod, k8s_node_name) group_left (${joined(20_000, ',', (i) => `l${i}`)}) load`,
    refused: 'bad_data',
  },
  {
    name: 'pairs that nearly two thousand labels do not tell apart',
    query: `load + ignoring (${joined(1_990, ',', (i) => `l${i}`)}) load`,
  },
  {
    name: 'long labels of one series brought over to all',
    query: `count(load * on (k8s_node_name) group_left (${joined(200, ',', (i) => `l${i}`)}) ${chained(
      200,
      (inner, i) => `label_replace(${inner}, "l${i}", "$1", "l0", "(.*)")`,
      `label_replace(topk by (k8s_node_name) (1, load), "l0", "${'x'.repeat(4_090)}", "", "")`,
    )})`,
  },
  {
    name: 'as long labels of one series as are let in brought over to all',
    query: `count(load * on (k8s_node_name) group_left (${joined(15, ',', (i) => `l${i}`)}) ${chained(
      15,
      (inner, i) => `label_replace(${inner}, "l${i}", "$1", "l0", "(.*)")`,
      `label_replace(topk by (k8s_node_name) (1, load), "l0", "${'x'.repeat(4_090)}", "", "")`,
    )})`,
  },
  // Texts of labels.
  {
    name: 'a label replaced by a choice of thirty thousand texts',
    query: `label_replace(load, "a", "$1", "pod", "(${joined(30_000, '|', (i) => i.toString(36))})")`,
  },
  {
    name: 'two hundred replaced labels',
    query: chained(200, (inner, i) => `label_replace(${inner}, "l${i}", "$1", "pod", "(.*)")`, 'load'),
  },
  {
    name: 'labels that grow tenfold',
    query: chained(
      20,
      (inner) => `label_replace(${inner}, "a", "$1$1$1$1$1$1$1$1$1$1", "a", "(.*)")`,
      'label_replace(load, "a", "xxxxxxxxxx", "", "")',
    ),
  },
  {
    name: 'labels joined with themselves',
    query: chained(
      20,
      (inner) => `label_join(${inner}, "a", "", "a", "a", "a", "a")`,
      'label_replace(load, "a", "xxxxxxxxxx", "", "")',
    ),
  },
  { name: 'long labels of all series', query: `label_replace(load, "a", "${'x'.repeat(4_000)}$1", "pod", "(.*)")` },
  {
    name: 'series sorted by labels of thousands of numbers',
    query: `sort_by_label(label_replace(load, "k", "${'a1'.repeat(2_000)}$1", "pod", "(.*)"), "k")`,
  },
  {
    name: 'series sorted by numbers that differ in leading zeros only',
    query: `sort_by_label(label_replace(label_replace(load, "k", "${'a1'.repeat(1_300)}", "", ""), "k", "${'a01'.repeat(1_300)}", "pod", ".*[02468]"), "k")`,
  },
  {
    name: 'series sorted by one label, 30,000 times',
    query: `sort_by_label(load, ${joined(30_000, ',', () => '"x"')})`,
    refused: 'bad_data',
  },
  {
    name: 'series sorted by two thousand labels, which they do not have',
    query: `sort_by_label_desc(load, ${joined(2_000, ',', (i) => `"x${i}"`)})`,
  },
  { name: 'one label of two thousand', query: `label_join(load, "a", ",", ${joined(2_000, ',', (i) => `"l${i}"`)})` },
  { name: 'grouped by two thousand labels', query: `sum by (${joined(2_000, ',', (i) => `l${i}`)}) (load)` },
  {
    name: 'each pod grouped by two thousand labels',
    query: `sum by (pod,${joined(1_999, ',', (i) => `l${i}`)}) (load)`,
  },
  {
    name: 'each pod grouped by twenty thousand labels',
    query: `sum by (pod,${joined(20_000, ',', (i) => `l${i}`)}) (load)`,
    refused: 'bad_data',
  },
  // Regular expressions.
  {
    name: 'sixty regular expressions of Unicode classes',
    path: 'parse_query',
    query: `load{${joined(60, ',', (i) => `pod=~${quoted(`${i}${'\\pL'.repeat(13_000)}`)}`)}}`,
    refused: 'bad_data',
  },
  { name: 'Unicode classes, as many as are let in', query: `load{pod=~${quoted('\\pL'.repeat(240))}}` },
  { name: 'Unicode classes within brackets', query: `load{pod=~${quoted(`[${'\\pL'.repeat(64)}]+`)}}` },
  { name: 'optional characters, as many as are let in', query: `load{pod!~${quoted('(?:.?){440}x')}}` },
  { name: 'ambiguous repetitions', query: 'load{pod=~"(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)x"}' },
  { name: 'nested repetitions', query: 'load{pod=~"(((a+)+)+)+b", group=~"(x+x+)+y"}' },
  {
    name: 'counted repetitions',
    query: `load{pod=~${quoted('(?:(?:a{10}){10}){10}'.repeat(20))}}`,
    refused: 'bad_data',
  },
  { name: 'a matcher of three megabytes', query: `load{pod="${'x'.repeat(3_000_000)}"}`, refused: 'bad_data' },
  { name: 'a matcher as long as is let in', query: `load{pod=~"${joined(12_000, '|', (i) => `pod-${i}`)}"}` },
  { name: 'nearly two thousand matchers', query: `load{${joined(1_900, ',', (i) => `l${i}!="x"`)}}` },
  {
    name: 'nearly two thousand equal matchers that all series satisfy',
    query: `{__name__=~".+",pod!="${newNumber}",${joined(1_990, ',', () => 'pod!=""')}}`,
  },
  {
    name: 'nearly two thousand different matchers that all series satisfy',
    query: `{__name__=~".+",pod!="${newNumber}",${joined(1_990, ',', (i) => `k8s_node_name=~"node-1|node-2|${i}"`)}}`,
  },
  {
    name: 'nearly two thousand prefixes that no series has',
    query: `{__name__=~".+",pod!="${newNumber}",${joined(1_990, ',', (i) => `pod!~"x${i}.*"`)}}`,
  },
  {
    name: 'nearly two thousand matchers on each label that all series satisfy',
    query: `{__name__=~".+",pod!="${newNumber}",${joined(660, ',', (i) => `pod!="${i}",group!="${i}",k8s_node_name!="${i}"`)}}`,
  },
  {
    name: 'regular expressions on long labels',
    query: `label_replace(label_replace(load, "a", "${'x'.repeat(4_000)}", "", ""), "b", "$1", "a", ${quoted('(.*.*.*.*)x*')})`,
  },
  {
    name: 'a replacement of thousands of groups that do not exist',
    query: `label_replace(load, "b", "${'$_'.repeat(65_000)}", "pod", ".*")`,
    refused: 'execution',
  },
  {
    name: 'a replacement of as many empty groups as are let in',
    query: `label_replace(load, "b", "${'$1'.repeat(4_096)}", "pod", "(x*).*")`,
  },
  { name: 'an expensive replacement', query: `label_replace(load, "b", "$1", "pod", ${quoted('((?:.?){440})x')})` },
  // Texts.
  { name: 'a chain of five thousand', query: joined(5_000, ' or ', (i) => `vector(${i})`), refused: 'bad_data' },
  { name: 'a chain as long as is let in', query: joined(500, ' or ', (i) => `vector(${i})`) },
  { name: 'a sum as long as is let in', query: joined(500, ' + ', () => '1'), path: 'query_range', range: day },
  { name: 'parentheses', query: `${'('.repeat(60_000)}1${')'.repeat(60_000)}`, refused: 'bad_data' },
  {
    name: 'parentheses within durations',
    query: `load[${'('.repeat(30_000)}1${')'.repeat(30_000)}]`,
    refused: 'bad_data',
  },
  { name: 'signs', query: `${'-'.repeat(100_000)}1`, refused: 'bad_data' },
  { name: 'a comment of a megabyte', query: `load #${'x'.repeat(1_000_000)}`, refused: 'bad_data' },
  { name: 'escapes of a whole text', query: `load{pod="${'\\x41'.repeat(30_000)}"}` },
  {
    name: 'a text to be formatted',
    path: 'format_query',
    query: joined(4_000, ' + ', () => '(((1)))'),
    refused: 'bad_data',
  },
  {
    name: 'a wide text to be shown',
    path: 'parse_query',
    query: `label_join(load, "a", "", ${joined(30_000, ',', () => '""')})`,
  },
  {
    name: 'fifty selectors',
    query: `sum(${joined(50, ' + on (pod) ', (i) => `max by (pod) (load offset ${i}s)`)})`,
  },
  // Times.
  { name: 'the end of all time', query: 'load @ 9e12 + load @ -9e12' },
  {
    name: 'all of the past at one moment',
    query: 'sum_over_time(load[10y] @ end())',
    path: 'query_range',
    range: { seconds: 600, step: 1 },
  },
  {
    name: 'a fixed moment with many steps',
    query: 'sum_over_time(load[400s:1ms] @ end()) * load',
    path: 'query_range',
    range: hour,
  },
  { name: 'an offset into the future', query: 'rate(requests_total[1h] offset -50y)' },
  {
    name: 'a regular expression that is slow to compile in very many matchers',
    query: `load{${joined(1_900, ',', (i) => `l${i}=~"(?:.{30}y){20}|"`)}}`,
  },
  // Remote reads.
  {
    name: 'a remote read with 6,000 regular expressions that are slow to compile',
    read: () => [Array.from({ length: 6_000 }, (_, i) => ({ type: '=~', name: 'pod', value: `a{900}${i}` }))],
  },
  {
    name: 'a remote read with as many expressions as are accepted',
    read: () => [Array.from({ length: 2_000 }, (_, i) => ({ type: '=~', name: `l${i}`, value: '(?:.{30}y){20}|' }))],
  },
  {
    name: 'a remote read with as many queries as its bytes allow',
    read: () => Array.from({ length: 130_000 }, () => []),
  },
  // Lists.
  { name: 'the newest of everything', path: '/federate', match: ['{__name__=~".+"}'] },
  {
    name: 'the newest of everything, many times',
    path: '/federate',
    match: Array.from({ length: 45 }, (_, i) => `{__name__=~".+",pod!="${i}"}`),
  },
  { name: 'series of everything', path: 'series', match: ['{__name__=~".+"}'] },
  {
    name: 'series of everything, many times',
    path: 'series',
    match: Array.from({ length: 45 }, (_, i) => `{__name__=~".+",pod!~"x${i}.+y"}`),
  },
  {
    name: 'too many selectors of series',
    path: 'series',
    match: Array.from({ length: 5_000 }, () => 'load'),
    refused: 'bad_data',
  },
  { name: 'all labels by an expensive pattern', path: 'labels', match: [`{pod=~${quoted('(?:.?){440}x?')}}`] },
  {
    name: 'all values by an expensive pattern',
    path: 'label/pod/values',
    match: [`load{pod!~${quoted('\\pL'.repeat(240))}}`],
  },
];
