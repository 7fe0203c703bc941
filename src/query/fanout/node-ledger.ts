import { QueryError } from '../../promql/index.ts';
import type { LostNode } from './failure.ts';

/**
 * The nodes whose data one evaluation of a query uses. Every part of the query reports its outcome here, whichever way
 * the data of the part is read.
 * Guarantees: a node's data is in all parts or in none. When a node is lost after its data was used, the evaluation is
 * void: `restart` is set, and the caller evaluates again without the node.
 */
export class NodeLedger {
  readonly lost: Map<string, LostNode>;
  readonly #used = new Set<string>();
  restart = false;

  /** Nodes that an earlier attempt at the same query lost are left out from the start. */
  constructor(lost: ReadonlyMap<string, LostNode>) {
    this.lost = new Map(lost);
  }

  /**
   * Records the outcome of one part; returns the nodes whose data may be used for it.
   * Errors: QueryError `internal` when the evaluation is void.
   */
  settle(answered: readonly string[], lost: readonly LostNode[]): Set<string> {
    for (const one of lost) this.lost.set(one.node, one);
    if (lost.some(({ node }) => this.#used.has(node))) this.restart = true;
    if (this.restart) throw voided();
    const usable = new Set(answered.filter((node) => !this.lost.has(node)));
    for (const node of usable) this.#used.add(node);
    return usable;
  }

  /**
   * As `settle`, for data that was joined from several nodes: if any of them is lost, the evaluation is void.
   * Errors: QueryError `internal` when the evaluation is void.
   */
  settleAll(answered: readonly string[], lost: readonly LostNode[]): void {
    if (this.settle(answered, lost).size === answered.length) return;
    this.restart = true;
    throw voided();
  }
}

function voided(): QueryError {
  return new QueryError('internal', 'an agent was lost in the middle of the query');
}
