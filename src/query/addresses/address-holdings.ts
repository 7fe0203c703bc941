/**
 * How an owner has an address. If an address has several owners at a time, the larger number names it. A Service can
 * claim any address, also another Service's, by its `externalIPs`. Services may also have the addresses of nodes, for
 * example of a load balancer that runs on these, but most of what comes from or goes to them is the node's.
 */
const precedence = { claimed: 0, service: 1, node: 2, pod: 3 } as const;
export type HoldingRank = keyof typeof precedence;

/**
 * An owner has an address from `fromMs` until just before `toMs`, which is Infinity while the owner still has it.
 * Units: ms since the epoch.
 */
export interface Holding<Owner> {
  readonly id: string;
  readonly owner: Owner;
  readonly rank: HoldingRank;
  readonly fromMs: number;
  readonly toMs: number;
}

/** How many ended holdings of one address are kept: the oldest of the weakest rank goes first. */
const mostEnded = 8;
/**
 * The clocks of the API server and of nodes differ: an address may be in use a moment before the recorded start of its
 * pod.
 */
const skewMs = 5_000;

/**
 * The present and former owners of one address.
 * Guarantees: no question walks all owners, because they are kept in the order in which they name the address, in each
 * rank by their start.
 */
export class AddressHoldings<Owner> {
  readonly #running = new Map<string, Holding<Owner>>();
  /** The running ones, the one that names the address first: by rank, and in each rank the newest first. */
  readonly #ranked: Holding<Owner>[] = [];
  #ended: readonly Holding<Owner>[] = [];

  /** The owner has the address from then on. What it held before under this id is forgotten. */
  begin(id: string, owner: Owner, rank: HoldingRank, fromMs: number): void {
    this.#stop(id);
    this.#ended = this.#ended.filter((one) => one.id !== id);
    const holding = { id, owner, rank, fromMs, toMs: Infinity };
    this.#running.set(id, holding);
    const at = firstNot(this.#ranked, (one) => outranks(one, holding));
    this.#ranked.splice(at, 0, holding);
  }

  end(id: string, toMs: number): void {
    const holding = this.#stop(id);
    if (!holding) return;
    const ended = [...this.#ended, { ...holding, toMs }];
    if (ended.length > mostEnded) ended.splice(ended.indexOf(ended.reduce(weaker)), 1);
    this.#ended = ended;
  }

  #stop(id: string): Holding<Owner> | undefined {
    const holding = this.#running.get(id);
    if (!holding) return undefined;
    this.#running.delete(id);
    this.#ranked.splice(this.#ranked.indexOf(holding), 1);
    return holding;
  }

  /**
   * Forgets what ended before `sinceMs`. What ended later than now, by a clock that was set back since, counts as ended
   * now. False when nothing is left.
   */
  keep(sinceMs: number, nowMs: number): boolean {
    if (this.#ended.some(({ toMs }) => toMs < sinceMs || toMs > nowMs)) {
      const kept = this.#ended.filter(({ toMs }) => toMs >= sinceMs);
      this.#ended = kept.map((one) => ({ ...one, toMs: Math.min(one.toMs, nowMs) }));
    }
    return this.#running.size + this.#ended.length > 0;
  }

  /** Whether all that have or had the address are Services that only claim it. */
  get areClaims(): boolean {
    return [...this.#ranked.slice(0, 1), ...this.#ended].every(({ rank }) => rank === 'claimed');
  }

  /** What names the address at that time; undefined when nothing did. */
  at(timeMs: number): Holding<Owner> | undefined {
    const isLater = ({ fromMs }: Holding<Owner>): boolean => fromMs - skewMs > timeMs;
    let held: Holding<Owner> | undefined;
    for (let rank = precedence.pod; held === undefined && rank >= 0; rank--) {
      const isBefore = (one: Holding<Owner>): boolean =>
        precedence[one.rank] > rank || (precedence[one.rank] === rank && isLater(one));
      const first = this.#ranked[firstNot(this.#ranked, isBefore)];
      if (first && !isLater(first)) held = first;
    }
    for (const one of this.#ended) {
      if (!isLater(one) && timeMs < one.toMs && (held === undefined || outranks(one, held))) held = one;
    }
    return held;
  }
}

/** The index of the first element for which the condition, which holds for none after it, does not hold. */
function firstNot<T>(list: readonly T[], holds: (one: T) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(list[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The holding of the lower rank; of equal ones the first. */
function weaker<H extends Holding<unknown>>(a: H, b: H): H {
  return precedence[b.rank] < precedence[a.rank] ? b : a;
}

/** Whether the first of two holdings of one time names the address. The choice does not depend on their order. */
function outranks(a: Holding<unknown>, b: Holding<unknown>): boolean {
  const ranks = precedence[a.rank] - precedence[b.rank];
  if (ranks !== 0) return ranks > 0;
  // The end of a holding may be observed after the start of the next.
  if (a.fromMs !== b.fromMs) return a.fromMs > b.fromMs;
  // Nodes have no start: the one that ended was there before the other.
  return a.toMs === b.toMs ? a.id < b.id : a.toMs < b.toMs;
}
