/** The results of both sides, run by run; `peer` is empty without a peer. */
export interface Turns<T> {
  readonly ours: T[];
  readonly peer: T[];
}

export interface Sides<T> {
  readonly ours: (run: number) => Promise<T>;
  readonly peer?: ((run: number) => Promise<T>) | undefined;
}

/**
 * Runs both sides one after the other, `runs` times. The side that begins changes with each run, so that neither always
 * meets the warmer machine or the fuller disk.
 */
export async function inTurns<T>(runs: number, { ours, peer }: Sides<T>): Promise<Turns<T>> {
  const done: Turns<T> = { ours: [], peer: [] };
  for (let run = 0; run < runs; run++) {
    const ownTurn = async (): Promise<void> => void done.ours.push(await ours(run));
    const peerTurn = async (): Promise<void> => void (peer && done.peer.push(await peer(run)));
    for (const turn of run % 2 === 0 ? [ownTurn, peerTurn] : [peerTurn, ownTurn]) await turn();
  }
  return done;
}

/** Picks one number from each run: a list for our runs and one for the peer's, as a figure of a report needs them. */
export function column<T>(turns: Turns<T>, of: (result: T) => number): { ours: number[]; peer?: number[] } {
  return { ours: turns.ours.map(of), ...(turns.peer.length > 0 ? { peer: turns.peer.map(of) } : {}) };
}
