import type { Server } from 'node:net';
import { sleep, type Clock } from '../base/clock.ts';
import { doorOf } from './http/http-server.ts';

export interface DrainOptions {
  readonly clock: Clock;
  /** The wait ends when no new connection has come for this long. Units: ms. 0: does not wait. */
  readonly quietMs: number;
  /** The longest wait, even if connections still come. Units: ms. Default 15 s. */
  readonly latestMs?: number;
}

const defaultLatestMs = 15_000;

/**
 * Keeps serving until a Service sends no more requests here, so that a rolling update loses none.
 *
 * Flow: the caller has made its readiness fail → answers are now the last of their connection (`connection: close`, and
 * GOAWAY when no stream is left) → new connections are served until none has come to any of the servers for `quietMs` →
 * the caller closes the servers.
 * Assumptions: request handling works until this resolves. `latestMs` plus the grace period of requests in flight fits
 * into the pod's `terminationGracePeriodSeconds`.
 * Caveats: a stream that an HTTP/2 client opens while a GOAWAY is in flight is refused (REFUSED_STREAM), and repeated
 * by clients that follow RFC 9113 §8.7. A connection that stays idle throughout is closed at the end; a request sent on
 * it at that very moment is lost unless its client repeats it.
 */
export async function untilQuiet(servers: readonly Server[], options: DrainOptions): Promise<void> {
  const { clock, quietMs, latestMs = defaultLatestMs } = options;
  let last = clock.monotonic();
  let connections = 0;
  const latest = last + latestMs;
  const note = (): void => {
    last = clock.monotonic();
    connections++;
  };
  for (const server of servers) {
    doorOf(server)?.drain();
    server.on('connection', note);
  }
  for (;;) {
    const wait = Math.min(last + quietMs, latest) - clock.monotonic();
    if (wait > 0) {
      await sleep(clock, wait);
      continue;
    }
    // On a machine without a free CPU a timer may fire while connections wait to be accepted: they arrive in the next
    // turn of the event loop, and count.
    const before = connections;
    await new Promise((resolve) => setImmediate(resolve));
    if (connections === before || clock.monotonic() >= latest) break;
  }
  for (const server of servers) server.off('connection', note);
}
