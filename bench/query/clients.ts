import type { Stage } from '../run/bench.ts';
import { mean, quantile } from '../run/spread.ts';
import type { AgentsCost } from './agents.ts';
import { ApiClient } from './ask.ts';
import { mix, type MixedRequest } from './mix.ts';
import type { Part } from './process.ts';
import type { ProcessCost } from './server.ts';
import { agentCaches } from './stage.ts';

export interface ClientsWork {
  readonly clients: number;
  readonly seconds: number;
  /** The time of the agents' last sample. Units: ms. */
  readonly end: number;
  /** Whether a run is over. Default: once `seconds` have passed. */
  readonly over?: () => boolean;
  readonly port: number;
  /** The server's CA. Default: plain HTTP. */
  readonly ca?: string;
  readonly server: Pick<Part<unknown, ProcessCost>, 'cost'>;
  readonly fleet: Pick<Part<unknown, AgentsCost>, 'cost'>;
}

/** How often the server's memory is read. Units: ms. */
const lookEveryMs = 1_000;
/** How long a client that leaves early waits for an answer before it closes the connection. Units: ms. */
const patienceMs = 20;

/** The results of one run, by figure. A kind of request without answers has no figures of time. */
export interface ClientsRun {
  readonly figures: Readonly<Record<string, { readonly unit: string; readonly value: number }>>;
  /** The number of errors and of degraded answers. */
  readonly errors: number;
  readonly firstError: string | undefined;
}

/**
 * Runs clients that send one request after the other without a pause: more load than a machine can serve in parallel.
 * The first run is not counted. Any error fails the benchmark.
 */
export async function benchClients(
  { runs, say, fail, reporter }: Stage,
  work: ClientsWork & { cores: string; agents: number },
): Promise<void> {
  const { clients, agents, seconds, cores } = work;
  const all: ClientsRun[] = [];
  for (let run = -1; run < runs; run++) {
    say(run < 0 ? `${clients} clients for ${seconds} s, not counted` : `${clients} clients, run ${run + 1} of ${runs}`);
    const one = await runClients(work);
    if (one.errors > 0) fail(`${one.errors} errors of ${clients} clients, the first: ${one.firstError}`);
    if (run >= 0) all.push(one);
  }
  const report = reporter({ cores, caches: agentCaches });
  for (const [figure, { unit }] of Object.entries(all[0]!.figures)) {
    const ours = all.map(({ figures }) => figures[figure]?.value ?? NaN);
    const atMost = goals[figure];
    const goal = atMost === undefined ? undefined : ({ of: 'ours', atMost } as const);
    report({ name: `clients/${clients}/${agents}-agents/${figure}`, unit, ours, goal });
  }
  const errors = all.map((one) => one.errors);
  report({
    name: `clients/${clients}/${agents}-agents/errors`,
    unit: '1',
    ours: errors,
    goal: { of: 'ours', atMost: 0 },
  });
}

/** Bounds for figures of the clients, by name. */
const goals: Readonly<Record<string, number>> = { 'all/p50': 300, 'all/p99': 1_500, 'query-rss/highest': 400 };

/** Runs the clients once. The times leave out degraded answers. */
export async function runClients(work: ClientsWork): Promise<ClientsRun> {
  const { clients, seconds, port, ca, end, server, fleet } = work;
  const requests = mix(end);
  const until = performance.now() + seconds * 1000;
  const over = work.over ?? (() => performance.now() >= until);
  const times: { kind: MixedRequest['kind']; ms: number }[] = [];
  let errors = 0;
  let firstError: string | undefined;
  const wrong = (text: string): void => {
    errors++;
    firstError ??= text;
  };
  const one = async (id: number): Promise<void> => {
    const client = new ApiClient(port, ca);
    for (let n = id; !over(); n++) {
      const { kind, path, params, leaves } = requests[n % requests.length]!;
      if (leaves) {
        await askAndLeave(new ApiClient(port, ca), path, params);
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
  const resident: number[] = [];
  const watch = async (): Promise<void> => {
    do {
      resident.push((await server.cost()).rss / 2 ** 20);
      const pauseMs = Math.max(0, Math.min(lookEveryMs, until - performance.now()));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    } while (!over());
  };
  const before = { server: await server.cost(), fleet: await fleet.cost() };
  const began = performance.now();
  await Promise.all([watch(), ...Array.from({ length: clients }, (_, id) => one(id))]);
  const elapsed = (performance.now() - began) / 1000;
  const after = { server: await server.cost(), fleet: await fleet.cost() };
  const answers = times.length;
  const figures: Record<string, { unit: string; value: number }> = {
    'answers-per-second': { unit: '1/s', value: answers / elapsed },
  };
  for (const kind of ['all', 'instant', 'range', 'list'] as const) {
    const own = times.filter((one) => kind === 'all' || one.kind === kind).map(({ ms }) => ms);
    if (own.length === 0) continue;
    figures[`${kind}/p50`] = { unit: 'ms', value: quantile(own, 0.5) };
    figures[`${kind}/p99`] = { unit: 'ms', value: quantile(own, 0.99) };
  }
  const each = (of: number): number => of / Math.max(1, answers);
  figures['query-cpu-of-an-answer'] = { unit: 'ms', value: each(after.server.cpuMs - before.server.cpuMs) };
  figures['agents-cpu-of-an-answer'] = { unit: 'ms', value: each(after.fleet.cpuMs - before.fleet.cpuMs) };
  figures['bytes-from-agents-of-an-answer'] = { unit: 'B', value: each(after.fleet.bytes - before.fleet.bytes) };
  figures['query-rss/mean'] = { unit: 'MiB', value: mean(resident) };
  figures['query-rss/highest'] = { unit: 'MiB', value: Math.max(...resident) };
  return { figures, errors, firstError };
}

async function askAndLeave(client: ApiClient, path: string, params: MixedRequest['params']): Promise<void> {
  const asked = client.ask(path, params).catch(() => '');
  const leaving = setTimeout(() => client.close(), patienceMs);
  await asked;
  clearTimeout(leaving);
  client.close();
}
