/**
 * If an address has several owners at a time, the larger number has it. Services may have the addresses of nodes, for
 * example of a load balancer that runs on these, but most of what comes from or goes to them is the node's.
 */
const precedence = { service: 0, node: 1, pod: 2 } as const;

/**
 * An owner has an address from `fromMs` until just before `toMs`, which is Infinity while the owner still has it.
 * Units: ms since the epoch.
 */
export interface Holding<Owner> {
  readonly id: string;
  readonly owner: Owner;
  readonly fromMs: number;
  readonly toMs: number;
}

interface Owned {
  readonly kind: keyof typeof precedence;
}

/** How many ended holdings of one address are kept: the oldest of the weakest kind goes first. */
const mostEnded = 8;
/**
 * The clocks of the API server and of nodes differ: an address may be in use a moment before the recorded start of its
 * pod.
 */
const skewMs = 5_000;

/**
 * The present and former owners of one address.
 * Guarantees: no question walks all owners, because they are kept in the order in which they name the address, in each
 * kind by their start.
 */
export class AddressHoldings<Owner extends Owned> {
  readonly #running = new Map<string, Holding<Owner>>();
  /** The running ones, the one that names the address first: by kind, and in each kind the newest first. */
  readonly #ranked: Holding<Owner>[] = [];
  #ended: readonly Holding<Owner>[] = [];

  /** The owner has the address from then on. What it held before under this id is forgotten. */
  begin(id: string, owner: Owner, fromMs: number): void {
    this.#stop(id);
    this.#ended = this.#ended.filter((one) => one.id !== id);
    const holding = { id, owner, fromMs, toMs: Infinity };
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

  /** Forgets what ended before then. False when nothing is left. */
  keepSince(ms: number): boolean {
    if (this.#ended.some(({ toMs }) => toMs < ms)) this.#ended = this.#ended.filter(({ toMs }) => toMs >= ms);
    return this.#running.size + this.#ended.length > 0;
  }

  /** The owner at that time; undefined when there was none. */
  at(timeMs: number): Owner | undefined {
    const isLater = ({ fromMs }: Holding<Owner>): boolean => fromMs - skewMs > timeMs;
    let held: Holding<Owner> | undefined;
    for (let rank = precedence.pod; held === undefined && rank >= 0; rank--) {
      const isBefore = (one: Holding<Owner>): boolean =>
        precedence[one.owner.kind] > rank || (precedence[one.owner.kind] === rank && isLater(one));
      const first = this.#ranked[firstNot(this.#ranked, isBefore)];
      if (first && !isLater(first)) held = first;
    }
    for (const one of this.#ended) {
      if (!isLater(one) && timeMs < one.toMs && (held === undefined || outranks(one, held))) held = one;
    }
    return held?.owner;
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

/** The holding whose owner has less precedence; of equal ones the first. */
function weaker<H extends Holding<Owned>>(a: H, b: H): H {
  return precedence[b.owner.kind] < precedence[a.owner.kind] ? b : a;
}

/** Whether the first of two holdings of one time names the address. The choice does not depend on their order. */
function outranks(a: Holding<Owned>, b: Holding<Owned>): boolean {
  const kinds = precedence[a.owner.kind] - precedence[b.owner.kind];
  if (kinds !== 0) return kinds > 0;
  // The end of a holding may be observed after the start of the next.
  if (a.fromMs !== b.fromMs) return a.fromMs > b.fromMs;
  // Nodes have no start: the one that ended was there before the other.
  return a.toMs === b.toMs ? a.id < b.id : a.toMs < b.toMs;
}
