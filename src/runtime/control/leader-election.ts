import type { KubeObject } from '../../api/meta.ts';
import { sleep, type Clock } from '../../base/clock.ts';
import { errorText, isOperatorError, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { within } from '../../base/time-limit.ts';
import { coreResources, getIfExists, isAlreadyExists, isConflict, type KubeClient } from '../../kube/index.ts';
import { decideLease, observe, type LeaseDecision, type LeaseRecord, type Observation } from './lease-record.ts';
import type { RuntimeMetrics } from '../metrics.ts';
import { microTime } from '../micro-time.ts';

/** The Lease, the identity of this process, and the times of the election. The times are client-go's by default. */
export interface LeaderElectionOptions {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  /** Namespace and name of the Lease. */
  namespace: string;
  name: string;
  /** Unique to this process: pod name and a random part. */
  identity: string;
  /** How long a silent holder keeps the lease. Units: ms. Default 15 s. */
  leaseMs?: number;
  /**
   * How long the holder may fail to renew before it stops working, from the start of the last write that succeeded.
   * Units: ms. Default 10 s.
   */
  renewDeadlineMs?: number;
  /** Time between two attempts. Units: ms. Default 2 s. */
  retryMs?: number;
  random?: () => number;
  metrics?: RuntimeMetrics | undefined;
}

/**
 * Leadership by a Lease.
 *
 * Flow: `acquire` tries until the lease is ours → `hold` renews it until the signal aborts or the lease is lost →
 * `release`.
 * Guarantees: two processes never hold the lease at the same time, as long as each stops within `leaseMs −
 * renewDeadlineMs` of losing it; a lost race (409) is not an error; expiry is judged by the local clock only.
 * Errors: `hold` rejects with ERR_LEASE_LOST; `acquire` with ERR_ABORTED when its signal aborts, after it has given back
 * a lease that its last write took. It waits up to 5 s for the answer to that write.
 */
export class LeaderElector {
  readonly #options: Required<Omit<LeaderElectionOptions, 'metrics'>> & { metrics: RuntimeMetrics | undefined };
  #seen: Observation | undefined;
  /** The Lease as last read or written; its resourceVersion makes each write conditional. */
  #lease: KubeObject | undefined;
  /** A write of `acquire` took the lease, or had no answer, and the lease has not been read since. */
  #mayBeOurs = false;
  #holds = false;
  /** When the last write began that made or renewed our lease. Monotonic ms. */
  #renewedAt = 0;

  constructor(options: LeaderElectionOptions) {
    this.#options = {
      leaseMs: 15_000,
      renewDeadlineMs: 10_000,
      retryMs: 2_000,
      random: Math.random,
      metrics: undefined,
      ...options,
    };
    options.metrics?.leader.set({ name: options.name }, 0);
  }

  get leading(): boolean {
    return this.#holds;
  }

  async acquire(signal: AbortSignal): Promise<void> {
    const { clock, retryMs, random, logger, name, identity, metrics } = this.#options;
    logger.info('waiting for leadership', { lease: name, identity });
    for (;;) {
      if (signal.aborted) {
        if (this.#mayBeOurs) await this.#release();
        throw new OperatorError('ERR_ABORTED', 'stopped while waiting for leadership');
      }
      const decision = await this.#try(signal).catch((error: unknown) => {
        if (!signal.aborted)
          logger.warn('lease could not be read or written', { lease: name, error: errorText(error) });
        return undefined;
      });
      if (decision && decision.do !== 'wait' && !signal.aborted) break;
      await sleep(clock, retryMs * (1 + 0.2 * random()), signal).catch(() => {});
    }
    this.#holds = true;
    metrics?.leader.set({ name }, 1);
    logger.info('became leader', { lease: name, identity });
  }

  /** Resolves when the signal aborts. Errors: ERR_LEASE_LOST. */
  async hold(signal: AbortSignal): Promise<void> {
    const { clock, renewDeadlineMs, retryMs, name, logger } = this.#options;
    let lastError = 'no answer';
    for (;;) {
      const end = this.#renewedAt + renewDeadlineMs;
      await sleep(clock, Math.max(0, Math.min(retryMs, end - clock.monotonic())), signal).catch(() => {});
      if (signal.aborted) return;
      const left = end - clock.monotonic();
      if (left <= 0) throw this.#lost(lastError);
      try {
        const decision = await within(clock, left, (limited) => this.#try(limited), signal);
        if (decision.do === 'wait') throw this.#lost('another process holds it');
        if (decision.do === 'acquire' && decision.transitions > 0) {
          logger.warn('another process held the lease meanwhile and released it', { lease: name });
        }
        lastError = 'no answer';
      } catch (error) {
        if (signal.aborted) return;
        if (isOperatorError(error, 'ERR_LEASE_LOST')) throw error;
        // A request that the end of the time cut off tells less than the failure before it.
        if (!isOperatorError(error, 'ERR_ABORTED')) lastError = errorText(error);
        logger.warn('lease not renewed', { lease: name, error: lastError });
      }
    }
  }

  /** Releases the lease so that another process need not wait for its expiry. Never throws. */
  async release(): Promise<void> {
    const { name, metrics } = this.#options;
    if (!this.#holds) return;
    this.#holds = false;
    metrics?.leader.set({ name }, 0);
    await this.#release();
  }

  async #release(): Promise<void> {
    const { name, logger, identity } = this.#options;
    try {
      // A renewal that the stop aborted may still be executed between our read and our write.
      const isGivenBack = await this.#giveBack().catch((error: unknown) => {
        if (!isConflict(error)) throw error;
        this.#lease = undefined;
        return this.#giveBack();
      });
      if (isGivenBack) logger.info('released leadership', { lease: name, identity });
    } catch (error) {
      logger.warn('lease not released, it will expire', { lease: name, error: errorText(error) });
    }
  }

  /** Writes the lease without a holder, unless it is not ours: then the result is false. Errors: of the API server. */
  async #giveBack(): Promise<boolean> {
    const { client, clock, namespace, name, identity } = this.#options;
    const options = { deadlineMs: 3_000 };
    const lease = this.#lease ?? (await client.get<KubeObject>(coreResources.leases, { namespace, name }, options));
    if (readRecord(lease).holder !== identity) return false;
    const spec = {
      ...(lease['spec'] as object),
      holderIdentity: '',
      leaseDurationSeconds: 1,
      renewTime: microTime(clock.now()),
    };
    await client.update(coreResources.leases, { ...lease, spec }, options);
    return true;
  }

  #lost(why: string): OperatorError {
    const { name, metrics } = this.#options;
    this.#holds = false;
    metrics?.leader.set({ name }, 0);
    return new OperatorError('ERR_LEASE_LOST', `lease ${name} lost: ${why}`);
  }

  /** Reads the lease, decides, and writes where the decision says so. A lost race is returned as `wait`. */
  async #try(signal: AbortSignal): Promise<LeaseDecision> {
    const { client, clock, namespace, name, identity } = this.#options;
    const options = { signal, deadlineMs: 5_000, retry: false };
    // A write that takes the lease, and that a stop cut off, could be executed after the lease was read to be given back.
    const writing = this.#holds ? options : { ...options, signal: undefined };
    // The leader is the only writer: with the version of its last write it needs no read.
    if (!this.#holds || !this.#lease) {
      this.#lease = await getIfExists(client, coreResources.leases, { namespace, name }, options);
      if (this.#lease) this.#seen = observe(this.#seen, readRecord(this.#lease), clock.monotonic());
      else this.#seen = undefined;
      this.#mayBeOurs = false;
    }
    const decision = decideLease(this.#seen, identity, clock.monotonic());
    if (decision.do === 'wait') return decision;
    const next = this.#record(decision);
    const started = clock.monotonic();
    try {
      this.#lease = this.#lease
        ? await client.update(coreResources.leases, { ...this.#lease, spec: next }, writing)
        : await client.create(
            coreResources.leases,
            { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace }, spec: next },
            writing,
          );
      this.#mayBeOurs = true;
      this.#seen = { record: readRecord(this.#lease), at: clock.monotonic() };
      this.#renewedAt = started;
      return decision;
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) {
        // Another process wrote the lease. Read it again before reporting it as lost.
        this.#lease = await getIfExists(client, coreResources.leases, { namespace, name }, options);
        if (!this.#lease) throw error;
        this.#seen = observe(this.#seen, readRecord(this.#lease), clock.monotonic());
        if (this.#seen.record.holder === identity) throw error;
        return { do: 'wait', forMs: this.#options.retryMs };
      }
      // The write may or may not have been executed: read again next time.
      this.#lease = undefined;
      this.#mayBeOurs = true;
      throw error;
    }
  }

  #record(decision: Exclude<LeaseDecision, { do: 'wait' }>): Record<string, unknown> {
    const now = microTime(this.#options.clock.now());
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.ceil(this.#options.leaseMs / 1000),
      acquireTime: decision.do === 'renew' ? decision.acquireTime : now,
      renewTime: now,
      leaseTransitions: decision.transitions,
    };
  }
}

function readRecord(lease: KubeObject): LeaseRecord {
  const spec = (lease['spec'] ?? {}) as Record<string, unknown>;
  return {
    holder: String(spec['holderIdentity'] ?? ''),
    durationSeconds: Number(spec['leaseDurationSeconds'] ?? 0),
    renewTime: String(spec['renewTime'] ?? ''),
    acquireTime: String(spec['acquireTime'] ?? ''),
    transitions: Number(spec['leaseTransitions'] ?? 0),
  };
}
