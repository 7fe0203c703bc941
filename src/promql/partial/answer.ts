/**
 * The header of an agent's answer: about the agent and the data that follows. Times in milliseconds; null in an empty
 * store.
 */
export interface PartialHeader {
  /** Repeats the request's value. */
  readonly planHash: string;
  readonly node: string;
  /** Labels whose value on this node's series occurs on no other node. */
  readonly labelsOwned: readonly string[];
  readonly minT: number | null;
  readonly maxT: number | null;
  /** False when a series that the fragment reads carries another node's name: states can then not be merged. */
  readonly partitionClean: boolean;
  readonly engineVersion: string;
}

/** The cost of the work on the agent. */
export interface PartialStats {
  readonly waitMs: number;
  readonly evaluateMs: number;
}
