import type { Memory } from '../../base/memory-pool.ts';
import { Pace, turns, type TurnTaking } from '../../base/turns/turns.ts';
import type { IndexLists, SelectRequest, SelectResult, SeriesSource } from '../../promql/index.ts';
import type { ReadQuery } from '../../tsdb/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { fanOut } from './fan-out.ts';
import type { AgentPart, Asked } from './fan-out.ts';
import type { IndexQuestion } from './readers/index-reader.ts';
import { joinLists, listLabels } from './merge/list-labels.ts';
import type { ListDeps } from './merge/list-labels.ts';
import type { LostNode } from './failure.ts';
import { mergeDuplicates } from './merge/duplicates.ts';
import { mergeSorted } from './merge/sorted.ts';
import { NodeLedger } from './node-ledger.ts';
import { bytesOfAll, decodeAll, heldBytesOf } from './merge/series-collector.ts';
import type { CollectedSeries, ReadSeries, SampleBudget } from './merge/series-collector.ts';

/** The series of one selector, sorted. */
export interface Selected extends SelectResult {
  readonly series: readonly CollectedSeries[];
}

interface Waiting {
  readonly query: ReadQuery;
  readonly resolve: (result: Selected) => void;
  readonly reject: (error: unknown) => void;
}

export interface ScopeOptions extends ListDeps {
  readonly agents: readonly ExpectedAgent[];
  readonly signal: AbortSignal;
  /** Monotonic ms at which the query's time is up. */
  readonly deadline: number;
  readonly maxSamples: number;
  /** Takes the query's turns on the event loop. Default: those of the process. */
  readonly turns?: TurnTaking;
  /** The source of the memory for the data that is read. Default: nothing is counted. */
  readonly memory?: Memory | undefined;
  /** Nodes that an earlier attempt at the same query lost: they are left out from the start. */
  readonly lost: ReadonlyMap<string, LostNode>;
}

/**
 * The reads of one evaluation of a query: the engine's source over all agents.
 *
 * Flow: selectors that the engine asks for in one turn of the event loop go to each agent together, in one request
 * unless that would be too large.
 * Guarantees: a node's data is in the whole evaluation or not in it at all (see NodeLedger).
 */
export class QueryScope implements SeriesSource {
  readonly #options: ScopeOptions;
  readonly budget: SampleBudget;
  readonly ledger: NodeLedger;
  #waiting: Waiting[] = [];
  readonly #turns: TurnTaking;
  /** Number of selectors that were read as raw samples. */
  rawSelectors = 0;
  /** One warning for each set of nodes that sent series with equal labels; these series were joined. */
  readonly warnings = new Set<string>();

  constructor(options: ScopeOptions) {
    this.#options = options;
    this.#turns = options.turns ?? turns;
    this.budget = { left: options.maxSamples, memory: options.memory };
    this.ledger = new NodeLedger(options.lost);
  }

  /** The source of all memory of this evaluation. */
  get memory(): Memory | undefined {
    return this.#options.memory;
  }

  get lost(): ReadonlyMap<string, LostNode> {
    return this.ledger.lost;
  }

  get restart(): boolean {
    return this.ledger.restart;
  }

  select(request: SelectRequest): Promise<Selected> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) queueMicrotask(() => void this.#flush());
      this.#waiting.push({ query: readQuery(request), resolve, reject });
    });
  }

  /** Label names, values of a label, or label sets from the nodes' indexes: sorted, without repetition. */
  async list(question: IndexQuestion): Promise<IndexLists> {
    const used = this.#usable(await listLabels({ ...this.#request(), question }, this.#options));
    const lists = used.flatMap(({ readings }) => readings);
    return joinLists(lists, question, this.#turns, this.memory);
  }

  /** The series of several selectors, with all their samples. */
  async read(queries: readonly ReadQuery[]): Promise<ReadSeries[][]> {
    const collected = await this.#collect(queries);
    const pace = new Pace(this.#options.signal);
    const results: ReadSeries[][] = [];
    for (const all of collected) results.push(await decodeAll(all, this.memory, pace));
    return results;
  }

  async #collect(queries: readonly ReadQuery[]): Promise<CollectedSeries[][]> {
    const used = this.#usable(await fanOut({ ...this.#request(), queries }, this.#options));
    this.rawSelectors += queries.length;
    const joined: CollectedSeries[][] = [];
    for (const i of queries.keys()) joined.push(await this.#joined(used, i));
    return joined;
  }

  /** The options that all requests to the nodes share; lost nodes are left out. */
  #request() {
    const { agents, clock, signal, deadline } = this.#options;
    return {
      agents: agents.filter(({ node }) => !this.lost.has(node)),
      budget: this.budget,
      signal,
      remainingMs: deadline - clock.monotonic(),
    };
  }

  /** Records which nodes answered and which were lost. Returns the parts of the nodes that the query may use. */
  #usable<P extends { readonly node: string }>({ parts, lost }: Asked<P>): P[] {
    const answered = parts.map(({ node }) => node);
    const usable = this.ledger.settle(answered, lost);
    return parts.filter(({ node }) => usable.has(node));
  }

  /** The series of one of the queries from all parts, joined and in label order. */
  async #joined(parts: readonly AgentPart[], query: number): Promise<CollectedSeries[]> {
    const overlapping = parts.filter(({ overlaps }) => overlaps).map(({ node }) => node);
    const lists = parts.map(({ series }) => series[query]!);
    if (overlapping.length === 0) return mergeSorted(lists, this.#turns);
    // Series with equal labels are joined; at equal times the first agent's sample is kept.
    const pace = new Pace(this.#options.signal, this.#turns);
    const { series, duplicates } = await mergeDuplicates(lists.flat(), pace);
    if (duplicates > 0) {
      const sentence = 'of equal labels came from two agents and were joined; at equal times the first agent counts';
      this.warnings.add(`series ${sentence} (seen at ${overlapping.join(', ')})`);
    }
    return mergeSorted([series], this.#turns);
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      const found = await this.#collect(batch.map(({ query }) => query));
      for (const [i, { resolve }] of batch.entries()) {
        const series = found[i]!;
        // From here on the engine charges their memory to its own budget.
        this.memory?.give(bytesOfAll(series));
        resolve({ series, sorted: true, heldBytes: heldBytesOf(series), warnings: [...this.warnings] });
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

/**
 * The request with times in whole milliseconds, as the protocol requires. Rounding may widen the time range, which is
 * harmless: the engine drops the samples outside the range that it asked for.
 */
export function readQuery({ matchers, mint, maxt, hints }: SelectRequest): ReadQuery {
  const { start, end, step, range, func, grouping, by } = hints;
  return {
    startMs: Math.floor(mint),
    endMs: Math.ceil(maxt),
    matchers,
    hints: {
      startMs: Math.floor(start),
      endMs: Math.ceil(end),
      stepMs: Math.round(step),
      rangeMs: Math.round(range),
      func,
      grouping,
      by,
    },
  };
}
