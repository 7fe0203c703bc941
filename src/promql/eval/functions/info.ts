import { keyPart } from '../../../base/text/labels.ts';
import { anyOf } from '../../../base/text/texts.ts';
import { executionError } from '../../errors.ts';
import { labelValue, labelsKey, labelsText, metricName, setLabel } from '../../labels.ts';
import { compileMatcher, type CompiledMatcher } from '../../matching/matcher.ts';
import type { CallExpr } from '../../parser/ast.ts';
import type { Labels, Matcher } from '../../types.ts';
import { sampleBytes, type Budget } from '../budget.ts';
import { labelsWithin } from '../made-labels.ts';
import {
  ColumnBuilder,
  absent,
  holdColumns,
  inLabelOrder,
  keyWork,
  keyWorkOf,
  leastWeight,
  occupied,
  releaseColumns,
  sameLabelset,
  scalarWeight,
  type Column,
} from '../columns.ts';
import type { EvalContext } from '../context.ts';
import { referenceTime, type Frame, type Timing } from '../frame.ts';
import { infoReference } from '../run/info-reference.ts';
import { lookBack } from '../select/instant-selector.ts';
import type { RawSeries } from '../select/raw-series.ts';
import type { Pacing } from '../../../base/turns/turns.ts';

/** The labels that match a series with its info series. */
const identifying = ['instance', 'job'] as const;

const targetInfo: Matcher = { type: '=', name: '__name__', value: 'target_info' };

/** info(v, {…}): adds to each series of v the data labels of the info metrics with the same `instance` and `job`. */
export async function evaluateInfo(context: EvalContext, call: CallExpr, frame: Frame): Promise<Column[]> {
  const base = await context.evaluate(call.args[0]!, frame);
  if (base.kind !== 'vector') return [];
  const { budget } = context;
  const columns = await inLabelOrder(budget, base.columns);
  const selector = call.args[1];
  const given = selector?.kind === 'vector' ? selector.matchers : [targetInfo];
  const nameMatchers = effectiveNames(given.filter(({ name }) => name === '__name__'));
  const dataMatchers = given.filter(({ name }) => name !== '__name__');
  const isInfo = compileAll(nameMatchers);
  const plain = new Set<Column>();
  for (const column of columns) {
    if (!isInfo(metricName(column.labels))) plain.add(column);
    if (budget.spend(keyWork)) await budget.turn();
  }
  const infos = await readInfos(context, call, plain, [...dataMatchers, ...nameMatchers], frame);
  const enricher = new Enricher(budget, dataMatchers, frame);
  const there = await occupied(budget, columns, frame.count);
  for (const info of infos) {
    enricher.choose(info, there);
    if (budget.spend(keyWork + frame.count)) await budget.turn();
  }
  for (const column of columns) {
    if (plain.has(column)) await enricher.enrich(column);
    else enricher.keep(column);
    if (budget.spend(keyWork + frame.count)) await budget.turn();
  }
  const enriched = enricher.finish();
  for (const { raw } of infos) budget.release(raw.times.length + shownWeight(frame.count));
  await holdColumns(budget, enriched);
  await releaseColumns(budget, base.columns);
  return enriched;
}

/** Matchers that only exclude names mean "any *_info but these"; without name matchers the metric is target_info. */
function effectiveNames(matchers: readonly Matcher[]): readonly Matcher[] {
  if (matchers.some(({ type }) => type === '=' || type === '=~')) return matchers;
  if (matchers.length === 0) return [targetInfo];
  return [{ type: '=~', name: '__name__', value: '.+_info' }, ...matchers];
}

function compileAll(matchers: readonly Matcher[]): (value: string) => boolean {
  const compiled = matchers.map(compileMatcher);
  return (value) => compiled.every(({ test }) => test(value));
}

/** One info series with the index of its visible sample at each step, −1 for none. */
interface InfoSeries {
  readonly raw: RawSeries;
  readonly shown: Int32Array;
}

/** Memory of `shown`, in units of one float sample. */
const shownWeight = (steps: number): number => Math.ceil((steps * Int32Array.BYTES_PER_ELEMENT) / sampleBytes);

/** The info series of the columns. The memory of their samples and of `shown` is charged to the budget. */
async function readInfos(
  context: EvalContext,
  call: CallExpr,
  columns: ReadonlySet<Column>,
  matchers: readonly Matcher[],
  frame: Frame,
): Promise<InfoSeries[]> {
  const timing: Timing = infoReference(call.args[0]!);
  const lookback = context.settings.lookbackDeltaMs;
  const mint = referenceTime(frame, timing, 0) - lookback + 1;
  const maxt = referenceTime(frame, timing, frame.count - 1);
  const hints = { start: mint, end: maxt, step: frame.step, range: 0, func: 'info', grouping: [], by: false };
  const infos: InfoSeries[] = [];
  for (const set of await identifyingSets(context.budget, columns)) {
    const found = await context.select({ matchers: [...set, ...matchers], mint, maxt, hints });
    for (const raw of found) {
      context.budget.hold(shownWeight(frame.count));
      const shown = lookBack(raw, timing, frame, lookback);
      if (shown.some((index) => index >= 0 && (raw.histograms?.[index] ?? null) !== null)) {
        throw executionError(`this should be an info metric, with float samples: ${labelsText(raw.labels)}`);
      }
      infos.push({ raw, shown });
      if (context.budget.spend(frame.count + raw.times.length)) await context.budget.turn();
    }
  }
  return infos;
}

/** Matchers for the identifying labels of the base series, one set for each pattern of present and missing labels. */
async function identifyingSets(pacing: Pacing, columns: Iterable<Column>): Promise<Matcher[][]> {
  const patterns = new Map<string, Set<string>[]>();
  for (const { labels } of columns) {
    const values = identifying.map((name) => labelValue(labels, name));
    const pattern = values.map((value) => (value === '' ? '0' : '1')).join('');
    if (!pattern.includes('1')) continue;
    let sets = patterns.get(pattern);
    if (sets === undefined) patterns.set(pattern, (sets = identifying.map(() => new Set<string>())));
    values.forEach((value, i) => sets[i]!.add(value));
    if (pacing.spend(keyWork)) await pacing.turn();
  }
  return [...patterns].map(([pattern, sets]) =>
    identifying.map((name, i): Matcher => {
      if (pattern[i] === '0') return { type: '=', name, value: '' };
      return { type: '=~', name, value: anyOf([...sets[i]!].sort()) };
    }),
  );
}

const signature = (labels: Labels): string => identifying.map((name) => keyPart(labelValue(labels, name))).join('\x00');

/** A series of the result. */
interface Output {
  readonly builder: ColumnBuilder;
  readonly labels: Labels;
  readonly dropName: boolean;
}

/** Combines base series with info series step by step; output series are distinguished by their labels. */
class Enricher {
  readonly #budget: Budget;
  readonly #frame: Frame;
  readonly #dataNames: ReadonlySet<string> | null;
  readonly #required: readonly CompiledMatcher[];
  /** Values of the identifying labels → info metric → the info series that is visible at each step. */
  readonly #chosen = new Map<string, Map<string, (InfoSeries | null)[]>>();
  readonly #out = new Map<string, Output>();
  /** Memory of the lists in `#chosen`, in units of one float sample. */
  #chosenWeight = 0;

  constructor(budget: Budget, dataMatchers: readonly Matcher[], frame: Frame) {
    this.#budget = budget;
    this.#frame = frame;
    this.#dataNames = dataMatchers.length === 0 ? null : new Set(dataMatchers.map(({ name }) => name));
    this.#required = dataMatchers.map(compileMatcher).filter(({ test }) => !test(''));
  }

  /** Returns the columns, and gives the budget back what this object was charged for them and for its lists. */
  finish(): Column[] {
    this.#budget.release(leastWeight(this.#out.size, this.#frame.count) + this.#chosenWeight);
    return [...this.#out.values()].map(({ builder, labels, dropName }) => builder.build(labels, dropName));
  }

  /** Copies a base series that is itself an info series to the output, unchanged. */
  keep(column: Column): void {
    let out: Output | null = null;
    for (let step = 0; step < this.#frame.count; step++) {
      if (column.kinds[step] === absent) continue;
      out ??= this.#outputOf(column, column.labels);
      put(column, step, out);
    }
  }

  /** Adds labels to a base series. Its output is looked up only where its info series change. */
  async enrich(column: Column): Promise<void> {
    const chosen = [...(this.#chosen.get(signature(column.labels))?.values() ?? [])];
    const known = new Map<string, Output | null>();
    let infos: (InfoSeries | null)[] | null = null;
    let out: Output | null = null;
    for (let step = 0; step < this.#frame.count; step++) {
      if (column.kinds[step] === absent) continue;
      let work = 1 + chosen.length;
      if (infos === null || !infos.every((info, i) => info === chosen[i]![step])) {
        infos = chosen.map((steps) => steps[step]!);
        out = this.#enrichedOutput(column, infos, known);
        work *= keyWorkOf(column.labels);
      }
      if (out !== null) put(column, step, out);
      if (this.#budget.spend(work)) await this.#budget.turn();
    }
  }

  /**
   * Adds an info series. Among several series of one info metric with the same identifying labels, the newest sample
   * wins. `there`: the steps at which there is any series to add labels to.
   * Errors: `execution` when two samples are equally new at one of these steps.
   */
  choose(info: InfoSeries, there: Uint8Array): void {
    const { labels, times } = info.raw;
    const bySignature = this.#chosen.get(signature(labels)) ?? new Map<string, (InfoSeries | null)[]>();
    this.#chosen.set(signature(labels), bySignature);
    const name = metricName(labels);
    const steps = bySignature.get(name) ?? this.#emptySteps();
    bySignature.set(name, steps);
    info.shown.forEach((index, step) => {
      if (index < 0 || there[step] === 0) return;
      const other = steps[step] ?? null;
      const time = times[index]!;
      const otherTime = other === null ? -Infinity : other.raw.times[other.shown[step]!]!;
      if (time === otherTime) {
        throw executionError(
          `found duplicate series for info metric: existing ${labelsText(other!.raw.labels)} @ ${otherTime}, ` +
            `new ${labelsText(labels)} @ ${time}`,
        );
      }
      if (time > otherTime) steps[step] = info;
    });
  }

  /**
   * The output for the steps of a base series with these info series; null when they are left out. `known` has those
   * that were found before.
   */
  #enrichedOutput(
    column: Column,
    shown: readonly (InfoSeries | null)[],
    known: Map<string, Output | null>,
  ): Output | null {
    const infos = shown.filter((info) => info !== null);
    const key = infos.map(({ raw }) => labelsKey(raw.labels)).join('\x01');
    let out = known.get(key);
    if (out === undefined) {
      const labels = this.#enriched(column.labels, infos);
      known.set(key, (out = labels === null ? null : this.#outputOf(column, labels)));
    }
    return out;
  }

  /** A list with a reference for each step, which takes as much memory as a number. */
  #emptySteps(): (InfoSeries | null)[] {
    const weight = scalarWeight(this.#frame.count);
    this.#budget.hold(weight);
    this.#chosenWeight += weight;
    return new Array<InfoSeries | null>(this.#frame.count).fill(null);
  }

  /** The labels plus the wanted data labels; null when the series is to be left out. */
  #enriched(base: Labels, infos: readonly InfoSeries[]): Labels | null {
    if (infos.length === 0 && this.#required.length > 0) return null;
    const added = new Map<string, string>();
    for (const { raw } of infos) {
      for (const [name, value] of raw.labels) {
        if (name === '__name__' || this.#dataNames?.has(name) === false) continue;
        const other = added.get(name);
        if (other !== undefined && other !== value) throw executionError(`conflicting label: ${name}`);
        if (labelValue(base, name) === '') added.set(name, value);
      }
    }
    let labels = base;
    for (const [name, value] of added) labels = setLabel(labels, name, value);
    return labelsWithin(labels);
  }

  #outputOf({ dropName }: Column, labels: Labels): Output {
    const key = labelsKey(labels);
    let out = this.#out.get(key);
    if (out === undefined) {
      this.#budget.hold(leastWeight(1, this.#frame.count));
      this.#out.set(key, (out = { builder: new ColumnBuilder(this.#frame.count), labels, dropName }));
    }
    return out;
  }
}

/** Copies a step of a base series that is not empty. Errors: `execution` when the output has a sample there. */
function put(column: Column, step: number, { builder }: Output): void {
  if (builder.kinds[step] !== absent) throw sameLabelset();
  builder.copy(step, column);
}
