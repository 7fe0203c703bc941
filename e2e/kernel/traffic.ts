/** The known traffic: the requests that the client sends, and the counts that must result. */

export interface Target {
  /** Name of the pod. */
  readonly name: string;
  readonly ip: string;
  readonly port: number;
  readonly tls: boolean;
}

export interface Requests {
  readonly method: string;
  /** `%` becomes the number of the request. */
  readonly path: string;
  /** The route that the instrument derives from requests alone. */
  readonly route: string;
  readonly count: number;
  /** The size of the body; absent for no body. */
  readonly bytes?: number;
  /** True: each request has a connection of its own, closed after the answer. Absent: all share one connection. */
  readonly closes?: true;
}

export interface TrafficOrder {
  readonly id: number;
  readonly target: Target;
  readonly requests: readonly Requests[];
}

/** A request that was answered, as a server or the client has seen it. */
export interface Seen {
  readonly method: string;
  readonly status: number;
  readonly route: string;
  readonly seconds: number;
  /** The server; only the client reports it. */
  readonly to?: string;
  readonly port?: number;
  readonly tls?: boolean;
}

/** The requests that every server gets. */
export const standardTraffic: readonly Requests[] = [
  { method: 'GET', path: '/cart/%', route: '/cart/*', count: 10 },
  { method: 'GET', path: '/missing', route: '/missing', count: 7 },
  { method: 'GET', path: '/boom', route: '/boom', count: 5 },
  { method: 'POST', path: '/orders', route: '/orders', count: 11, bytes: 1_000 },
  { method: 'DELETE', path: '/orders/%', route: '/orders/*', count: 3 },
  { method: 'GET', path: '/slow', route: '/slow', count: 4 },
];

/** Requests that show whether a process is watched already; their counts are not checked. */
export const warmRoute = '/warm';
export const warmUp: readonly Requests[] = [{ method: 'GET', path: warmRoute, route: warmRoute, count: 1 }];

/** How many requests there are of each kind, such as `GET /cart/* 200`. Warm-up requests are left out. */
export type Counts = Readonly<Record<string, number>>;

export function countsOf(seen: readonly Pick<Seen, 'method' | 'route' | 'status'>[]): Counts {
  const counts: Record<string, number> = {};
  for (const { method, route, status } of seen) {
    if (route === warmRoute) continue;
    const key = `${method} ${route} ${status}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return sorted(counts);
}

/** Counts with the statuses left out: one for each method and route. */
export function withoutStatus(counts: Counts): Counts {
  const all: Record<string, number> = {};
  for (const [key, count] of Object.entries(counts)) {
    const kind = key.slice(0, key.lastIndexOf(' '));
    all[kind] = (all[kind] ?? 0) + count;
  }
  return sorted(all);
}

/** The requests of one connection, in order, each with the status of the previous answer instead of its own. */
export function statusesOfBefore<T extends Pick<Seen, 'status'>>(seen: readonly T[]): T[] {
  return seen.map((one, i) => ({ ...one, status: seen[i - 1]?.status ?? one.status }));
}

/** The counts of series of `http_*_request_duration_count`, by the same keys as `countsOf`. */
export function countsOfSeries(
  series: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[],
): Counts {
  const counts: Record<string, number> = {};
  for (const { labels: l, value } of series) {
    if (l['http_route'] === warmRoute) continue;
    const key = `${l['http_request_method']} ${l['http_route']} ${l['http_response_status_code']}`;
    counts[key] = (counts[key] ?? 0) + value;
  }
  return sorted(counts);
}

/** The kinds of requests whose counts differ, as text; empty if the counts are equal. */
export function difference(wanted: Counts, found: Counts): string {
  const keys = [...new Set([...Object.keys(wanted), ...Object.keys(found)])].sort();
  return keys
    .filter((key) => (wanted[key] ?? 0) !== (found[key] ?? 0))
    .map((key) => `${key}: ${found[key] ?? 0} of ${wanted[key] ?? 0}`)
    .join(', ');
}

function sorted(counts: Counts): Counts {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
}
