import { errorText } from '../../base/errors.ts';
import { fragmentDemands, LabelPool, PartialMerge, planHash, QueryError } from '../../promql/index.ts';
import type {
  Distribution,
  FragmentDemands,
  FragmentRequest,
  FragmentResult,
  FragmentSettings,
  Steps,
} from '../../promql/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { dearness } from './dearness.ts';
import { agentDeadline, nodeFilter } from './fan-out.ts';
import { AgentFailure, unaskedNode } from './failure.ts';
import type { LostNode } from './failure.ts';
import type { ScopeOptions } from './query-scope.ts';
import type { NodeLedger } from './node-ledger.ts';
import { StepDown } from './partial-reader.ts';
import type { PartialCall, PartialReader } from './partial-reader.ts';
import { below, fragmentReport } from './pushdown-report.ts';
import type { ExecutionPath, Fallback, FragmentNode, FragmentReport } from './pushdown-report.ts';
import { nodeLabel } from './series-collector.ts';
import type { SampleBudget } from './series-collector.ts';

export interface PushdownOptions {
  readonly scope: ScopeOptions;
  readonly path: 'agg' | 'series';
  /** True when the path was asked for: then nothing is left out for being dear. */
  readonly forced: boolean;
  readonly reader: PartialReader;
  readonly ledger: NodeLedger;
  readonly budget: SampleBudget;
}

type Outcome = { readonly told: FragmentNode } | { readonly lost: LostNode };

/**
 * Has fragments computed by the agents, for one evaluation of a query.
 * Flow: prune agents by the node label → ask all others at once → merge each answer → settle lost nodes with the
 * ledger → hand out what was merged.
 * When an agent cannot take part, `stepDown` is set and the caller evaluates again in a lower way.
 */
export class Pushdown implements Distribution {
  readonly partitionLabel = nodeLabel;
  readonly aggregates: boolean;
  readonly reports: FragmentReport[] = [];
  stepDown: Fallback | undefined;
  readonly #options: PushdownOptions;

  constructor(options: PushdownOptions) {
    this.#options = options;
    this.aggregates = options.path === 'agg';
  }

  async run(
    fragment: FragmentRequest,
    steps: Steps,
    settings: FragmentSettings,
  ): Promise<readonly FragmentResult[] | null> {
    const { scope, ledger, forced } = this.#options;
    const demands = fragmentDemands(fragment, steps, settings);
    const filters = demands.requests.map(({ matchers }) => nodeFilter(matchers));
    const here = scope.agents.filter(({ node }) => !ledger.lost.has(node));
    const asked = here.filter(({ node }) => filters.some((mayMatch) => mayMatch(node)));
    const pruned = here.filter((agent) => !asked.includes(agent)).map(({ node }) => node);
    const report = fragmentReport(fragment, steps.count, pruned);
    this.reports.push(report);
    const dear = forced || fragment.kind === 'agg' || demands.reduced ? null : dearness(demands, steps);
    if (dear !== null) {
      report.outcome = dear;
      return null;
    }
    const doubled = asked.find(({ more }) => (more ?? []).length > 0);
    if (doubled !== undefined) return this.#giveUp('off', doubled.node, 'two agents speak for the node');
    const hash = planHash({ fragment, steps, settings });
    const call = { fragment, steps, settings, hash, shiftedTo: shiftedTo(demands), pool: new LabelPool() };
    const merge = new PartialMerge(fragment);
    const outcomes = await Promise.all(asked.map((agent, place) => this.#ask(agent, call, merge, place)));
    this.#settle(asked, outcomes, report);
    return [merge.finish()];
  }

  #settle(asked: readonly ExpectedAgent[], outcomes: readonly Outcome[], report: FragmentReport): void {
    const lost = outcomes.flatMap((outcome) => ('lost' in outcome ? [outcome.lost] : []));
    const answered = asked.filter((_, i) => 'told' in outcomes[i]!).map(({ node }) => node);
    this.#options.ledger.settleAll(answered, lost);
    for (const outcome of outcomes) if ('told' in outcome) report.nodes.push(outcome.told);
  }

  /** A whole answer is merged as soon as it is there, so that no more than one of an agent's is held. */
  async #ask(agent: ExpectedAgent, call: PartialCall, merge: PartialMerge, place: number): Promise<Outcome> {
    const { scope, reader, budget } = this.#options;
    const { clock, signal, maxSamples } = scope;
    const { node, address } = agent;
    if (address === undefined) return { lost: unaskedNode(agent) };
    const started = clock.monotonic();
    try {
      const deadlineMs = agentDeadline(agent, scope.agentTimeoutMs, scope.deadline - started);
      const options = { deadlineMs, budget, maxSamples, signal };
      const { result, stats, bytes } = await reader({ ...agent, address }, call, options);
      const rows = result.columns.length + result.groups.length;
      merge.add(place, result);
      const { samplesRead } = result;
      return { told: { node, rows, bytes, samplesRead, elapsedMs: clock.monotonic() - started, ...stats } };
    } catch (error) {
      if (error instanceof StepDown) {
        return this.#giveUp(error.gently ? below(this.#options.path) : 'off', node, error.reason);
      }
      if (!(error instanceof AgentFailure)) throw error;
      const elapsedMs = clock.monotonic() - started;
      return { lost: { node, reason: error.reason, message: errorText(error), elapsedMs } };
    }
  }

  #giveUp(to: ExecutionPath, node: string, reason: string): never {
    this.stepDown ??= { from: this.#options.path, to, node, reason };
    throw new QueryError('internal', `the query takes another way: ${reason}`);
  }
}

/** The earliest time that a fragment reads otherwise than by standing at its steps. */
function shiftedTo({ requests, shifted }: FragmentDemands): number | null {
  return shifted ? Math.min(...requests.map(({ mint }) => mint)) : null;
}
