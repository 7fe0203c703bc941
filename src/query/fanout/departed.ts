import type { Clock } from '../../base/clock.ts';
import { QueryError } from '../../promql/index.ts';
import type { Engine, QueryRead } from '../../promql/index.ts';
import type { AgentDirectory, DepartedNode } from '../agents/directory.ts';
import type { LostNode } from './failure.ts';
import { nodeFilter } from './fan-out.ts';

/**
 * The departed nodes (which have left the cluster) whose data the reads lack: the time of a read overlaps that of the
 * missing data, and the matchers of that read do not exclude the node by its label. Of several machines with the same
 * name, only the one that left last is returned. Times before `boundaryMs` are not read from nodes. Sorted by node.
 * Pure.
 */
export function lackingNodes(
  departed: readonly DepartedNode[],
  reads: readonly QueryRead[],
  boundaryMs: number,
): DepartedNode[] {
  const spans = reads.map(({ matchers, mint, maxt }) => {
    return { mayMatch: nodeFilter(matchers), fromMs: Math.max(mint, boundaryMs), toMs: maxt };
  });
  const found = new Map<string, DepartedNode>();
  for (const one of departed) {
    const isRead = spans.some(
      ({ mayMatch, fromMs, toMs }) =>
        fromMs <= toMs && fromMs <= one.leftMs && toMs >= one.fromMs && (one.note !== undefined || mayMatch(one.node)),
    );
    const known = found.get(one.node);
    if (isRead && (known === undefined || known.leftMs < one.leftMs)) found.set(one.node, one);
  }
  return [...found.values()].sort((a, b) => (a.node < b.node ? -1 : 1));
}

export interface DeparturesOptions {
  readonly directory: Pick<AgentDirectory, 'departed'>;
  readonly engine: Pick<Engine, 'reads'>;
  readonly clock: Pick<Clock, 'now'>;
  /** If set, a long-term store answers for all times that are more than `afterMs` ago. */
  readonly longTerm?: { readonly afterMs: number } | undefined;
}

/**
 * Finds the departed nodes that an answer lacks. They follow from what the query reads, so they are the same however
 * the query is executed.
 */
export class Departures {
  readonly #options: DeparturesOptions;

  constructor(options: DeparturesOptions) {
    this.#options = options;
  }

  /**
   * The departed nodes that a query over a span of time lacks. None for a query that does not parse: its evaluation
   * reports the error.
   */
  ofQuery(
    query: string,
    span: { readonly start: number; readonly end: number; readonly step: number },
    lookbackDeltaMs: number | undefined,
  ): readonly DepartedNode[] {
    return this.of(() => {
      try {
        return this.#options.engine.reads(query, span, lookbackDeltaMs);
      } catch (error) {
        if (error instanceof QueryError) return [];
        throw error;
      }
    });
  }

  /** The departed nodes that these reads lack. The reads are computed only when a node has left at all. */
  of(reads: () => readonly QueryRead[], boundaryMs = this.#boundaryMs()): readonly DepartedNode[] {
    const departed = this.#options.directory.departed?.() ?? [];
    return departed.length === 0 ? departed : lackingNodes(departed, reads(), boundaryMs);
  }

  #boundaryMs(): number {
    const { longTerm, clock } = this.#options;
    return longTerm === undefined ? -Infinity : clock.now() - longTerm.afterMs;
  }
}

/** The nodes that did not answer, and the departed nodes. A node that is both is listed as one that did not answer. */
export function withDeparted(
  lost: ReadonlyMap<string, LostNode>,
  departed: readonly DepartedNode[],
): ReadonlyMap<string, LostNode> {
  if (departed.length === 0) return lost;
  return new Map([...departed.map((one) => [one.node, departedNode(one)] as const), ...lost]);
}

function departedNode({ node, fromMs, leftMs, note }: DepartedNode): LostNode {
  const [since, left] = [fromMs, leftMs].map((ms) => new Date(ms).toISOString());
  const message = note ?? `it left at ${left}; its data since ${since} is gone`;
  return { node, reason: 'departed', message, elapsedMs: 0 };
}
