import { functionTable } from '../../promql/index.ts';
import { metrics, nodeLabel } from './random-series.ts';
import type { Random } from './random.ts';

/** The features that generated expressions may use. */
export interface ExpressionScope {
  /** Native histograms and metrics that mix them with floats. */
  readonly histograms: boolean;
  readonly experimental: boolean;
  /** The range of `@` times. Units: ms. */
  readonly start: number;
  readonly end: number;
}

type Kind = 'instant vector' | 'scalar';

const labels = ['job', 'instance', 'code', 'zone', nodeLabel];
const plainFolds = ['sum', 'avg', 'count', 'min', 'max', 'group', 'stddev', 'stdvar'];
const arithmetic = ['+', '-', '*', '/', '%', '^', 'atan2'];
const comparisons = ['==', '!=', '>', '<', '>=', '<='];
const ranges = ['1m', '2m30s', '5m', '10m'];

/** Functions whose calls have code of their own below, beside the general code for calls. */
const apart = new Set(['info', 'label_replace', 'label_join', 'histogram_quantiles', 'absent_over_time']);

/** A random expression. Most are well-typed; some fail during evaluation. */
export function randomExpression(random: Random, scope: ExpressionScope, depth = 3): string {
  return new Writer(random, scope).expression(random.chance(0.93) ? 'instant vector' : 'scalar', depth);
}

class Writer {
  readonly #random: Random;
  readonly #scope: ExpressionScope;
  readonly #functions;

  constructor(random: Random, scope: ExpressionScope) {
    this.#random = random;
    this.#scope = scope;
    this.#functions = [...functionTable.values()].filter(
      ({ name, experimental }) => !apart.has(name) && (scope.experimental || !experimental),
    );
  }

  expression(kind: Kind, depth: number): string {
    return kind === 'scalar' ? this.#scalar(depth) : this.#vector(depth);
  }

  #scalar(depth: number): string {
    const random = this.#random;
    if (depth <= 0 || random.chance(0.6)) return this.#number();
    switch (random.below(4)) {
      case 0:
        return `scalar(${this.#vector(depth - 1)})`;
      case 1:
        return 'time()';
      case 2:
        return `(${this.#scalar(depth - 1)} ${random.pick(arithmetic)} ${this.#scalar(depth - 1)})`;
      default:
        return `-${this.#number()}`;
    }
  }

  #number(): string {
    return this.#random.pick(['0', '1', '2', '0.5', '0.9', '10', '1e3', '-1', '3.25', 'Inf', 'NaN', '1m']);
  }

  #vector(depth: number): string {
    const random = this.#random;
    if (depth <= 0) return this.#selector();
    const kind = random.below(20);
    if (kind < 2) return this.#selector();
    if (kind < 8) return this.#aggregate(depth);
    if (kind < 15) return this.#call(depth);
    if (kind < 19) return this.#binary(depth);
    return random.chance(0.5) ? `-${this.#wrapped(depth - 1)}` : `(${this.#vector(depth - 1)})`;
  }

  #wrapped(depth: number): string {
    const inner = this.#vector(depth);
    return /^[a-z_]+(?:\{[^}]*\})?$/.test(inner) ? inner : `(${inner})`;
  }

  #metric(): string {
    const { histograms } = this.#scope;
    const pool: string[] = [...metrics.gauges, ...metrics.gauges, ...metrics.counters, ...metrics.counters];
    pool.push(...metrics.buckets);
    if (histograms) pool.push(...metrics.histograms, ...metrics.histograms, ...metrics.mixed);
    return this.#random.chance(0.03) ? 'not_there' : this.#random.pick(pool);
  }

  #bare(): string {
    const random = this.#random;
    const matchers: string[] = [];
    if (random.chance(0.35)) {
      const name = random.pick(labels);
      const value = random.pick(['api', 'db', 'i0', 'i1', '200', '404', 'a', 'n0', 'n1', '']);
      matchers.push(`${name}${random.pick(['=', '!='])}"${value}"`);
    }
    if (random.chance(0.15)) {
      matchers.push(
        `${random.pick(labels)}${random.pick(['=~', '!~'])}"${random.pick(['.*', 'i.', '4..|5..', 'a|ü', '.+'])}"`,
      );
    }
    if (random.chance(0.05)) return `{__name__=~"${random.pick(['requests_.*', 'temperature|queue_length'])}"}`;
    return `${this.#metric()}${matchers.length === 0 ? '' : `{${matchers.join(',')}}`}`;
  }

  #moved(): string {
    const random = this.#random;
    const { start, end } = this.#scope;
    let text = '';
    if (random.chance(0.1)) text += ` offset ${random.pick(['1m', '-1m', '7m'])}`;
    if (random.chance(0.07)) {
      const time = Math.floor((start + random.next() * (end - start)) / 1000);
      text += ` @ ${random.pick([String(time), 'start()', 'end()'])}`;
    }
    return text;
  }

  #selector(): string {
    return this.#bare() + this.#moved();
  }

  #range(depth: number): string {
    const random = this.#random;
    if (depth > 1 && random.chance(0.2)) {
      const inner = random.chance(0.3) ? this.#bare() : `(${this.#vector(depth - 2)})`;
      return `${inner}[${random.pick(ranges)}:${random.pick(['', '30s', '1m'])}]${this.#moved()}`;
    }
    const { experimental } = this.#scope;
    const extension = experimental && random.chance(0.05) ? ` ${random.pick(['anchored', 'smoothed'])}` : '';
    return `${this.#bare()}[${random.pick(ranges)}]${extension}${this.#moved()}`;
  }

  #call(depth: number): string {
    const random = this.#random;
    if (random.chance(0.08)) return this.#labelCall(depth);
    if (random.chance(0.15)) return `histogram_quantile(${this.#number()}, ${this.#buckets(depth)})`;
    if (random.chance(0.03)) return `absent_over_time(${this.#range(depth)})`;
    if (this.#scope.experimental && random.chance(0.04)) return this.#severalQuantiles(depth);
    if (this.#scope.experimental && random.chance(0.05)) return this.#info(depth);
    // The functions that people use most are chosen most often.
    if (random.chance(0.35)) return `${random.pick(['rate', 'increase', 'avg_over_time'])}(${this.#range(depth)})`;
    const { name, args, variadic, returns } = random.pick(this.#functions);
    if (returns !== 'instant vector') return this.#vector(depth - 1);
    const texts = args.map((type) => {
      if (type === 'range vector') return this.#range(depth);
      if (type === 'scalar') return this.#scalar(depth > 2 ? 1 : 0);
      return type === 'string' ? '"job"' : this.#vector(depth - 1);
    });
    if (variadic > 0 && texts.length > 0 && random.chance(0.4)) texts.pop();
    return `${name}(${texts.join(', ')})`;
  }

  #buckets(depth: number): string {
    const random = this.#random;
    if (this.#scope.histograms && random.chance(0.4)) return this.#vector(depth - 1);
    const rate = `rate(latency_bucket[${random.pick(ranges)}])`;
    return random.chance(0.5) ? `sum by (le, ${random.pick(labels)}) (${rate})` : rate;
  }

  #severalQuantiles(depth: number): string {
    const random = this.#random;
    const quantiles = Array.from({ length: 1 + random.below(3) }, () => random.pick(['0', '0.5', '0.9', '1', '0.25']));
    const label = random.pick(['quantile', 'q', 'zone']);
    return `histogram_quantiles(${this.#buckets(depth)}, "${label}", ${quantiles.join(', ')})`;
  }

  #info(depth: number): string {
    const random = this.#random;
    const inner = this.#vector(depth - 1);
    if (random.chance(0.4)) return `info(${inner})`;
    const matcher = random.pick([
      'version=~".+"',
      'version="1.0"',
      'version!="2.0"',
      'cluster="west"',
      'absent=""',
      '__name__="build_info"',
      '__name__=~".+_info"',
      '__name__!="target_info"',
      '__name__=~".+_info", version=~".*"',
    ]);
    return `info(${inner}, {${matcher}})`;
  }

  #labelCall(depth: number): string {
    const random = this.#random;
    const inner = this.#vector(depth - 1);
    if (random.chance(0.5))
      return `label_join(${inner}, "${random.pick(['joined', 'zone', nodeLabel])}", "-", "job", "code")`;
    const target = random.pick(['copy', 'zone', 'job', nodeLabel]);
    return `label_replace(${inner}, "${target}", "$1-x", "${random.pick(labels)}", "(.).*")`;
  }

  #grouping(): string {
    const random = this.#random;
    if (random.chance(0.25)) return '';
    return ` ${random.pick(['by', 'by', 'without'])} (${random.some(labels, 0.3).join(', ')})`;
  }

  #aggregate(depth: number): string {
    const random = this.#random;
    const inner = this.#vector(depth - 1);
    const grouping = this.#grouping();
    if (random.chance(0.7)) return `${random.pick(plainFolds)}${grouping} (${inner})`;
    switch (random.below(this.#scope.experimental ? 6 : 4)) {
      case 0:
        return `quantile${grouping} (${this.#number()}, ${inner})`;
      case 1:
        return `count_values${grouping} ("value", ${inner})`;
      case 2:
      case 3:
        return `${random.pick(['topk', 'bottomk'])}${grouping} (${random.pick(['1', '2', '3', '5', '0'])}, ${this.#ordered()})`;
      case 4:
        return `limitk${grouping} (${random.pick(['1', '2', '4'])}, ${this.#ordered()})`;
      default:
        return `limit_ratio${grouping} (${random.pick(['0.3', '-0.6', '1', '0.5'])}, ${inner})`;
    }
  }

  /** An expression whose series come in a defined order, by which topk and its like choose between equal values. */
  #ordered(): string {
    const random = this.#random;
    const selector = `${this.#metric()}${random.chance(0.3) ? `{job="${random.pick(['api', 'db'])}"}` : ''}`;
    const range = `${selector}[${random.pick(ranges)}]`;
    return random.pick([selector, `rate(${range})`, `max_over_time(${range})`, `-${selector}`]);
  }

  #binary(depth: number): string {
    const random = this.#random;
    const comparison = random.chance(0.3);
    const op = comparison ? `${random.pick(comparisons)}${random.chance(0.4) ? ' bool' : ''}` : random.pick(arithmetic);
    if (random.chance(0.35)) {
      const sides = [this.#wrapped(depth - 1), this.#scalar(depth - 1)];
      if (random.chance(0.4)) sides.reverse();
      return `${sides[0]} ${op} ${sides[1]}`;
    }
    if (random.chance(0.25)) {
      const matching = random.chance(0.5)
        ? ''
        : ` ${random.pick(['on', 'ignoring'])} (${random.some(labels, 0.4).join(', ')})`;
      return `${this.#wrapped(depth - 1)} ${random.pick(['and', 'or', 'unless'])}${matching} ${this.#wrapped(depth - 1)}`;
    }
    return this.#matched(depth, op);
  }

  /** An operation on two vectors that probably match, because both sides often have the same labels. */
  #matched(depth: number, op: string): string {
    const random = this.#random;
    const shared = random.some(labels, 0.5);
    const group = shared.length === 0 ? '' : ` by (${shared.join(', ')})`;
    const left = random.chance(0.6) ? `sum${group} (${this.#vector(depth - 1)})` : this.#wrapped(depth - 1);
    const right = random.chance(0.6) ? `max${group} (${this.#vector(depth - 1)})` : this.#wrapped(depth - 1);
    const fill = this.#scope.experimental && random.chance(0.25) ? this.#fill() : '';
    if (random.chance(0.5)) return `${left} ${op}${fill} ${right}`;
    const side = random.chance(0.5)
      ? ` ${random.pick(['group_left', 'group_right'])}${random.chance(0.3) ? ' (zone)' : ''}`
      : '';
    const matching = random.chance(0.8) ? `on (${shared.join(', ')})` : 'ignoring (code)';
    return `${left} ${op} ${matching}${side}${fill} ${right}`;
  }

  #fill(): string {
    const random = this.#random;
    const value = (): string => random.pick(['0', '1', '-2.5', '100']);
    return random.pick([
      () => ` fill (${value()})`,
      () => ` fill_left (${value()})`,
      () => ` fill_right (${value()})`,
      () => ` fill_left (${value()}) fill_right (${value()})`,
    ])();
  }
}
