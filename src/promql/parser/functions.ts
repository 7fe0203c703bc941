/** The type of an expression, with the names error messages use. */
export type ValueType = 'scalar' | 'instant vector' | 'range vector' | 'string';

/** A function of the language, for the type checker. */
export interface FunctionSignature {
  readonly name: string;
  readonly args: readonly ValueType[];
  /** How often the last argument may occur: 0: once; n > 0: not at all or up to n times; −1: any number of times. */
  readonly variadic: number;
  readonly returns: ValueType;
  readonly experimental: boolean;
}

const types: Record<string, ValueType> = { v: 'instant vector', m: 'range vector', s: 'scalar', t: 'string' };

/**
 * Every function. A row reads `name args → result`: v instant vector, m range vector, s scalar, t string;
 * `?n` after the arguments makes the last one optional and repeatable up to n times, `*` any number of times;
 * a `!` marks the experimental ones.
 */
const table = `
  abs v → v
  absent v → v
  absent_over_time m → v
  acos v → v
  acosh v → v
  asin v → v
  asinh v → v
  atan v → v
  atanh v → v
  avg_over_time m → v
  ceil v → v
  changes m → v
  clamp vss → v
  clamp_max vs → v
  clamp_min vs → v
  cos v → v
  cosh v → v
  count_over_time m → v
  days_in_month v?1 → v
  day_of_month v?1 → v
  day_of_week v?1 → v
  day_of_year v?1 → v
  deg v → v
  delta m → v
  deriv m → v
  double_exponential_smoothing mss → v !
  end - → s !
  exp v → v
  first_over_time m → v
  floor v → v
  histogram_avg v → v
  histogram_count v → v
  histogram_fraction ssv → v
  histogram_quantile sv → v
  histogram_quantiles vtss?9 → v !
  histogram_stddev v → v
  histogram_stdvar v → v
  histogram_sum v → v
  hour v?1 → v
  idelta m → v
  increase m → v
  info vv?1 → v !
  irate m → v
  label_join vttt* → v
  label_replace vtttt → v
  last_over_time m → v
  ln v → v
  log10 v → v
  log2 v → v
  mad_over_time m → v !
  max_of ss → s !
  max_over_time m → v
  min_of ss → s !
  min_over_time m → v
  minute v?1 → v
  month v?1 → v
  pi - → s
  predict_linear ms → v
  present_over_time m → v
  quantile_over_time sm → v
  rad v → v
  range - → s !
  rate m → v
  resets m → v
  round vs?1 → v
  scalar v → s
  sgn v → v
  sin v → v
  sinh v → v
  sort v → v
  sort_by_label vt* → v !
  sort_by_label_desc vt* → v !
  sort_desc v → v
  sqrt v → v
  start - → s !
  start_timestamp v → v !
  stddev_over_time m → v
  stdvar_over_time m → v
  step - → s !
  sum_over_time m → v
  tan v → v
  tanh v → v
  time - → s
  timestamp v → v
  ts_of_first_over_time m → v !
  ts_of_last_over_time m → v !
  ts_of_max_over_time m → v !
  ts_of_min_over_time m → v !
  vector s → v
  year v?1 → v
`;

function parseRow(row: string): FunctionSignature {
  const match = /^(\w+) ([vmst]*|-)(?:\?(\d+)|(\*))? \u2192 ([vst])( !)?$/.exec(row);
  if (match === null) throw new Error(`bad row in the function table: ${row}`);
  const [, name, args, optional, any, result, experimental] = match;
  return {
    name: name!,
    args: args === '-' ? [] : [...args!].map((letter) => types[letter]!),
    variadic: any !== undefined ? -1 : Number(optional ?? 0),
    returns: types[result!]!,
    experimental: experimental !== undefined,
  };
}

/** The functions by name. */
export const functionTable: ReadonlyMap<string, FunctionSignature> = new Map(
  table
    .trim()
    .split('\n')
    .map((row) => parseRow(row.trim()))
    .map((signature) => [signature.name, signature]),
);

/**
 * Functions whose value depends on the evaluation time even when their argument does not: an expression with one of
 * them is evaluated at every step.
 */
export const atModifierUnsafeFunctions: ReadonlySet<string> = new Set([
  'days_in_month',
  'day_of_month',
  'day_of_week',
  'day_of_year',
  'hour',
  'minute',
  'month',
  'year',
  'predict_linear',
  'time',
  'timestamp',
  'start',
  'end',
  'step',
  'range',
]);
