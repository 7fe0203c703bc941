import type { AgentsCost } from './agents.ts';
import { ApiClient } from './ask.ts';
import { mix } from './mix.ts';
import type { Part } from './process.ts';
import { report } from './report.ts';
import type { ProcessCost } from './server.ts';

export interface ClientsOptions {
  readonly clients: number;
  readonly seconds: number;
  readonly port: number;
  readonly ca: string;
  readonly server: Pick<Part<unknown, ProcessCost>, 'cost'>;
  readonly fleet: Pick<Part<unknown, AgentsCost>, 'cost'>;
}

/** Memory is read so often. Units: ms. */
const lookEveryMs = 5_000;
/** How long a client that goes away waits. Units: ms. */
const patienceMs = 20;

/**
 * Clients that ask one thing after the other for some time, without a pause: more than any machine answers at once.
 * Any error ends the bench.
 */
export async function manyClients(options: ClientsOptions): Promise<void> {
  const { clients, seconds, port, ca, server, fleet } = options;
  const until = performance.now() + seconds * 1000;
  const times: { kind: string; ms: number }[] = [];
  const resident: number[] = [];
  let left = 0;
  const one = async (id: number): Promise<void> => {
    const client = new ApiClient(port, ca);
    for (let n = id; performance.now() < until; n++) {
      const { kind, path, params, leaves } = mix[n % mix.length]!;
      if (leaves) {
        const gone = new ApiClient(port, ca);
        const asked = gone.ask(path, params).catch(() => '');
        setTimeout(() => gone.close(), patienceMs);
        await asked;
        left++;
        continue;
      }
      const before = performance.now();
      const text = await client.ask(path, params);
      times.push({ kind, ms: performance.now() - before });
      if (!text.includes('"degraded":false')) throw new Error(`${path} ${JSON.stringify(params)}: ${text.slice(-300)}`);
    }
    client.close();
  };
  const watch = async (): Promise<void> => {
    while (performance.now() < until) {
      resident.push((await server.cost()).rss / 2 ** 20);
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  };
  const spent = async (): Promise<Record<string, number>> => {
    const { user, system } = process.cpuUsage();
    return {
      'query-cpu': (await server.cost()).cpuMs,
      'agents-cpu': (await fleet.cost()).cpuMs,
      'clients-cpu': (user + system) / 1000,
      'agents-bytes': (await fleet.cost()).bytes,
    };
  };
  const before = await spent();
  await Promise.all([watch(), ...Array.from({ length: clients }, (_, id) => one(id))]);
  const after = await spent();
  const name = `clients/${clients}`;
  const answers = times.length;
  report(`${name}/answers`, 'count', answers, null, null);
  report(`${name}/left`, 'count', left, null, null);
  report(`${name}/errors`, 'count', 0, null, 0);
  for (const kind of ['', 'instant', 'range', 'list']) {
    const own = times.filter((one) => kind === '' || one.kind === kind).map(({ ms }) => ms);
    own.sort((a, b) => a - b);
    const at = (share: number): number => own[Math.min(own.length - 1, Math.floor(own.length * share))]!;
    const label = kind === '' ? name : `${name}/${kind}`;
    report(`${label}/p50`, 'ms', at(0.5), null, null);
    report(`${label}/p99`, 'ms', at(0.99), null, null);
  }
  for (const [what, value] of Object.entries(after)) {
    const each = (value - before[what]!) / answers;
    report(`${name}/${what}`, what === 'agents-bytes' ? 'bytes' : 'ms', each, null, null);
  }
  const mean = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;
  const third = Math.max(1, Math.floor(resident.length / 3));
  report(`${name}/rss-first-third`, 'MiB', mean(resident.slice(0, third)), null, null);
  report(`${name}/rss-last-third`, 'MiB', mean(resident.slice(-third)), null, null);
  report(`${name}/rss-highest`, 'MiB', Math.max(...resident), null, null);
  // Flat: the last third holds no more than the one before it, within what a garbage collector leaves to chance.
  const growth = mean(resident.slice(-third)) / mean(resident.slice(-2 * third, -third));
  if (resident.length >= 6) report(`${name}/rss-last-to-middle-third`, 'ratio', growth, null, 1.1);
}
