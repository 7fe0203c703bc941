import { nodeLabel } from '../../api/labels.ts';
import { errorText } from '../../base/errors.ts';
import { Pace } from '../../base/turns/turns.ts';
import { fragmentDemands, LabelPool, PartialMerge, planHash, QueryError, takeMemory } from '../../promql/index.ts';
import type {
  Distribution,
  FragmentDemands,
  FragmentRequest,
  FragmentResult,
  FragmentSettings,
  SelectRequest,
  Steps,
} from '../../promql/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { dearness } from './dearness.ts';
import { askNode, type NodeOutcome } from './ask-node.ts';
import { nodesFilter } from './fan-out.ts';
import type { ScopeOptions } from './query-scope.ts';
import type { NodeLedger } from './node-ledger.ts';
import { StepDown } from './readers/partial-reader.ts';
import type { PartialCall, PartialReader } from './readers/partial-reader.ts';
import { below, fragmentReport } from './pushdown-report.ts';
import type { ExecutionPath, Fallback, FragmentNode, FragmentReport } from './pushdown-report.ts';
import type { SampleBudget } from './merge/series-collector.ts';

/** Pacing counts work in samples: a request to one agent counts as this many. A query may send hundreds of requests. */
const askWork = 40_000;

export interface PushdownOptions {
  readonly scope: ScopeOptions;
  /** The highest path that may be taken; from high to low, the paths are whole, agg, series and off. */
  readonly path: Exclude<ExecutionPath, 'off'>;
  /** True when the client chose the path: fragments are then pushed down even when raw chunks would be cheaper. */
  readonly forced: boolean;
  readonly reader: PartialReader;
  readonly ledger: NodeLedger;
  readonly budget: SampleBudget;
}

/**
 * Runs fragments, which are parts of an expression, on the agents, for one evaluation of a query.
 * Flow: prune agents by the node label → ask all others at the same time → merge each answer → enter lost nodes in the
 * ledger → return the merged answer.
 * When an agent cannot take part, `stepDown` is set and the caller evaluates again by a lower path.
 */
export class Pushdown implements Distribution {
  readonly partitionLabel = nodeLabel;
  readonly aggregates: boolean;
  readonly reports: FragmentReport[] = [];
  stepDown: Fallback | undefined;
  readonly #options: PushdownOptions;
  readonly #pace: Pace;

  constructor(options: PushdownOptions) {
    this.#options = options;
    this.#pace = new Pace(options.scope.signal, options.scope.turns);
    this.aggregates = options.path !== 'series';
  }

  /** The path taken so far. */
  get path(): ExecutionPath {
    const pushed = this.reports.filter(({ outcome }) => outcome === 'pushed');
    if (pushed.length === 0) return 'off';
    if (this.#options.path !== 'whole') return this.#options.path;
    return pushed.some(({ mode }) => mode === 'whole') ? 'whole' : 'agg';
  }

  together(requests: readonly SelectRequest[]): boolean {
    return this.#options.path === 'whole' && this.#matching(requests).asked.length === 1;
  }

  async run(
    fragment: FragmentRequest,
    steps: Steps,
    settings: FragmentSettings,
  ): Promise<readonly FragmentResult[] | null> {
    const demands = fragmentDemands(fragment, steps, settings);
    const { asked, pruned } = this.#matching(demands.requests);
    const report = fragmentReport(fragment, steps.count, pruned);
    this.reports.push(report);
    const mayBeDear = fragment.kind === 'series' && !demands.reduced && !this.#options.forced;
    const dear = mayBeDear ? dearness(demands, steps) : null;
    if (dear !== null) {
      report.outcome = dear;
      return null;
    }
    const doubled = asked.find(({ more }) => (more ?? []).length > 0);
    if (doubled !== undefined) return this.#giveUp('off', doubled.node, 'two agents speak for the node');
    const hash = planHash({ fragment, steps, settings });
    const held = { bytes: 0 };
    const pool = new LabelPool((bytes) => {
      takeMemory(this.#options.budget.memory, bytes);
      held.bytes += bytes;
    });
    const call = {
      fragment,
      steps,
      settings,
      hash,
      shiftedTo: shiftedTo(demands),
      pool,
      held,
      report,
    };
    const merge = new PartialMerge(fragment);
    const asking: Promise<NodeOutcome<FragmentNode>>[] = [];
    for (const [place, agent] of asked.entries()) {
      if (place > 0 && this.#pace.spend(askWork)) await this.#pace.turn();
      const outcome = this.#ask(agent, call, merge, place);
      // The query may end during a turn, before all answers are awaited: a late failure must not be unhandled.
      outcome.catch(() => undefined);
      asking.push(outcome);
    }
    const outcomes = await Promise.all(asking).catch((error: unknown) => {
      // The answers are of no use. Those that are still on their way are merged, too.
      void Promise.allSettled(asking).then(() => this.#options.budget.memory?.give(held.bytes));
      throw error;
    });
    this.#settle(asked, outcomes, report);
    if (report.nodes.length === 0) {
      // An expression without any series may still have a value, or raise a warning: it is then evaluated here.
      report.outcome = 'evaluated here: no node has answered';
      this.#options.budget.memory?.give(held.bytes);
      return null;
    }
    const merged = await merge.finish(new Pace(this.#options.scope.signal, this.#options.scope.turns));
    return [{ ...merged, heldBytes: held.bytes }];
  }

  /** The agents that may have series for any of the requests, without those that are lost. */
  #matching(requests: readonly SelectRequest[]): { readonly asked: ExpectedAgent[]; readonly pruned: string[] } {
    const { scope, ledger } = this.#options;
    const mayMatch = nodesFilter(requests.map(({ matchers }) => matchers));
    const asked: ExpectedAgent[] = [];
    const pruned: string[] = [];
    for (const agent of scope.agents) {
      if (ledger.lost.has(agent.node)) continue;
      if (mayMatch(agent.node)) asked.push(agent);
      else pruned.push(agent.node);
    }
    return { asked, pruned };
  }

  #settle(
    asked: readonly ExpectedAgent[],
    outcomes: readonly NodeOutcome<FragmentNode>[],
    report: FragmentReport,
  ): void {
    const lost = outcomes.flatMap((outcome) => ('lost' in outcome ? [outcome.lost] : []));
    const answered = asked.filter((_, i) => 'answers' in outcomes[i]!).map(({ node }) => node);
    this.#options.ledger.settleAll(answered, lost);
    for (const outcome of outcomes) if ('answers' in outcome) report.nodes.push(...outcome.answers);
  }

  /** Merges an answer as soon as it is complete, so that complete answers do not pile up in memory. */
  async #ask(
    agent: ExpectedAgent,
    call: PartialCall & { held: { bytes: number }; report: FragmentReport },
    merge: PartialMerge,
    place: number,
  ): Promise<NodeOutcome<FragmentNode>> {
    const { scope, reader, budget } = this.#options;
    const { clock, maxSamples, deadline } = scope;
    const { node } = agent;
    const started = clock.monotonic();
    try {
      return await askNode(agent, { ...scope, budget, remainingMs: deadline - started }, async (one, time) => {
        const answer = await reader(one, call, { ...time, maxSamples });
        const { result, stats, bytes, heldBytes, groupBytes } = answer;
        const rows = result.columns.length + result.groups.length;
        // If two agents answer the same group, their results are joined, and the memory of one goes back to the budget.
        let grown = 0;
        const joined = await merge.add(this.#pace, place, result, (more) => {
          takeMemory(time.budget.memory, more);
          grown += more;
        });
        const freed = joined.reduce((sum, i) => sum + groupBytes[i]!, 0);
        time.budget.memory?.give(freed);
        call.held.bytes += heldBytes + grown - freed;
        const samplesDecoded = result.samplesRead;
        return { node, rows, bytes, samplesDecoded, elapsedMs: clock.monotonic() - started, ...stats };
      });
    } catch (error) {
      if (error instanceof StepDown) {
        return this.#giveUp(error.gently ? below(this.path) : 'off', node, error.reason);
      }
      // After this error, the engine evaluates the fragment over raw series.
      call.report.outcome = `evaluated here: ${node} says ${errorText(error)}`;
      throw error;
    }
  }

  #giveUp(to: ExecutionPath, node: string, reason: string): never {
    this.stepDown ??= { from: this.path, to, node, reason };
    throw new QueryError('internal', `the query is executed on another path: ${reason}`);
  }
}

/** The earliest time that a fragment reads if it has `@` or an offset; null for a fragment with neither. */
function shiftedTo({ requests, shifted }: FragmentDemands): number | null {
  return shifted ? Math.min(...requests.map(({ mint }) => mint)) : null;
}
