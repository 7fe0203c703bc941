import { formatFloatPlain, typeOf } from '../../promql/index.ts';
import type { Expr } from '../../promql/index.ts';

type Selector = Extract<Expr, { kind: 'vector' }>;
type Duration = Selector['offset'];
type DurationExpr = Extract<Duration, { expr: unknown }>['expr'];
type Json = Readonly<Record<string, unknown>>;

/** Type names of the API, which differ from those in error messages. */
const typeNames = { scalar: 'scalar', string: 'string', 'instant vector': 'vector', 'range vector': 'matrix' } as const;
const matcherOnly = new Set(['and', 'or', 'unless']);

/** A query's tree as `/api/v1/parse_query` writes it. Source: Prometheus 3.15, web/api/v1. Pure. */
export function parseTree(expr: Expr): Json {
  switch (expr.kind) {
    case 'number':
      return { type: 'numberLiteral', val: formatFloatPlain(expr.value) };
    case 'string':
      return { type: 'stringLiteral', val: expr.value };
    case 'paren':
      return { type: 'parenExpr', expr: parseTree(expr.expr) };
    case 'unary':
      return { type: 'unaryExpr', op: expr.op, expr: parseTree(expr.expr) };
    case 'vector':
      return { type: 'vectorSelector', ...selector(expr) };
    case 'matrix': {
      const [range, rangeExpr] = duration(expr.range);
      return { type: 'matrixSelector', ...selector(expr.selector), range, rangeExpr };
    }
    case 'subquery': {
      const [range, rangeExpr] = duration(expr.range);
      const [step, stepExpr] = expr.step === null ? [0, null] : duration(expr.step);
      return { type: 'subquery', expr: parseTree(expr.expr), range, rangeExpr, step, stepExpr, ...moment(expr) };
    }
    case 'aggregate':
      return {
        type: 'aggregation',
        op: expr.op,
        expr: parseTree(expr.expr),
        param: expr.param === null ? null : parseTree(expr.param),
        grouping: expr.grouping,
        without: expr.without,
      };
    case 'call': {
      const { name, args, variadic, returns } = expr.func;
      const func = { name, argTypes: args.map((t) => typeNames[t]), variadic, returnType: typeNames[returns] };
      return { type: 'call', func, args: expr.args.map(parseTree) };
    }
    case 'binary':
      return {
        type: 'binaryExpr',
        op: expr.op,
        lhs: parseTree(expr.left),
        rhs: parseTree(expr.right),
        matching: matching(expr),
        bool: expr.returnBool,
      };
  }
}

function matching({ matching: m, op, left, right }: Extract<Expr, { kind: 'binary' }>): Json | null {
  if (m === null || typeOf(left) === 'scalar' || typeOf(right) === 'scalar') return null;
  return {
    card: matcherOnly.has(op) ? 'many-to-many' : m.card,
    labels: m.labels,
    on: m.on,
    include: m.include,
    fillValues: { lhs: m.fillLeft, rhs: m.fillRight },
  };
}

function selector(s: Selector): Json {
  const matchers = s.matchers.map(({ name, type, value }) => ({ name, type, value }));
  const { extension: e } = s;
  return { name: s.name, matchers, ...moment(s), anchored: e === 'anchored', smoothed: e === 'smoothed' };
}

function moment({ at, offset }: Pick<Selector, 'at' | 'offset'>): Json {
  const [ms, expr] = duration(offset);
  return {
    offset: ms,
    offsetExpr: expr,
    timestamp: at?.kind === 'time' ? at.ms : null,
    startOrEnd: at === null || at.kind === 'time' ? null : at.kind,
  };
}

/** The milliseconds of a duration; or 0 and its expression, if the duration is known only when the query runs. */
function duration(d: Duration): [number, Json | null] {
  return 'ms' in d ? [d.ms, null] : [0, durationTree(d.expr)];
}

function durationTree(d: DurationExpr): Json {
  switch (d.kind) {
    case 'number':
      return { type: 'numberLiteral', val: formatFloatPlain(d.seconds), duration: d.isDuration };
    case 'step':
    case 'range':
      return { type: 'durationExpr', op: d.kind, lhs: null, rhs: null, wrapped: false };
    case 'paren': {
      const inner = durationTree(d.operand);
      return inner['type'] === 'durationExpr' ? { ...inner, wrapped: true } : inner;
    }
    case 'negate':
      return { type: 'durationExpr', op: '-', lhs: null, rhs: durationTree(d.operand), wrapped: false };
    default: {
      const op = d.kind === 'binary' ? d.op : d.kind;
      return { type: 'durationExpr', op, lhs: durationTree(d.left), rhs: durationTree(d.right), wrapped: false };
    }
  }
}
