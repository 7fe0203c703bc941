import { bench } from './run/bench.ts';
import { WrongFlag } from './run/flags.ts';
import { oneCore } from './run/cores.ts';
import { compare } from './promql/compare.ts';
import { generate } from './promql/data.ts';
import { fresh } from './promql/fresh.ts';
import { growth } from './promql/growth.ts';
import { parsing } from './promql/parsing.ts';
import { dataFolder, ownData, peerData } from './promql/peer-data.ts';
import { queries } from './promql/queries.ts';
import { sides } from './promql/sides.ts';

await bench(
  {
    name: 'bench:promql',
    measures:
      'Our PromQL engine beside a real Prometheus over the same data. First answers of new processes; then of warm ones:\n' +
      "evaluation alone (the peer's own timing; ours from decoding chunks to the answer), HTTP with JSON, CPU time; how\n" +
      'cost grows with series and steps; parsing. The answers of both sides are compared. Ours is the engine behind a\n' +
      'minimal HTTP server, over XOR chunks in memory; the peer maps a block. The parser reads the queries of the\n' +
      'conformance data in the folder SVC_PROMQL_DATA, or random expressions if that is not set.',
    options: {
      nodes: { kind: 'number', value: 20, quick: 4, help: 'nodes, each with 465 series of 720 samples' },
      only: { kind: 'text', help: 'only the queries whose name contains this, without growth and parsing' },
      parsing: { kind: 'switch', help: 'parsing alone' },
    },
  },
  async (stage) => {
    const { flags, say, atEnd, quick } = stage;
    if (!flags.parsing) {
      const all = generate(flags.nodes);
      const chosen = Object.entries(queries).filter(([name]) => name.includes(flags.only));
      if (chosen.length === 0)
        throw new WrongFlag(`no query's name holds ${flags.only}: ${Object.keys(queries).join(', ')}`);
      const dataDir = await peerData(all, `v2-${flags.nodes}-nodes`, say);
      const { wrapper, says } = oneCore();
      const both = sides({ file: ownData(all, flags.nodes), dataDir, wrapper, atEnd });
      const cores = says('server');
      await fresh(stage, { sides: both, folder: dataFolder(), chosen, cores });
      const [ours, peer] = [await both.ours(), await both.peer()];
      await compare(stage, { ours, peer, chosen, cores });
      if (flags.only === '') await growth(stage, { ours, peer, nodes: flags.nodes, cores });
      await ours.stop();
      await peer.stop();
    }
    if (flags.only === '') parsing(stage, process.env['SVC_PROMQL_DATA'], quick ? 200 : 2_208);
  },
);
