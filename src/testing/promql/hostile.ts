import { adversarialSeries, type AdversarialQuestion } from './adversarial.ts';
import type { Random } from './random.ts';

/**
 * Random queries of the kinds that `adversarialQuestions` lists: deep subqueries, expensive windows, chains, labels
 * that grow, joins, regular expressions. Equal seeds give equal queries. Whatever the answers, the process must keep
 * serving.
 */
export function hostileQuestion(random: Random): AdversarialQuestion {
  const query = vector(random, 2 + random.below(4));
  const name = query.length > 120 ? `${query.slice(0, 120)}… (${query.length} characters)` : query;
  if (random.chance(0.1)) return { name: `series of ${name}`, path: 'series', match: [selector(random)] };
  if (random.chance(0.05)) return { name: `newest of ${name}`, path: '/federate', match: [selector(random)] };
  if (random.chance(0.4)) {
    const seconds = random.pick([60, 600, 3_600, 86_400]);
    const step = random.pick([1, seconds / 10_000, seconds / 100]);
    return { name, query, path: 'query_range', range: { seconds, step: Math.max(step, 0.001) } };
  }
  return { name, query };
}

const windowFunctions = [
  ...['count', 'sum', 'avg', 'min', 'max', 'stddev', 'last', 'present', 'absent', 'mad'].map((f) => `${f}_over_time`),
  ...['rate', 'increase', 'delta', 'irate', 'changes', 'resets', 'deriv'],
];
const aggregations = ['sum', 'avg', 'min', 'max', 'count', 'stddev', 'group'];
const ranges = ['30s', '5m', '1h', '1d', '30d', '10y'];
const steps = ['1ms', '10ms', '1s', '30s', '1m', '1h'];
const patterns = [
  ...['.*', '.+', 'pod-.*', '(.*)(.*)(.*)x', '((a+)+)+b', '(?:.?){100}x', '\\\\pL+', '(x+x+)+y'],
  ...['pod-1|pod-2|pod-3', '[\\\\pL\\\\pN]+', '(?i)POD-.*', '.*1.*2.*3.*'],
];

function selector(random: Random): string {
  const metric = random.pick([adversarialSeries.gauge, adversarialSeries.counter, adversarialSeries.bucket, '']);
  const matchers = Array.from({ length: random.below(4) }, () => {
    const label = random.pick(['pod', 'le', 'group', 'k8s_node_name', 'none']);
    return `${label}${random.pick(['=', '!=', '=~', '!~'])}"${random.pick(patterns)}"`;
  });
  if (metric === '') matchers.unshift('__name__=~".+"');
  const at = random.chance(0.1) ? random.pick([' @ end()', ' @ start()', ' @ 0', ' offset 1d', ' offset -1h']) : '';
  return `${metric}{${matchers.join(',')}}${at}`;
}

/** A query whose value is an instant vector; up to `depth` levels are wrapped around its selectors. */
function vector(random: Random, depth: number): string {
  if (depth <= 0) return selector(random);
  const inner = (): string => vector(random, depth - 1);
  switch (random.below(11)) {
    case 0:
      return `${random.pick(windowFunctions)}(${inner()}[${random.pick(ranges)}:${random.pick(steps)}])`;
    case 1:
      return `${random.pick(windowFunctions)}(${selector(random)}[${random.pick(ranges)}])`.replace(
        / ([@o][^[]*)(\[.*\])/,
        '$2 $1',
      );
    case 2:
      return `quantile_over_time(0.9, ${inner()}[${random.pick(ranges)}:${random.pick(steps)}])`;
    case 3:
      return `${random.pick(aggregations)} by (${random.some(['pod', 'le', 'group', 'x']).join(', ')}) (${inner()})`;
    case 4:
      return `${random.pick(['topk', 'bottomk', 'limitk'])}(${10 ** random.below(7)}, ${inner()})`;
    case 5:
      return chained(
        random,
        inner(),
        (text, i) =>
          `label_replace(${text}, "l${i}", "$1$1$1", "${random.pick(['pod', 'l0'])}", "${random.pick(patterns)}")`,
      );
    case 6:
      return chained(random, inner(), (text) => `label_join(${text}, "l0", "-", "l0", "l0", "pod")`);
    case 7:
      return `count_values("v", ${inner()})`;
    case 8: {
      const operator = random.pick(['+', '*', '/', '>', '== bool', 'or', 'and', 'unless']);
      const isSet = ['or', 'and', 'unless'].includes(operator);
      const on = random.pick(['', ' on (pod)', ' on ()', ' ignoring (le)']);
      const side = isSet || on === '' ? '' : random.pick(['', ' group_left ()', ' group_right (group)']);
      return `(${inner()} ${operator}${on}${side} ${inner()})`;
    }
    case 9:
      return `${random.pick(['sort', 'sort_desc', 'absent', 'abs', 'timestamp'])}(${inner()})`;
    default:
      return `histogram_quantile(0.9, sum by (le, pod) (rate(${adversarialSeries.bucket}[${random.pick(ranges)}])) * ${random.below(9)})`;
  }
}

/** Wraps an expression up to thirty times. Each wrap contains it once, so the length grows linearly. */
function chained(random: Random, inner: string, wrap: (text: string, i: number) => string): string {
  const times = 1 + random.below(random.chance(0.2) ? 30 : 4);
  let text = inner;
  for (let i = 0; i < times; i++) text = wrap(text, i);
  return text;
}
