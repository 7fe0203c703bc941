import { end, start } from './data.ts';

/** One answer and what it took, in milliseconds. */
export interface Timed {
  /** The time of the evaluation, as the server itself reports it. */
  readonly evaluation: number;
  /** The time until the last byte of the answer. */
  readonly http: number;
  readonly body: string;
}

/** What an answer reports of its own cost: `own` is ours, in ms; `total` and `queued` are the peer's, in seconds. */
interface Stats {
  readonly own: number | undefined;
  readonly total: number | undefined;
  readonly queued: number | undefined;
}

/** Sends a query once: as an instant query at the end of the data if its name begins with `i_`. `step` in seconds. */
export async function ask(url: string, name: string, query: string, step = 60): Promise<Timed> {
  const params = new URLSearchParams({ query, stats: 'all' });
  if (name.startsWith('i_')) params.set('time', String(end / 1000));
  else
    for (const [key, value] of Object.entries({ start: start / 1000, end: end / 1000, step }))
      params.set(key, String(value));
  const before = performance.now();
  const answer = await fetch(`${url}/api/v1/${name.startsWith('i_') ? 'query' : 'query_range'}?${params}`);
  const body = await answer.text();
  const http = performance.now() - before;
  if (!answer.ok) throw new Error(`${name}: ${body.slice(0, 300)}`);
  // Both servers write the stats last, so only the tail is read: parsing megabytes would take longer than the query.
  const { own, total, queued } = statsOf(body);
  const evaluation = own ?? (total! - queued!) * 1000;
  return { evaluation, http, body };
}

function statsOf(body: string): Stats {
  const tail = body.slice(body.lastIndexOf('"stats":'));
  const figure = (name: string): number | undefined => {
    const text = new RegExp(`"${name}":([-+.e\\d]+)`).exec(tail)?.[1];
    return text === undefined ? undefined : Number(text);
  };
  return { own: figure('evaluation'), total: figure('execTotalTime'), queued: figure('execQueueTime') };
}

/** Repeats a query until compilers and caches have settled: the benchmark measures a server that ran for a while. */
export async function warm(url: string, name: string, query: string): Promise<void> {
  const before = performance.now();
  for (let i = 0; i < 2 || (i < 500 && performance.now() - before < 1_000); i++) await ask(url, name, query);
}
