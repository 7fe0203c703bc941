import { ApiClient } from './ask.ts';
import { end } from './data.ts';
import type { Part } from './process.ts';
import { report } from './report.ts';
import type { ProcessCost } from './server.ts';

export interface ClientsOptions {
  readonly clients: number;
  readonly seconds: number;
  readonly queries: Readonly<Record<string, string>>;
  readonly port: number;
  readonly ca: string;
  readonly server: Pick<Part<unknown, ProcessCost>, 'cost'>;
}

/** Variables of dashboards are taken from one metric. */
const ofMetric = { 'match[]': 'http_server_request_duration_count' };
/** Memory is read so often. Units: ms. */
const lookEveryMs = 5_000;

/**
 * Clients that ask mixed queries one after the other for some time: instants, ranges of half an hour, lists of labels,
 * and one in twenty that goes away before the answer is there. Any error ends the bench.
 */
export async function manyClients(options: ClientsOptions): Promise<void> {
  const { clients, seconds, queries, port, ca, server } = options;
  const until = performance.now() + seconds * 1000;
  const times: number[] = [];
  const resident: number[] = [];
  const names = Object.values(queries);
  let left = 0;
  const one = async (id: number): Promise<void> => {
    const client = new ApiClient(port, ca);
    for (let n = id; performance.now() < until; n++) {
      const query = names[n % names.length]!;
      const range = { query, start: String(end / 1000 - 1800), end: String(end / 1000), step: '60' };
      const before = performance.now();
      let text: string;
      if (n % 20 === 19) {
        const gone = new ApiClient(port, ca);
        const asked = gone.ask('/api/v1/query_range', range).catch(() => '');
        setTimeout(() => gone.close(), 20);
        await asked;
        left++;
        continue;
      } else if (n % 10 === 3) text = await client.ask('/api/v1/label/service_name/values', ofMetric);
      else if (n % 4 === 1) text = await client.ask('/api/v1/query_range', range);
      else text = await client.ask('/api/v1/query', { query, time: String(end / 1000) });
      times.push(performance.now() - before);
      if (!text.includes('"degraded":false')) throw new Error(`${query}: ${text.slice(-300)}`);
    }
    client.close();
  };
  const watch = async (): Promise<void> => {
    while (performance.now() < until) {
      resident.push((await server.cost()).rss / 2 ** 20);
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  };
  const before = await server.cost();
  await Promise.all([watch(), ...Array.from({ length: clients }, (_, id) => one(id))]);
  const after = await server.cost();
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
  const name = `clients/${clients}`;
  const mean = (list: readonly number[]): number => list.reduce((sum, x) => sum + x, 0) / list.length;
  const third = Math.max(1, Math.floor(resident.length / 3));
  report(`${name}/answers`, 'count', times.length, null, null);
  report(`${name}/left`, 'count', left, null, null);
  report(`${name}/errors`, 'count', 0, null, 0);
  report(`${name}/p50`, 'ms', at(0.5), null, null);
  report(`${name}/p99`, 'ms', at(0.99), null, null);
  report(`${name}/query-cpu`, 'ms', (after.cpuMs - before.cpuMs) / times.length, null, null);
  report(`${name}/rss-first-third`, 'MiB', mean(resident.slice(0, third)), null, null);
  report(`${name}/rss-last-third`, 'MiB', mean(resident.slice(-third)), null, null);
  // Flat: the last third holds no more than the one before it, within what a garbage collector leaves to chance.
  const growth = mean(resident.slice(-third)) / mean(resident.slice(-2 * third, -third));
  if (resident.length >= 6) report(`${name}/rss-last-to-middle-third`, 'ratio', growth, null, 1.1);
}
