import type { Exemplar, Metric, PointBase, Temporality } from '../otlp/model.ts';
import { countsAtBounds } from './exponential.ts';
import { boundText } from './names.ts';
import type { MappingPolicy } from './policy.ts';

export type FamilyType = 'counter' | 'gauge' | 'histogram' | 'summary';

/**
 * How a stream's values add up.
 * `counter`: cumulative, may reset. `increment`: each point is the change since the point before. `level`: the value
 * may rise and fall.
 */
export type Mode = 'counter' | 'increment' | 'level';

/**
 * What determines the float series that a point turns into. Shapes are compared by `sameShape`; for a stream whose
 * shape changes, the series are looked up again.
 */
export interface Shape {
  readonly kind: 'scalar' | 'histogram' | 'summary';
  readonly mode: Mode;
  /** Explicit bounds of a histogram, or quantiles of a summary. */
  readonly bounds: readonly number[];
  readonly hasSum: boolean;
}

/** One float series of a stream: the suffix of its name, and the label that distinguishes it from its siblings. */
export interface Component {
  readonly suffix: '' | '_bucket' | '_sum' | '_count';
  readonly extra: readonly [name: 'le' | 'quantile', value: string] | null;
  readonly mode: Mode;
}

/** A point with its float values, in the order of `componentsOf(shape)`. */
export interface Expanded {
  readonly point: PointBase & { readonly exemplars?: readonly Exemplar[] };
  readonly shape: Shape;
  readonly values: readonly number[];
}

export function familyType(data: NonNullable<Metric['data']>): FamilyType {
  if (data.kind === 'histogram' || data.kind === 'exponential') return 'histogram';
  if (data.kind === 'summary') return 'summary';
  return data.kind === 'sum' && data.monotonic ? 'counter' : 'gauge';
}

/** The `i`-th point of a metric as float values. */
export function expandPoint(
  { unit }: Metric,
  data: NonNullable<Metric['data']>,
  i: number,
  policy: Pick<MappingPolicy, 'durationBounds' | 'sizeBounds'>,
): Expanded {
  switch (data.kind) {
    case 'gauge': {
      const point = data.points[i]!;
      return { point, shape: scalarShapes.level, values: [point.value] };
    }
    case 'sum': {
      const point = data.points[i]!;
      return { point, shape: scalarShapes[sumMode(data.temporality, data.monotonic)], values: [point.value] };
    }
    case 'histogram': {
      const point = data.points[i]!;
      const { bounds, bucketCounts, count, sum } = point;
      const values = new Array<number>(bounds.length + (sum === null ? 2 : 3));
      let running = 0;
      for (let b = 0; b < bounds.length; b++) values[b] = running += bucketCounts[b] ?? 0;
      complete(values, bounds.length, count, sum);
      return { point, shape: histogramShape(sumMode(data.temporality, true), bounds, sum !== null), values };
    }
    case 'exponential': {
      const point = data.points[i]!;
      const bounds = unit === 'By' ? policy.sizeBounds : policy.durationBounds;
      const values = countsAtBounds(point, bounds);
      complete(values, bounds.length, point.count, point.sum);
      return { point, shape: histogramShape(sumMode(data.temporality, true), bounds, point.sum !== null), values };
    }
    case 'summary': {
      const point = data.points[i]!;
      const values = [...point.quantiles.map((q) => q.value), point.count, point.sum];
      const bounds = point.quantiles.map((q) => q.quantile);
      return { point, shape: { kind: 'summary', mode: 'counter', bounds, hasSum: true }, values };
    }
  }
}

/** A delta sum is accumulated, monotonic or not. A cumulative sum can reset only when it is monotonic. */
function sumMode(temporality: Temporality, monotonic: boolean): Mode {
  if (temporality === 'delta') return 'increment';
  return monotonic ? 'counter' : 'level';
}

const scalarShapes: Record<Mode, Shape> = {
  counter: { kind: 'scalar', mode: 'counter', bounds: [], hasSum: false },
  increment: { kind: 'scalar', mode: 'increment', bounds: [], hasSum: false },
  level: { kind: 'scalar', mode: 'level', bounds: [], hasSum: false },
};

/** Appends `+Inf`, `_count` and `_sum` to the cumulative counts of `n` bounds. */
function complete(values: number[], n: number, count: number, sum: number | null): void {
  // `+Inf` and `_count` are the same number. When a sender's buckets add up to more, the sum of the buckets is used.
  const total = Math.max(count, n > 0 ? values[n - 1]! : 0);
  values[n] = total;
  values[n + 1] = total;
  if (sum !== null) values[n + 2] = sum;
}

/** The shape of the last call. All points of a histogram have one shape, also those of its next export. */
let lastShape: Shape = scalarShapes.counter;

function histogramShape(mode: Mode, bounds: readonly number[], hasSum: boolean): Shape {
  if (lastShape.bounds !== bounds || lastShape.mode !== mode || lastShape.hasSum !== hasSum) {
    lastShape = { kind: 'histogram', mode, bounds, hasSum };
  }
  return lastShape;
}

export function sameShape(a: Shape, b: Shape): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.mode !== b.mode || a.hasSum !== b.hasSum) return false;
  if (a.bounds === b.bounds) return true;
  if (a.bounds.length !== b.bounds.length) return false;
  for (let i = 0; i < a.bounds.length; i++) if (a.bounds[i] !== b.bounds[i]) return false;
  return true;
}

const layouts = new Map<string, Layout>();
/** Layouts by the identity of the shape: nearly always the layout is found here, and no key text is built. */
const byShape = new WeakMap<Shape, Layout>();
/** The layouts kept have at most so many components, one of a hundred bytes or more. */
const componentsKept = 200_000;
let componentsInUse = 0;

/** A shape with its float series. The thousands of streams that may have this shape share one such object. */
export interface Layout {
  readonly shape: Shape;
  readonly components: readonly Component[];
  /** Whether components name one series twice: a summary may have a quantile twice. */
  readonly repeats: boolean;
}

/** The layout that all streams of this shape share. */
export function layoutOf(shape: Shape): Layout {
  const known = byShape.get(shape);
  if (known) return known;
  const key = `${shape.kind} ${shape.mode} ${shape.hasSum} ${shape.bounds.join()}`;
  let layout = layouts.get(key);
  if (!layout) {
    const own = componentsOf(shape);
    if (componentsInUse + own.length > componentsKept) {
      layouts.clear();
      componentsInUse = 0;
    }
    componentsInUse += own.length;
    layout = { shape, components: own, repeats: new Set(own.map(componentKey)).size < own.length };
    layouts.set(key, layout);
  }
  byShape.set(shape, layout);
  return layout;
}

/** A text that distinguishes a component from its siblings. */
export function componentKey({ suffix, extra }: Component): string {
  return `${suffix} ${extra?.[1] ?? ''}`;
}

/** The float series of a shape: buckets (or quantiles) in order, then `_count`, then `_sum`. */
export function componentsOf(shape: Shape): readonly Component[] {
  const { kind, mode, bounds, hasSum } = shape;
  if (kind === 'scalar') return [{ suffix: '', extra: null, mode }];
  const components: Component[] =
    kind === 'histogram'
      ? [...bounds, Infinity].map((b) => ({ suffix: '_bucket', extra: ['le', boundText(b)], mode }))
      : bounds.map((q) => ({ suffix: '', extra: ['quantile', boundText(q)], mode: 'level' }));
  components.push({ suffix: '_count', extra: null, mode });
  if (hasSum) components.push({ suffix: '_sum', extra: null, mode });
  return components;
}
