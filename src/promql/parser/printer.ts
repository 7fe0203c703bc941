import type { Matcher } from '../types.ts';
import type { AtModifier, Duration, DurationExpr, Expr, VectorMatching, VectorSelector } from './ast.ts';
import { parameterAggregators } from './ast.ts';
import { formatDurationLiteral } from './durations.ts';
import { isPlainLabelName, isPlainMetricName, quote } from './strings.ts';
import { mapMatchers } from './with-matchers.ts';

/**
 * The query as one line in canonical form (`format_query`). Matchers are sorted, as in Prometheus; parsing the text gives
 * the same tree except for their order.
 */
export function print(expr: Expr): string {
  return printInOrder(mapMatchers(expr, inTextOrder));
}

function inTextOrder(matchers: readonly Matcher[]): Matcher[] {
  const texts = matchers.map((matcher) => ({ matcher, text: printMatcher(matcher) }));
  return texts.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0)).map(({ matcher }) => matcher);
}

/**
 * As `print`, but with the matchers in their order, on which the labels of `absent` depend: parsing the text gives the
 * same tree.
 */
export function printInOrder(expr: Expr): string {
  switch (expr.kind) {
    case 'number':
      return printNumber(expr.value, expr.isDuration);
    case 'string':
      return quote(expr.value);
    case 'paren':
      return `(${printAlone(expr.expr)})`;
    case 'unary':
      return `${expr.op}${printInOrder(expr.expr)}`;
    case 'vector':
      return `${printSelector(expr)}${printAt(expr.at)}${printExtension(expr)}${printOffset(expr.offset)}`;
    case 'matrix': {
      const { selector } = expr;
      const range = printDuration(expr.range);
      const tail = `${printExtension(selector)}${printAt(selector.at)}${printOffset(selector.offset)}`;
      return `${printSelector(selector)}[${range}]${tail}`;
    }
    case 'subquery': {
      const step = expr.step === null ? '' : printDuration(expr.step);
      return `${printInOrder(expr.expr)}[${printDuration(expr.range)}:${step}]${printAt(expr.at)}${printOffset(expr.offset)}`;
    }
    case 'call':
      return `${expr.func.name}(${expr.args.map(printAlone).join(', ')})`;
    case 'aggregate': {
      const grouping = expr.without
        ? ` without (${printLabels(expr.grouping)}) `
        : expr.grouping.length > 0
          ? ` by (${printLabels(expr.grouping)}) `
          : '';
      const param = parameterAggregators.has(expr.op) ? `${printAlone(expr.param!)}, ` : '';
      return `${expr.op}${grouping}(${param}${printInOrder(expr.expr)})`;
    }
    case 'binary': {
      const bool = expr.returnBool ? ' bool' : '';
      return `${printInOrder(expr.left)} ${expr.op}${bool}${printMatching(expr.matching)} ${printInOrder(expr.right)}`;
    }
  }
}

/** Infinity is printed with its sign when no operator binds to it, as in Prometheus. */
function printAlone(expr: Expr): string {
  return expr.kind === 'number' && expr.value === Infinity && !expr.isDuration ? '+Inf' : printInOrder(expr);
}

/** A float as Go's 'f' format prints it: shortest digits, never an exponent. */
export function formatFloatPlain(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const text = String(value);
  const match = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const [, sign, whole, fraction = '', exponent] = match;
  const digits = whole! + fraction;
  const point = whole!.length + Number(exponent);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  if (point >= digits.length) return `${sign}${digits}${'0'.repeat(point - digits.length)}`;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

function printNumber(value: number, isDuration: boolean): string {
  // Without a sign: `+Inf ^ 2` would be parsed as a plus before Inf ^ 2.
  if (!isDuration) return value === Infinity ? 'Inf' : formatFloatPlain(value);
  // The literal is whole milliseconds, which the product may miss: 2.002 * 1000 is a little less than 2002.
  const text = formatDurationLiteral(Math.round(Math.abs(value) * 1000));
  return value < 0 ? `-${text}` : text;
}

function printLabels(names: readonly string[]): string {
  return names.map((name) => (isPlainLabelName(name) ? name : quote(name))).join(', ');
}

/** The text of a matcher. */
export function printMatcher({ name, type, value }: Matcher): string {
  return `${isPlainLabelName(name) ? name : quote(name)}${type}${quote(value)}`;
}

function printSelector(selector: VectorSelector): string {
  const shown = selector.matchers
    .filter((m) => !(m.name === '__name__' && m.type === '=' && m.value === selector.name && m.value !== ''))
    .map(printMatcher);
  const name = selector.name === '' || isPlainMetricName(selector.name) ? selector.name : quote(selector.name);
  return shown.length === 0 && selector.name !== '' ? name : `${name}{${shown.join(',')}}`;
}

function printExtension(selector: VectorSelector): string {
  return selector.extension === null ? '' : ` ${selector.extension}`;
}

function printAt(at: AtModifier | null): string {
  if (at === null) return '';
  return at.kind === 'time' ? ` @ ${(at.ms / 1000).toFixed(3)}` : ` @ ${at.kind}()`;
}

function printOffset(offset: Duration): string {
  if ('expr' in offset) return ` offset ${printDurationExpr(offset.expr)}`;
  if (offset.ms === 0) return '';
  return ` offset ${offset.ms < 0 ? '-' : ''}${formatDurationLiteral(Math.abs(offset.ms))}`;
}

function printDuration(duration: Duration): string {
  return 'expr' in duration ? printDurationExpr(duration.expr) : formatDurationLiteral(duration.ms);
}

function printDurationExpr(expr: DurationExpr): string {
  switch (expr.kind) {
    case 'number':
      return printNumber(expr.seconds, expr.isDuration);
    case 'step':
    case 'range':
      return `${expr.kind}()`;
    case 'min_of':
    case 'max_of':
      return `${expr.kind}(${printDurationExpr(expr.left)}, ${printDurationExpr(expr.right)})`;
    case 'negate':
      return `-${printDurationExpr(expr.operand)}`;
    case 'paren':
      return `(${printDurationExpr(expr.operand)})`;
    case 'binary':
      return `${printDurationExpr(expr.left)} ${expr.op} ${printDurationExpr(expr.right)}`;
  }
}

function printMatching(matching: VectorMatching | null): string {
  if (matching === null) return '';
  const { card, on, labels, include, fillLeft, fillRight } = matching;
  const grouped = card === 'many-to-one' || card === 'one-to-many';
  let out = '';
  if (labels.length > 0 || on || grouped) out += ` ${on ? 'on' : 'ignoring'} (${printLabels(labels)})`;
  if (grouped) out += ` group_${card === 'many-to-one' ? 'left' : 'right'} (${printLabels(include)})`;
  if (fillLeft !== null && Object.is(fillLeft, fillRight)) return `${out} fill (${formatFloatPlain(fillLeft)})`;
  if (fillLeft !== null) out += ` fill_left (${formatFloatPlain(fillLeft)})`;
  if (fillRight !== null) out += ` fill_right (${formatFloatPlain(fillRight)})`;
  return out;
}
