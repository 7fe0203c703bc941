/** The leadership data of a Lease. */
export interface LeaseRecord {
  /** Empty when the last holder released it. */
  holder: string;
  durationSeconds: number;
  renewTime: string;
  acquireTime: string;
  transitions: number;
}

/** A record, and when our own monotonic clock first saw it in this form. */
export interface Observation {
  record: LeaseRecord;
  at: number;
}

export type LeaseDecision =
  /** Write this process in as the holder. `transitions` is the new count. */
  | { do: 'acquire'; transitions: number }
  /** This process holds the lease: renew its time. */
  | { do: 'renew'; transitions: number; acquireTime: string }
  /** Another process holds the lease. `forMs`: the time until the lease expires if nothing changes. */
  | { do: 'wait'; forMs: number };

/**
 * Decides what to do about a lease. Pure.
 * Clocks of machines are never compared: a lease has expired when its record has not changed, as seen by this process,
 * for the duration in the record itself.
 * Units: `now` and `Observation.at` are monotonic ms.
 */
export function decideLease(seen: Observation | undefined, identity: string, now: number): LeaseDecision {
  if (!seen) return { do: 'acquire', transitions: 0 };
  const { record } = seen;
  if (record.holder === identity) {
    return { do: 'renew', transitions: record.transitions, acquireTime: record.acquireTime };
  }
  const left = seen.at + record.durationSeconds * 1000 - now;
  if (record.holder === '' || left <= 0) return { do: 'acquire', transitions: record.transitions + 1 };
  return { do: 'wait', forMs: left };
}

/** Keeps the time of the first observation as long as the record stays the same. */
export function observe(seen: Observation | undefined, record: LeaseRecord, now: number): Observation {
  return seen && JSON.stringify(seen.record) === JSON.stringify(record) ? seen : { record, at: now };
}
