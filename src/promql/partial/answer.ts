/** What an agent says of itself and of what it is about to send. Times in milliseconds; null in an empty store. */
export interface PartialHeader {
  /** Repeats the request's. */
  readonly planHash: string;
  readonly node: string;
  /** Labels whose value on this node's series is this node's alone. */
  readonly labelsOwned: readonly string[];
  readonly minT: number | null;
  readonly maxT: number | null;
  /** False when a series that the fragment reads carries another node's name: states cannot be merged then. */
  readonly partitionClean: boolean;
  readonly engineVersion: string;
}

/** What the work took on the agent. */
export interface PartialStats {
  readonly waitMs: number;
  readonly evaluateMs: number;
}
