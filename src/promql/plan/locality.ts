import { setOperators, typeOf, type AggregateExpr, type BinaryExpr, type CallExpr, type Expr } from '../parser/ast.ts';

/**
 * Where the value of an expression can be computed.
 * constant: reads no series, the same everywhere. local: the value over all nodes is the union of the values over each
 * node, and every series of it carries the partition label, which names its node. central: it needs series of several
 * nodes.
 */
export type Place = 'constant' | 'local' | 'central';

/** A place and the rule that decided it, as text for users. */
export interface Locality {
  readonly place: Place;
  readonly reason: string;
}

const constant: Locality = { place: 'constant', reason: 'reads no series' };
const local = (reason: string): Locality => ({ place: 'local', reason });
const central = (reason: string): Locality => ({ place: 'central', reason });

/** Functions that need the series of all nodes, and the reason. */
const centralFunctions: ReadonlyMap<string, string> = new Map([
  ['absent', 'absent() holds only if no node has a series'],
  ['absent_over_time', 'absent_over_time() holds only if no node has a series'],
  ['info', 'info() joins with series that it looks up itself'],
  ['scalar', 'scalar() is for exactly one series over all nodes'],
  ['sort', 'sort() orders the series of all nodes'],
  ['sort_desc', 'sort_desc() orders the series of all nodes'],
  ['sort_by_label', 'sort_by_label() orders the series of all nodes'],
  ['sort_by_label_desc', 'sort_by_label_desc() orders the series of all nodes'],
]);

/** The index of the argument that names the label which a function writes. */
const writtenLabel: ReadonlyMap<string, number> = new Map([
  ['label_replace', 1],
  ['label_join', 1],
  ['histogram_quantiles', 1],
]);

/** The place of an expression, from the places of its children. */
export function localityOf(expr: Expr, of: (child: Expr) => Locality, partitionLabel: string): Locality {
  switch (expr.kind) {
    case 'number':
    case 'string':
      return constant;
    case 'vector':
      return local('a series lies on one node');
    case 'matrix':
      return local('the samples of a series lie on one node');
    case 'paren':
    case 'unary':
      return of(expr.expr);
    case 'subquery':
      return of(expr.expr).place === 'local' ? local('each inner series lies on one node') : of(expr.expr);
    case 'call':
      return callLocality(expr, of, partitionLabel);
    case 'aggregate':
      return aggregateLocality(expr, of, partitionLabel);
    case 'binary':
      return binaryLocality(expr, of, partitionLabel);
  }
}

function callLocality(call: CallExpr, of: (child: Expr) => Locality, partitionLabel: string): Locality {
  const { name } = call.func;
  const why = centralFunctions.get(name);
  if (why !== undefined) return central(why);
  const written = call.args[writtenLabel.get(name) ?? call.args.length];
  if (written?.kind === 'string' && written.value === partitionLabel) {
    return central(`${name}() writes the partition label`);
  }
  if (partitionLabel === 'le' && name.startsWith('histogram_')) return central(`${name}() removes the partition label`);
  const vectors = call.args.filter((arg) => typeOf(arg) === 'instant vector' || typeOf(arg) === 'range vector');
  for (const arg of call.args) {
    const { place, reason } = of(arg);
    if (place === 'central') return central(reason);
    if (place === 'local' && !vectors.includes(arg)) return central('a scalar argument reads series');
  }
  const read = vectors.filter((arg) => of(arg).place === 'local');
  if (read.length === 0) return constant;
  return read.length === vectors.length
    ? local(`${name}() treats each series, or the series of one group on one node, alone`)
    : central('a constant vector stands beside series');
}

function aggregateLocality(
  { op, expr, param, grouping, without }: AggregateExpr,
  of: (child: Expr) => Locality,
  partitionLabel: string,
): Locality {
  const inner = of(expr);
  if (inner.place !== 'local') return central(inner.place === 'central' ? inner.reason : 'aggregates a constant');
  if (param !== null && of(param).place !== 'constant') return central('its parameter reads series');
  if (op === 'count_values' && param?.kind === 'string' && param.value === partitionLabel) {
    return central('count_values writes the partition label');
  }
  if (op === 'limit_ratio') return local('limit_ratio decides for each series by its labels alone');
  if (grouping.includes(partitionLabel) !== without)
    return local('each group lies on one node: it keeps the partition label');
  return central('its groups span nodes');
}

function binaryLocality(
  { op, left, right, matching }: BinaryExpr,
  of: (child: Expr) => Locality,
  partitionLabel: string,
): Locality {
  const sides = [of(left), of(right)] as const;
  const spanning = sides.find(({ place }) => place === 'central');
  if (spanning !== undefined) return central(spanning.reason);
  const isVector = [left, right].map((side) => typeOf(side) === 'instant vector');
  const reads = sides.filter(({ place }) => place === 'local').length;
  if (reads === 0) return constant;
  if (!isVector[0] || !isVector[1]) return local('a vector and a constant');
  if (reads < 2) return central('a constant vector stands beside series');
  const { on, labels, include } = matching!;
  const what = setOperators.has(op) ? 'set operator' : 'operator';
  if (labels.includes(partitionLabel) !== on) return central(`the ${what} matches series of different nodes`);
  if (include.includes(partitionLabel)) return central(`the ${what} takes the partition label from one side`);
  return local(`the ${what} matches series of one node`);
}
