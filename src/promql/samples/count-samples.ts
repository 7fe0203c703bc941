import { type Frame, frameEnd, subqueryFrame } from '../eval/frame.ts';
import { milliseconds, type QuerySpan, resolve, timingOf } from '../eval/resolve.ts';
import { findInvariant } from '../eval/run/invariant.ts';
import { childrenOf, type Expr, type MatrixSelector, type SubqueryExpr, unwrapParens } from '../parser/ast.ts';
import { print } from '../parser/printer.ts';

/**
 * The number of samples that a query reads at each of its steps, by the rules of Prometheus 3.15 (`util/stats`).
 * `queryable`: a selector counts a sample for each visible series, a function over a range the whole window at each
 * step. `read`: of a window, only the samples outside the previous step's window; a part that is the same at every step
 * counts once.
 */
export interface SampleCounts {
  readonly queryable: Float64Array;
  readonly read: Float64Array;
}

/**
 * Evaluates an expression that gives one unlabelled number for each step; a step without one counts as 0. Names that
 * become equal once they are dropped are not an error.
 */
export type AskCount = (expr: string, frame: Frame) => Promise<Float64Array>;

const defaultSubqueryStepMs = (): number => 60_000;

/**
 * Counts the samples of a query by separate queries: `count(x)` for a selector, `sum(count_over_time(x[5m]))` for a
 * window. Every execution path therefore gives the same counts, and a query without counts has no overhead.
 * A native histogram counts as one sample; the series that `info()` looks up do not count.
 */
export function countSamples(expr: Expr, span: QuerySpan, frame: Frame, ask: AskCount): Promise<SampleCounts> {
  const resolved = resolve(expr, span, '', defaultSubqueryStepMs);
  const asked = new Map<string, Promise<Float64Array>>();
  const once: AskCount = (text, at) => {
    const key = `${at.start} ${at.step} ${at.count} ${text}`;
    let found = asked.get(key);
    if (found === undefined) asked.set(key, (found = ask(text, at)));
    return found;
  };
  return new Counter(findInvariant(resolved), once).count(resolved, frame);
}

class Counter {
  readonly #invariant: ReadonlySet<Expr>;
  readonly #ask: AskCount;

  constructor(invariant: ReadonlySet<Expr>, ask: AskCount) {
    this.#invariant = invariant;
    this.#ask = ask;
  }

  async count(expr: Expr, frame: Frame): Promise<SampleCounts> {
    if (frame.count > 1 && this.#invariant.has(expr)) {
      const { queryable, read } = await this.#count(expr, { start: frame.start, step: frame.step, count: 1 });
      return { queryable: new Float64Array(frame.count).fill(queryable[0]!), read: atFirst(frame, read[0]!) };
    }
    return this.#count(expr, frame);
  }

  async #count(expr: Expr, frame: Frame): Promise<SampleCounts> {
    if (frame.count === 0) return none(frame);
    switch (expr.kind) {
      case 'vector': {
        const queryable = await this.#ask(`count(${print(expr)})`, frame);
        return { queryable, read: queryable };
      }
      case 'matrix':
        return this.#window(expr, frame);
      case 'subquery':
        return this.#allOf(expr, frame);
      case 'call': {
        // The second argument of info() is a list of matchers.
        const args = expr.func.name === 'info' ? expr.args.slice(0, 1) : expr.args;
        return this.#sum(args, frame, (arg) => {
          const inner = unwrapParens(arg);
          return inner.kind === 'subquery' ? this.#windowOf(inner, frame) : this.count(inner, frame);
        });
      }
      default:
        return this.#sum(childrenOf(expr), frame, (child) => this.count(child, frame));
    }
  }

  async #sum(
    parts: readonly Expr[],
    frame: Frame,
    count: (part: Expr) => Promise<SampleCounts>,
  ): Promise<SampleCounts> {
    const total = none(frame);
    for (const { queryable, read } of await Promise.all(parts.map(count))) {
      for (let i = 0; i < frame.count; i++) {
        total.queryable[i]! += queryable[i]!;
        total.read[i]! += read[i]!;
      }
    }
    return total;
  }

  async #window(expr: MatrixSelector, frame: Frame): Promise<SampleCounts> {
    const queryable = await this.#ask(inWindow(expr), frame);
    if (expr.selector.at !== null) return { queryable, read: atFirst(frame, queryable[0]!) };
    if (frame.count === 1 || frame.step >= milliseconds(expr.range)) return { queryable, read: queryable };
    const read = (await this.#ask(inWindow({ ...expr, range: { ms: frame.step } }), frame)).slice();
    read[0] = queryable[0]!;
    return { queryable, read };
  }

  /** A subquery as a function's window: its points count; from the expressions inside it, only `read` is used. */
  async #windowOf(expr: SubqueryExpr, frame: Frame): Promise<SampleCounts> {
    const range = milliseconds(expr.range);
    const [queryable, { read }] = await Promise.all([
      this.#ask(inWindow(expr), frame),
      this.count(expr.expr, innerFrame(expr, frame)),
    ]);
    const own = { frame: innerFrame(expr, frame), offset: milliseconds(expr.offset), range };
    return { queryable, read: readsOfSubquery(read, own, frame) };
  }

  /** A subquery that is the answer itself: everything below it counts. */
  async #allOf(expr: SubqueryExpr, frame: Frame): Promise<SampleCounts> {
    const inner = innerFrame(expr, frame);
    const { queryable, read } = await this.count(expr.expr, inner);
    const total = none(frame);
    total.queryable[frame.count - 1] = sum(queryable);
    return { queryable: total.queryable, read: readsOfSubquery(read, { frame: inner, offset: 0, range: 0 }, frame) };
  }
}

const inWindow = (range: MatrixSelector | SubqueryExpr): string => `sum(count_over_time(${print(range)}))`;

const innerFrame = (expr: SubqueryExpr, frame: Frame): Frame =>
  subqueryFrame({ ...frame, end: frameEnd(frame) }, timingOf(expr), milliseconds(expr.range), milliseconds(expr.step!));

const none = ({ count }: Frame): SampleCounts => ({
  queryable: new Float64Array(count),
  read: new Float64Array(count),
});

function atFirst({ count }: Frame, value: number): Float64Array {
  const read = new Float64Array(count);
  read[0] = value;
  return read;
}

const sum = (values: Float64Array): number => values.reduce((a, b) => a + b, 0);

/** A subquery in the context of the surrounding query. Units: milliseconds; a range of 0 stands for no window. */
interface InnerSteps {
  readonly frame: Frame;
  readonly offset: number;
  readonly range: number;
}

/**
 * Assigns the reads of a subquery's steps to the steps of the surrounding query: each to the first step whose window
 * contains it; those between two windows are dropped. A query of one step gets all of them.
 */
function readsOfSubquery(read: Float64Array, inner: InnerSteps, outer: Frame): Float64Array {
  const { start, step, count } = outer;
  const total = new Float64Array(count);
  for (let k = 0; k < read.length; k++) {
    const time = inner.frame.start + k * inner.frame.step + inner.offset;
    const first = time > start && count > 1 ? Math.ceil((time - start) / step) : 0;
    const at = Math.min(first, count - 1);
    const isBetween = count > 1 && inner.range > 0 && time <= start + at * step - inner.range;
    if (!isBetween) total[at]! += read[k]!;
  }
  return total;
}
