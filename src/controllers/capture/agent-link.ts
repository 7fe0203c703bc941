import { sleep, type Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import type { AgentClient, AgentStatus } from '../../capture/index.ts';
import type { Limiter } from './limiter.ts';

export interface AgentLinkOptions {
  node: string;
  client: AgentClient;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  onStatus: (status: AgentStatus) => void;
  onLost: (error: unknown) => void;
  /** Shared with the other agents: limits how many first connections run at a time. */
  greeting: Limiter;
}

/** How long one poll waits for a change. Units: seconds. */
const waitSeconds = 25;
/** An agent that answers early without a change is polled again only after this. Units: ms. */
const idleMs = 1_000;
const firstBackoffMs = 250;
const lastBackoffMs = 15_000;

/**
 * Follows the status of one agent until the signal aborts.
 *
 * Flow: an immediate first answer, then long polls, each from the last revision. Each failed
 * attempt is reported once and retried with back-off and jitter (250 ms doubling to 15 s). First answers take turns:
 * with a thousand handshakes at once the last would miss its deadline, and so would every retry.
 * Guarantees: every failure reaches `onLost`, every valid status `onStatus`, in order; it never throws.
 */
export async function followAgent(options: AgentLinkOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, node } = options;
  let revision = 0;
  let fresh = true;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const asked = clock.monotonic();
      const status = fresh
        ? await options.greeting.run(() => client.status(0, 0, signal))
        : await client.status(revision, waitSeconds, signal);
      if (status.node !== node) {
        throw new OperatorError('ERR_CAPTURE_PUSH', `the agent of ${node} says that it is on ${status.node}`);
      }
      const news = fresh || status.revision !== revision;
      failures = 0;
      fresh = false;
      revision = status.revision;
      if (news) options.onStatus(status);
      else if (clock.monotonic() - asked < idleMs) await sleep(clock, idleMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      options.onLost(error);
      fresh = true;
      const backoff = Math.min(lastBackoffMs, firstBackoffMs * 2 ** failures++) * (0.5 + options.random() / 2);
      await sleep(clock, backoff, signal).catch(() => {});
    }
  }
}
