import { bench } from './run/bench.ts';
import { WrongFlag } from './run/flags.ts';
import { eachAlone } from './query/alone.ts';
import { benchClients } from './query/clients.ts';
import { fanOut } from './query/fan-out.ts';
import { besidePeer } from './query/peer.ts';
import { withAgents } from './query/stage.ts';
import { besideThanos } from './query/thanos.ts';

await bench(
  {
    name: 'bench:query',
    measures:
      'fanout: one query to many agents, by each way of execution. one-agent: an agent and a query server over HTTPS\n' +
      'beside a Prometheus with the same data in files, cold and warm. clients: fifty clients that query without a pause.\n' +
      'mix: the requests of those clients, one by one. thanos: agents in processes of their own beside Thanos Query over a\n' +
      'Prometheus and a sidecar for each. In fanout, clients and mix all agents share one process; each agent computes\n' +
      'every answer again, from its own store.',
    options: {
      only: {
        kind: 'text',
        help: 'fanout (or a figure of it: fanout/100-agents/topk), one-agent, thanos, clients or mix',
      },
      agents: { kind: 'number', value: 20, quick: 3, help: 'agents of fanout, clients and mix' },
      'many-agents': { kind: 'number', value: 100, quick: 6, help: 'agents of the larger fan-out' },
      stores: { kind: 'number', value: 3, quick: 2, help: 'agents of thanos, beside as many Thanos stores' },
      'many-stores': { kind: 'number', value: 10, quick: 3, help: 'the same for a second, larger run' },
      'store-series': { kind: 'number', value: 5_000, quick: 200, help: 'series of each agent and store of thanos' },
      series: { kind: 'number', value: 1_000, quick: 200, help: 'series of each agent of fanout, clients and mix' },
      nodes: {
        kind: 'number',
        value: 20,
        quick: 2,
        help: 'nodes whose series (465 each) one-agent holds; it runs again with 1',
      },
      'rehearsal-ms': { kind: 'number', value: 2_000, quick: 100, help: 'how long one-agent warms up each query' },
      seconds: { kind: 'number', value: 6, quick: 1, help: 'how long a run of the clients lasts' },
      profile: { kind: 'text', help: 'a folder for CPU profiles of query server and one agent' },
    },
  },
  async (stage) => {
    const { only, agents, series, profile, nodes } = stage.flags;
    const parts = ['fanout', 'one-agent', 'thanos', 'clients', 'mix'];
    if (only !== '' && !parts.some((part) => only.startsWith(part))) {
      throw new WrongFlag(`--only is ${only}, which begins with none of ${parts.join(', ')}`);
    }
    const wanted = (name: string): boolean => only === '' || name.startsWith(only) || only.startsWith(name);
    for (const many of [agents, stage.flags['many-agents']]) {
      if (!wanted(`fanout/${many}-agents`)) continue;
      await withAgents(stage, { agents: many, series, profile }, (on) => fanOut(stage, on, { agents: many, only }));
    }
    if (wanted('one-agent')) {
      // First the series of `nodes` nodes; then those of one, where a query's fixed cost outweighs that of its samples.
      for (const size of new Set([nodes, 1])) {
        await besidePeer(stage, { nodes: size, rehearsalMs: stage.flags['rehearsal-ms'], profile });
      }
    }
    for (const stores of [stage.flags.stores, stage.flags['many-stores']]) {
      if (wanted(`thanos/${stores}-stores`)) await besideThanos(stage, { stores, series: stage.flags['store-series'] });
    }
    if (wanted('mix')) await withAgents(stage, { agents, series, profile }, (on) => eachAlone(stage, on));
    if (wanted('clients')) {
      await withAgents(stage, { agents, series, profile }, ({ fleet, server, ca, end, cores }) => {
        const { port } = server.started;
        return benchClients(stage, {
          ...{ clients: 50, agents, seconds: stage.flags.seconds, end, port, ca },
          ...{ server, fleet, cores },
        });
      });
    }
  },
);
