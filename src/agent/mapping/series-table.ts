import { compareUtf8, type Labels, type SeriesRef } from '../../tsdb/index.ts';
import type { Exemplar } from '../otlp/model.ts';
import type { Component, FamilyType, Layout } from './components.ts';
import type { Pair } from './label-set.ts';

/** One float series as it is stored and served; the store identifies it by this very object. */
export interface Series extends SeriesRef {
  readonly component: Component;
  /** Number of streams that feed it now. */
  streams: number;
  /** True once two streams have fed it at the same time: from then on increments are added, never overwritten. */
  merged: boolean;
  /** The current value. */
  total: number;
  /** Time of the newest sample handed out, ms; 0 before the first. */
  lastMs: number;
  /** Time of the sample waiting to be handed out, ms; 0 when there is none. */
  pendingMs: number;
  /** One sample in this many ms is handed out; 0 for all. */
  intervalMs: number;
  /** Time of the newest sample that was thinned out, ms; 0 when the newest was handed out. */
  skippedMs: number;
  /** Time of the zero to insert before that sample so that a reset is visible, ms; 0 for none. */
  zeroMs: number;
  /** Exemplar of one of its values; null before the first. */
  exemplar: Exemplar | null;
}

/** The series of one label set in one metric: one for a scalar, all buckets, `_count` and `_sum` of a histogram. */
export interface Group {
  readonly family: Family;
  readonly key: string;
  readonly base: readonly Pair[];
  readonly series: Series[];
  /** Charges against the limits, released when the group ends. */
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

/** Where a group's series are counted; `release` is called with the number of series that ended. */
export interface Charge {
  readonly add: (series: number) => void;
}

/**
 * All live series by metric and label set. A family is listed only while it has a group, so that names do not pile up.
 */
export class SeriesTable {
  readonly families = new Map<string, Family>();
  #series = 0;

  /** Live series. */
  get size(): number {
    return this.#series;
  }

  family(name: string, type: FamilyType, help: string, unit: string): Family {
    return this.families.get(name) ?? { name, type, help, unit, groups: new Map(), names: new Map() };
  }

  group(family: Family, base: readonly Pair[]): Group | undefined {
    return family.groups.get(baseKey(base));
  }

  addGroup(family: Family, base: readonly Pair[], charge: Charge): Group {
    const group: Group = { family, key: baseKey(base), base, series: [], charge, page: null };
    family.groups.set(group.key, group);
    this.families.set(family.name, family);
    return group;
  }

  /** The series of a layout's components, in their order; those that are new are created. */
  bind(group: Group, { components, repeats }: Layout): Series[] {
    const { family, base, series } = group;
    const before = series.length;
    const nameAt = placeOf('__name__', base);
    const extraName = components[0]?.extra?.[0];
    const extraAt = extraName === undefined ? 0 : placeOf(extraName, base);
    const bound = new Array<Series>(components.length);
    for (let i = 0; i < components.length; i++) {
      const component = components[i]!;
      let found = before === 0 && !repeats ? undefined : findSeries(series, component, i);
      if (!found) {
        found = newSeries(
          fullLabels(namePair(family, component.suffix), nameAt, base, component.extra, extraAt),
          component,
        );
        series.push(found);
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
    group.series.push(...kept);
    this.#series -= gone.length;
    group.charge.add(-gone.length);
    if (kept.length === 0) {
      group.family.groups.delete(group.key);
      if (group.family.groups.size === 0) this.families.delete(group.family.name);
    }
    return gone;
  }
}

function baseKey(base: readonly Pair[]): string {
  let key = '';
  for (const [name, value] of base) key += `${name}\u0000${value}\u0001`;
  return key;
}

function namePair({ name, names }: Family, suffix: string): Pair {
  let pair = names.get(suffix);
  if (!pair) names.set(suffix, (pair = ['__name__', name + suffix]));
  return pair;
}

/** The series of a component. The series of a group mostly lie in the order of the components: `likely` is tried first. */
function findSeries(all: readonly Series[], component: Component, likely: number): Series | undefined {
  if (all[likely]?.component === component) return all[likely];
  const { suffix, extra } = component;
  return all.find((s) => s.component.suffix === suffix && s.component.extra?.[1] === extra?.[1]);
}

function newSeries(labels: Labels, component: Component): Series {
  return {
    labels,
    slot: -1,
    component,
    streams: 0,
    merged: false,
    total: 0,
    lastMs: 0,
    pendingMs: 0,
    zeroMs: 0,
    intervalMs: 0,
    skippedMs: 0,
    exemplar: null,
  };
}

/** Where a label of that name goes: the index of the first base label behind it. */
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
