import { QueryError } from '../../promql/index.ts';
import type { LostNode } from './failure.ts';

/**
 * Which nodes one evaluation of a query has data of. All parts of the query, however they are read, settle here.
 * Guarantees: a node's data is in all parts or in none. When a node whose data was handed out is lost later, the
 * evaluation is void: `restart` is set, and the caller evaluates again without the node.
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
   * Takes note of one part's outcome; returns the nodes whose data may be used for it.
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
   * As `settle`, for data that has been joined already: void when any node of it is lost.
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
