import { beginTime, createCa, expiryTime, isPair, renewalTime, type KeyPairPem } from './ca.ts';

/**
 * The life cycle of the certificate authority. A new one is trusted everywhere before it signs anything, and the old
 * one stays trusted until no certificate signed by it is left:
 *
 *   alone ──(two thirds of its life, or a request)──▶ next is trusted ──(distribution)──▶ next signs, the old one is
 *   trusted ──(retirement)──▶ alone
 *
 * Pure but for the keys it makes; time is a parameter. Units: ms since the epoch.
 */
export interface CaState {
  /** Signs leaf certificates. */
  signer: KeyPairPem;
  /** Will sign: trusted since `since`, so that every process knows it before it signs. */
  next?: { pair: KeyPairPem; since: number };
  /** Certificates of CAs that no longer sign, usually one, newest first: trusted until all their leaves are replaced. */
  previous?: { cert: string; since: number };
}

export interface CaTiming {
  /** Validity of a CA. */
  days: number;
  /**
   * How long a bundle may take to reach every process: the kubelet syncs a Secret within two minutes, so this leaves a
   * wide margin.
   */
  distributionMs: number;
  /** How long the old CA stays trusted after the change. Users renew their own copies of the bundle in this time. */
  retirementMs: number;
}

export const caTiming: CaTiming = { days: 3650, distributionMs: 3_600_000, retirementMs: 24 * 3_600_000 };

/** A clock that lags more is not believed. */
const mostLagMs = 7 * 24 * 3_600_000;

export interface CaPlan {
  state: CaState;
  /** The steps taken, a sentence each; empty when the state is unchanged. */
  changes: string[];
  /** When the next step is due. */
  nextAt: number;
}

/** The certificates that clients trust, newest first. */
export function caBundle(state: CaState): string {
  return bundleOf(state.next?.pair.cert, state.signer.cert, state.previous?.cert);
}

/** OpenSSL overlooks a certificate that begins on the last line of the one before it. */
function bundleOf(...certs: (string | undefined)[]): string {
  return certs.flatMap((cert) => (cert === undefined ? [] : `${cert.trimEnd()}\n`)).join('');
}

/**
 * Computes the state at `now`. `rotate` requests a new CA whatever the age of the old one. `storedAt` is when the
 * operator last wrote the annotations of `stored`, by the clock of the API server: a step counts from then if its own
 * date is earlier, because the clock that dated it lagged, but from a week after its date at most, because any later
 * write of an annotation moves `storedAt`.
 * Caveats: at most one step per call. An expired CA is replaced without steps, because no client trusts it any more.
 * A CA that is not valid yet is replaced at once: either the clock that made it ran ahead, or the clock of this leader
 * lags. In the second case its certificates are in use, so it stays trusted. A step that is dated later counts from now.
 * A `storedAt` more than `retirementMs` later than now does not count: the clock of the API server ran ahead.
 * A next CA whose key does not belong to its certificate is made again.
 */
export async function planCa(
  stored: CaState | undefined,
  options: { now: number; commonName: string; rotate?: boolean; timing?: CaTiming; storedAt?: number | undefined },
): Promise<CaPlan> {
  const { now, commonName, timing = caTiming, storedAt = -Infinity } = options;
  const make = (): Promise<KeyPairPem> => createCa({ commonName, now, days: timing.days });
  if (!stored) return planned({ signer: await make() }, ['a certificate authority is made'], timing);
  const current = datedUntil(now, stored);
  const due = dueTimes(current, timing, storedAt > now + timing.retirementMs ? -Infinity : storedAt);
  const next = current.next && isUsable(current.next.pair, now) ? current.next : undefined;
  if (now >= expiryTime(current.signer)) {
    const signer = next?.pair ?? (await make());
    return planned({ signer }, ['the certificate authority had expired and is replaced'], timing);
  }
  if (now < beginTime(current.signer)) {
    const signer = next?.pair ?? (await make());
    const state = { signer, previous: { cert: bundleOf(current.signer.cert, current.previous?.cert), since: now } };
    return planned(state, ['the certificate authority is not valid yet and is replaced'], timing);
  }
  if (current.next && !next) {
    const state = { ...current, next: { pair: await make(), since: now } };
    return planned(state, ['the next certificate authority cannot be used and is replaced'], timing);
  }
  if (current.next && now >= due.signs) {
    const state = { signer: current.next.pair, previous: { cert: current.signer.cert, since: now } };
    return planned(state, ['the new certificate authority signs from now on'], timing);
  }
  if (current.previous && now >= due.retires) {
    return planned(without(current, 'previous'), ['the old certificate authority is no longer trusted'], timing);
  }
  // One change at a time: with three CAs it would be unclear which is trusted where.
  if (!current.next && !current.previous && (now >= due.renews || options.rotate)) {
    const state = { ...current, next: { pair: await make(), since: now } };
    const why = now >= due.renews ? 'renewal is due' : 'asked for';
    return planned(state, [`a new certificate authority is trusted (${why})`], timing);
  }
  return { state: current, changes: [], nextAt: earliest(due) };
}

/** Whether it can sign in future. A key of another certificate can come from an edit of the Secret. */
const isUsable = (pair: KeyPairPem, now: number): boolean => now >= beginTime(pair) && isPair(pair);

/** The plan of a step that is taken now. */
function planned(state: CaState, changes: string[], timing: CaTiming): CaPlan {
  return { state, changes, nextAt: earliest(dueTimes(state, timing)) };
}

const earliest = (due: ReturnType<typeof dueTimes>): number => Math.min(...Object.values(due));

/** When each step is due; Infinity for one that the state does not wait for. */
function dueTimes({ signer, next, previous }: CaState, timing: CaTiming, storedAt = -Infinity) {
  const start = (since: number): number => Math.max(since, Math.min(storedAt, since + mostLagMs));
  return {
    signs: next ? start(next.since) + timing.distributionMs : Infinity,
    retires: previous ? start(previous.since) + timing.retirementMs : Infinity,
    renews: next || previous ? Infinity : renewalTime(signer),
  };
}

/** The state without dates later than `now`. */
function datedUntil(now: number, state: CaState): CaState {
  const { next, previous } = state;
  if (Math.max(next?.since ?? now, previous?.since ?? now) <= now) return state;
  return {
    ...state,
    ...(next ? { next: { ...next, since: Math.min(next.since, now) } } : {}),
    ...(previous ? { previous: { ...previous, since: Math.min(previous.since, now) } } : {}),
  };
}

function without(state: CaState, member: 'next' | 'previous'): CaState {
  const { [member]: _gone, ...rest } = state;
  return rest;
}
