import { keyPart } from '../../base/text/labels.ts';
import { compareUtf8, type Labels, type SeriesRef } from '../../tsdb/index.ts';
import type { Exemplar } from '../otlp/model.ts';
import { type Component, componentKey, type FamilyType, type Layout } from './components.ts';
import { type Pair, truncate } from './label-set.ts';
import type { Charge } from './series-limits.ts';

/** One float series as it is stored and served; the store and the exports identify it by this very object. */
export class Series implements SeriesRef {
  readonly group: Group;
  readonly component: Component;
  slot = -1;
  /** Number of streams that feed it now. */
  streams = 0;
  /**
   * True once two streams have fed it at the same time, or an earlier process has stored a larger value: from then on
   * `total` grows by increments, and is never set.
   */
  merged = false;
  /** The current value. */
  total = 0;
  /** Time of the newest sample handed out, ms; 0 before the first. */
  lastMs = 0;
  /** Time of the sample waiting to be handed out, ms; 0 when there is none. */
  pendingMs = 0;
  /** One sample in this many ms is handed out; 0 for all. */
  intervalMs = 0;
  /** Time of the newest sample that was thinned out, ms; 0 when the newest was handed out. */
  skippedMs = 0;
  /**
   * Time of the zero to insert before the waiting sample so that a reset is visible, ms; 0 for none. Before the first
   * sample it is the start time of the counter, of several counters the earliest, because an earlier agent process may
   * have stored values from before and after that time.
   */
  zeroMs = 0;
  /** When `total` went on from a value that an earlier process has stored, ms; 0 if it did not. */
  resumedMs = 0;
  /** Exemplar of one of its values; null before the first. */
  exemplar: Exemplar | null = null;

  constructor(group: Group, component: Component) {
    this.group = group;
    this.component = component;
  }

  /**
   * Returns a new list on each call, of pairs that the series of the group share. Stored lists would take a tenth of
   * the agent's memory on a full node, and a series' labels are needed only once or twice in its life.
   */
  get labels(): Labels {
    const { family, base, nameAt, extraAt } = this.group;
    const { suffix, extra } = this.component;
    const name = namePair(family, suffix);
    return extra ? fullLabels(name, nameAt, base, extra, extraAt[extra[0]]) : fullLabels(name, nameAt, base, null, 0);
  }
}

/** The series of one label set in one metric: one for a scalar, all buckets, `_count` and `_sum` of a histogram. */
export interface Group {
  readonly family: Family;
  readonly key: string;
  readonly base: readonly Pair[];
  /** Where the name, and the label of a bucket or quantile, go among the base labels. */
  readonly nameAt: number;
  readonly extraAt: Readonly<Record<'le' | 'quantile', number>>;
  readonly series: Series[];
  /** The series by `componentKey` once there are many of them; before that, null. */
  byKey: Map<string, Series> | null;
  /** The group's charge against the limits, which is released when the group ends. */
  charge: Charge;
  /** Cached text and order of its exposition lines; null when the series have changed since. */
  page: { readonly labels: Uint8Array; readonly ordered: readonly Series[] } | null;
}

export interface Family {
  readonly name: string;
  readonly type: FamilyType;
  readonly help: string;
  readonly unit: string;
  readonly groups: Map<string, Group>;
  /** `__name__` of its series by suffix, shared by all of them. */
  readonly names: Map<string, Pair>;
}

/** A sender may write anything into the description of a metric. Units: characters. */
const maxHelpLength = 1_024;
const maxUnitLength = 64;

/**
 * All live series by metric and label set. A family is listed only while it has a group, so that names do not pile up.
 */
export class SeriesTable {
  readonly families = new Map<string, Family>();
  #series = 0;
  /** The base labels of the group that was added last. */
  #newest: readonly Pair[] = [];

  /** Live series. */
  get size(): number {
    return this.#series;
  }

  family(name: string, type: FamilyType, help: string, unit: string): Family {
    const known = this.families.get(name);
    if (known) return known;
    const texts = { help: truncate(help, maxHelpLength), unit: truncate(unit, maxUnitLength) };
    return { name, type, ...texts, groups: new Map(), names: new Map() };
  }

  group(family: Family, base: readonly Pair[]): Group | undefined {
    return family.groups.get(baseKey(base));
  }

  addGroup(family: Family, labels: readonly Pair[], charge: Charge): Group {
    const base = sharedPairs(labels, this.#newest);
    this.#newest = base;
    const group: Group = {
      family,
      key: baseKey(base),
      base,
      nameAt: placeOf('__name__', base),
      extraAt: { le: placeOf('le', base), quantile: placeOf('quantile', base) },
      series: [],
      byKey: null,
      charge,
      page: null,
    };
    family.groups.set(group.key, group);
    this.families.set(family.name, family);
    return group;
  }

  /** The number of a layout's components that a group has no series for. */
  missing(group: Group, { components }: Layout): number {
    let count = 0;
    for (let i = 0; i < components.length; i++) if (!findSeries(group, components[i]!, i)) count++;
    return count;
  }

  /** The series of a layout's components, in their order; those that are new are created. */
  bind(group: Group, { components, repeats }: Layout): Series[] {
    const { series } = group;
    const before = series.length;
    const bound = new Array<Series>(components.length);
    for (let i = 0; i < components.length; i++) {
      const component = components[i]!;
      let found = before === 0 && !repeats ? undefined : findSeries(group, component, i);
      if (!found) {
        found = new Series(group, component);
        series.push(found);
        group.byKey?.set(componentKey(component), found);
      }
      bound[i] = found;
    }
    const added = series.length - before;
    if (added > 0) {
      group.page = null;
      this.#series += added;
      group.charge.add(added);
    }
    return bound;
  }

  /** Removes the group's series that no stream feeds any more and returns them. */
  prune(group: Group): Series[] {
    const gone = group.series.filter((s) => s.streams === 0);
    if (gone.length === 0) return gone;
    const kept = group.series.filter((s) => s.streams > 0);
    group.series.length = 0;
    group.page = null;
    for (const s of gone) group.byKey?.delete(componentKey(s.component));
    for (const s of kept) group.series.push(s);
    this.#series -= gone.length;
    group.charge.add(-gone.length);
    if (kept.length === 0) {
      group.family.groups.delete(group.key);
      if (group.family.groups.size === 0) this.families.delete(group.family.name);
    }
    return gone;
  }
}

/** Built with `join`: with `+`, V8 keeps every intermediate string as an object, five times the size of the text. */
function baseKey(base: readonly Pair[]): string {
  return base.map(([name, value]) => `${name}\x00${keyPart(value)}`).join('\x00');
}

/** The labels, with the pair objects of another group where they are equal: consecutive groups differ in few labels. */
function sharedPairs(labels: readonly Pair[], others: readonly Pair[]): readonly Pair[] {
  let at = 0;
  return labels.map((pair) => {
    const [name, value] = pair;
    while (at < others.length && others[at]![0] !== name && compareUtf8(others[at]![0], name) < 0) at++;
    const other = others[at];
    return other !== undefined && other[0] === name && other[1] === value ? other : pair;
  });
}

function namePair({ name, names }: Family, suffix: string): Pair {
  let pair = names.get(suffix);
  if (!pair) names.set(suffix, (pair = ['__name__', name + suffix]));
  return pair;
}

/** A group of more series than this finds them by a map. Histograms of the instrument have about twenty. */
const manySeries = 64;

/** The series of a component. A group's series are mostly in the order of the components: `likely` is tried first. */
function findSeries(group: Group, component: Component, likely: number): Series | undefined {
  const all = group.series;
  if (all[likely]?.component === component) return all[likely];
  if (all.length > manySeries) {
    group.byKey ??= new Map(all.map((s) => [componentKey(s.component), s]));
    return group.byKey.get(componentKey(component));
  }
  const { suffix, extra } = component;
  return all.find((s) => s.component.suffix === suffix && s.component.extra?.[1] === extra?.[1]);
}

/** The place of a label of that name: the index of the first base label after it. */
function placeOf(name: string, base: readonly Pair[]): number {
  let at = 0;
  while (at < base.length && compareUtf8(name, base[at]![0]) >= 0) at++;
  return at;
}

/** The base labels with the name and the component's own label put in their places. */
function fullLabels(name: Pair, nameAt: number, base: readonly Pair[], extra: Pair | null, extraAt: number): Labels {
  const labels = new Array<Pair>(base.length + (extra ? 2 : 1));
  let at = 0;
  for (let i = 0; i <= base.length; i++) {
    if (i === nameAt) labels[at++] = name;
    if (extra && i === extraAt) labels[at++] = extra;
    if (i < base.length) labels[at++] = base[i]!;
  }
  return labels;
}
