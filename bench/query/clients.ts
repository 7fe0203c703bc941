import type { AgentsCost } from './agents.ts';
import { ApiClient } from './ask.ts';
import { mix } from './mix.ts';
import type { Part } from './process.ts';
import { report } from './report.ts';
import type { ProcessCost } from './server.ts';

export interface ClientsOptions {
  readonly clients: number;
  readonly seconds: number;
  /** Whether the run is over. Default: once `seconds` have passed. */
  readonly over?: () => boolean;
  readonly port: number;
  /** The server's authority; undefined asks over plain HTTP. */
  readonly ca?: string;
  readonly server: Pick<Part<unknown, ProcessCost>, 'cost'>;
  readonly fleet: Pick<Part<unknown, AgentsCost>, 'cost'>;
  /** Takes the first error. Default: stderr. */
  readonly complain?: (text: string) => void;
  /** Takes the figures. Default: a line each on stdout. */
  readonly print?: typeof report;
}

/** Memory is read so often. Units: ms. */
const lookEveryMs = 5_000;
/** How long a client that goes away waits. Units: ms. */
const patienceMs = 20;

/**
 * Clients that ask one thing after the other for some time, without a pause: more than any machine answers at once.
 * An error and an answer with `degraded` are counted, the first of them is printed; times are those of the others.
 */
export async function manyClients(options: ClientsOptions): Promise<void> {
  const { clients, seconds, port, ca, server, fleet, print = report } = options;
  const until = performance.now() + seconds * 1000;
  const over = options.over ?? (() => performance.now() >= until);
  const times: { kind: string; ms: number }[] = [];
  const resident: number[] = [];
  let left = 0;
  let errors = 0;
  const complain = options.complain ?? ((text) => void process.stderr.write(`first error: ${text}\n`));
  const wrong = (text: string): void => {
    if (errors++ === 0) complain(text);
  };
  const one = async (id: number): Promise<void> => {
    const client = new ApiClient(port, ca);
    for (let n = id; !over(); n++) {
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
      try {
        const text = await client.ask(path, params);
        if (text.includes('"degraded":false')) times.push({ kind, ms: performance.now() - before });
        else wrong(`${path} ${JSON.stringify(params)}: ${text.slice(-300)}`);
      } catch (error) {
        wrong(String(error));
      }
    }
    client.close();
  };
  const watch = async (): Promise<void> => {
    while (!over()) {
      resident.push((await server.cost()).rss / 2 ** 20);
      const pauseMs = Math.max(0, Math.min(lookEveryMs, until - performance.now()));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
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
  print(`${name}/answers`, 'count', answers, null, null);
  print(`${name}/left`, 'count', left, null, null);
  print(`${name}/errors`, 'count', errors, null, 0);
  for (const kind of ['', 'instant', 'range', 'list']) {
    const own = times.filter((one) => kind === '' || one.kind === kind).map(({ ms }) => ms);
    if (own.length === 0) continue;
    own.sort((a, b) => a - b);
    const at = (share: number): number => own[Math.min(own.length - 1, Math.floor(own.length * share))]!;
    const label = kind === '' ? name : `${name}/${kind}`;
    print(`${label}/p50`, 'ms', at(0.5), null, null);
    print(`${label}/p99`, 'ms', at(0.99), null, null);
  }
  for (const [what, value] of Object.entries(after)) {
    const each = (value - before[what]!) / answers;
    print(`${name}/${what}`, what === 'agents-bytes' ? 'bytes' : 'ms', each, null, null);
  }
  const mean = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;
  const third = Math.max(1, Math.floor(resident.length / 3));
  print(`${name}/rss-first-third`, 'MiB', mean(resident.slice(0, third)), null, null);
  print(`${name}/rss-last-third`, 'MiB', mean(resident.slice(-third)), null, null);
  print(`${name}/rss-highest`, 'MiB', Math.max(...resident), null, null);
  // Flat: the last third holds no more than the one before it, within what a garbage collector leaves to chance.
  const growth = mean(resident.slice(-third)) / mean(resident.slice(-2 * third, -third));
  if (resident.length >= 6) print(`${name}/rss-last-to-middle-third`, 'ratio', growth, null, 1.1);
}
