/**
 * A steady, gentle load on the shop: each tick requests a catalog page and places an order, on the pods in turn.
 * The requests are real HTTP over real sockets, at a bounded rate. The load ends when the signal aborts.
 */
import { Agent, request } from 'node:http';

export interface LoadTargets {
  /** `ip:port` of each service's pods that are ready right now; an empty list pauses the load on that service. */
  catalog: readonly string[];
  checkout: readonly string[];
}

export interface LoadStats {
  sent: number;
  answered: number;
  failed: number;
}

/** Sends about `perSecond` requests to each service until the signal aborts. Never throws: failures are counted. */
export function runLoad(options: { targets: () => LoadTargets; perSecond: number; signal: AbortSignal }): LoadStats {
  const stats: LoadStats = { sent: 0, answered: 0, failed: 0 };
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  let n = 0;
  const send = (target: string | undefined, method: string, path: string, headers: Record<string, string>): void => {
    if (!target) return;
    const [host, port] = target.split(':');
    stats.sent++;
    const req = request({ host, port, method, path, headers, agent, timeout: 2_000 }, (res) => {
      res.resume();
      res.on('end', () => stats.answered++);
      res.on('error', () => stats.failed++);
    });
    req.on('timeout', () => req.destroy());
    req.on('error', () => stats.failed++);
    req.end();
  };
  const timer = setInterval(
    () => {
      const { catalog, checkout } = options.targets();
      n++;
      const pick = (list: readonly string[]): string | undefined => list[n % Math.max(1, list.length)];
      send(pick(catalog), 'GET', `/products/${(n % 97) + 1}`, {});
      send(pick(checkout), 'POST', '/orders', {
        'x-demo-product': String((n % 89) + 1),
        'x-demo-catalog': pick(catalog) ?? '',
      });
    },
    Math.max(1, 1000 / options.perSecond),
  );
  options.signal.addEventListener('abort', () => {
    clearInterval(timer);
    agent.destroy();
  });
  return stats;
}
