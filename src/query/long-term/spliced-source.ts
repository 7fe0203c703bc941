import type { Distribution, IndexLists, SelectRequest, SelectResult, SeriesSource } from '../../promql/index.ts';
import { fragmentDemands } from '../../promql/index.ts';
import type { ReadQuery } from '../../tsdb/index.ts';
import type { Clock } from '../../base/clock.ts';
import { Pace, turns, type TurnTaking } from '../../base/turns/turns.ts';
import { errorText } from '../../base/errors.ts';
import { AgentFailure } from '../fanout/failure.ts';
import type { LostNode } from '../fanout/failure.ts';
import type { IndexQuestion } from '../fanout/readers/index-reader.ts';
import { joinLists, listsOf, readQueries } from '../fanout/merge/list-labels.ts';
import { mergeDuplicates } from '../fanout/merge/duplicates.ts';
import { readQuery } from '../fanout/query-scope.ts';
import type { QueryScope, Selected } from '../fanout/query-scope.ts';
import { bytesOfAll, heldBytesOf } from '../fanout/merge/series-collector.ts';
import type { ReadSeries } from '../fanout/merge/series-collector.ts';
import { longTermName } from './long-term-store.ts';
import type { LongTermStore } from './long-term-store.ts';
import { foreignLabels } from './store-labels.ts';

export interface SpliceOptions {
  readonly scope: QueryScope;
  readonly store: LongTermStore;
  /** Samples from here on are read from the agents, earlier ones from the store. ms. */
  readonly boundaryMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Monotonic ms at which the query's time is up. */
  readonly deadline: number;
  /** Set when an earlier attempt at the same query lost the store: the store is then not read again. */
  readonly lost?: LostNode | undefined;
  /** Decides when the query lets other work run. Default: as for the whole process. */
  readonly turns?: TurnTaking | undefined;
}

/**
 * Agents and long-term store as one source: each time belongs to one of them, so there is no gap and no overlap, and a
 * series that crosses the boundary is one series.
 * Guarantees: the store's data is in the whole evaluation or not in it at all. When it answers and then fails,
 * `restart` is set, and the caller evaluates again without it.
 */
export class SplicedSource implements SeriesSource {
  readonly #options: SpliceOptions;
  #answered = false;
  /** Why the store's data is not in the evaluation. */
  lostStore: LostNode | undefined;
  restart = false;

  constructor(options: SpliceOptions) {
    this.#options = options;
    this.lostStore = options.lost;
  }

  get memory(): QueryScope['memory'] {
    return this.#options.scope.memory;
  }

  /** The missing nodes, as reported by the scope. */
  get lost(): ReadonlyMap<string, LostNode> {
    return this.#options.scope.lost;
  }

  /** The agents' series are not decoded here, not even where they are parts of series that cross the boundary. */
  async select(request: SelectRequest): Promise<SelectResult> {
    const { scope, boundaryMs } = this.#options;
    if (request.mint >= boundaryMs) return scope.select(request);
    // The scope joins the selectors of one turn of the event loop: each agent is asked for all of them together.
    const none: Selected = { series: [] };
    const recent = request.maxt < boundaryMs ? none : scope.select({ ...request, mint: boundaryMs });
    const [old, { series: late, warnings: told = [] }] = await Promise.all([this.#old([readQuery(request)]), recent]);
    const warnings = [...told];
    const foreign = foreignLabels(old[0]!, late);
    if (foreign.length > 0) {
      const names = foreign.join(', ');
      warnings.push(
        `series of ${longTermName} do not continue in those of the agents, which have no label ${names}: name what the store adds in --long-term-labels`,
      );
    }
    const { series } = await mergeDuplicates([...old[0]!, ...late], this.#pace());
    // From here on the engine charges their memory to its own budget.
    this.#giveBack(old);
    return { series, heldBytes: heldBytesOf(series), warnings };
  }

  /** As the scope's `read`. */
  async read(queries: readonly ReadQuery[]): Promise<ReadSeries[][]> {
    const { scope, boundaryMs } = this.#options;
    const later = queries.map((query) => ({ ...query, startMs: Math.max(query.startMs, boundaryMs) }));
    const isRecent = queries.map(({ endMs }) => endMs >= boundaryMs);
    const isOld = queries.map(({ startMs }) => startMs < boundaryMs);
    const [recent, old] = await Promise.all([
      isRecent.includes(true) ? scope.read(later.filter((_, i) => isRecent[i])) : [],
      isOld.includes(true) ? this.#old(queries.filter((_, i) => isOld[i])) : [],
    ]);
    let [r, o] = [0, 0];
    const pace = this.#pace();
    const results: ReadSeries[][] = [];
    for (const i of queries.keys()) {
      const before = isOld[i] ? old[o++]! : [];
      const after = isRecent[i] ? recent[r++]! : [];
      results.push(before.length === 0 ? after : (await mergeDuplicates([...before, ...after], pace)).series);
    }
    return results;
  }

  /** As the scope's `list`. The store cannot be asked for names alone, so its series are read. */
  async list(question: IndexQuestion): Promise<IndexLists> {
    const { scope, boundaryMs } = this.#options;
    const { startMs, endMs } = question;
    const [recent, old] = await Promise.all([
      endMs >= boundaryMs ? scope.list({ ...question, startMs: Math.max(startMs, boundaryMs) }) : undefined,
      startMs < boundaryMs ? this.#old(readQueries(question)) : undefined,
    ]);
    const before =
      old &&
      listsOf(
        old.flat().map(({ labels }) => labels),
        question,
      );
    this.#giveBack(old ?? []);
    return joinLists(
      [recent, before].filter((lists) => lists !== undefined),
      question,
      this.#options.turns ?? turns,
      this.memory,
    );
  }

  /** The agents compute only fragments that read nothing before the boundary. */
  distribution(own: Distribution | undefined): Distribution | undefined {
    if (own === undefined) return undefined;
    const { boundaryMs } = this.#options;
    return {
      partitionLabel: own.partitionLabel,
      ...(own.aggregates === undefined ? {} : { aggregates: own.aggregates }),
      together: (requests) => requests.every(({ mint }) => mint >= boundaryMs) && (own.together?.(requests) ?? false),
      run: async (fragment, steps, settings, signal) => {
        const { requests } = fragmentDemands(fragment, steps, settings);
        if (requests.some(({ mint }) => mint < boundaryMs)) return null;
        return own.run(fragment, steps, settings, signal);
      },
    };
  }

  #pace(): Pace {
    return new Pace(this.#options.signal, this.#options.turns ?? turns);
  }

  /** Gives back the memory of samples that the store's read has taken. */
  #giveBack(read: readonly (readonly ReadSeries[])[]): void {
    this.memory?.give(bytesOfAll(read.flat()));
  }

  async #old(queries: readonly ReadQuery[]): Promise<ReadSeries[][]> {
    const { store, boundaryMs, clock, signal, deadline, scope } = this.#options;
    if (this.lostStore) return queries.map(() => []);
    const started = clock.monotonic();
    try {
      const result = await store.read(
        queries.map((query) => until(query, boundaryMs - 1)),
        { deadlineMs: (deadline - started) * 0.8, budget: scope.budget, signal },
      );
      // The read of another selector has lost the store in the meantime: the evaluation goes on without the store.
      if (this.lostStore) {
        this.#giveBack(result);
        return queries.map(() => []);
      }
      this.#answered = true;
      // A store may send whole chunks. Their samples at or after the boundary are dropped: the agents have those times.
      return result.map((series) => series.map((one) => before(one, boundaryMs)));
    } catch (error) {
      if (!(error instanceof AgentFailure)) throw error;
      const { reason } = error;
      const elapsedMs = clock.monotonic() - started;
      this.lostStore = { node: longTermName, reason, message: errorText(error), elapsedMs };
      if (!this.#answered) return queries.map(() => []);
      this.restart = true;
      throw error;
    }
  }
}

/** The query without times after `lastMs`, also in its hints: some stores go by these alone, as Mimir does. */
function until(query: ReadQuery, lastMs: number): ReadQuery {
  const { endMs, hints } = query;
  const cut = { ...query, endMs: Math.min(endMs, lastMs) };
  return hints?.endMs === undefined ? cut : { ...cut, hints: { ...hints, endMs: Math.min(hints.endMs, lastMs) } };
}

function before(series: ReadSeries, boundaryMs: number): ReadSeries {
  const { timestamps, values, histograms } = series;
  let n = timestamps.length;
  while (n > 0 && timestamps[n - 1]! >= boundaryMs) n--;
  if (n === timestamps.length) return series;
  return {
    labels: series.labels,
    timestamps: timestamps.subarray(0, n),
    values: values.subarray(0, n),
    ...(histograms ? { histograms: histograms.slice(0, n) } : {}),
  };
}
