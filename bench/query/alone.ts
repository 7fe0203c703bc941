import type { Stage } from '../run/bench.ts';
import { mix } from './mix.ts';
import { agentCaches, type QueryStage } from './stage.ts';

/** Uncounted requests at the start, in which V8 compiles the code. */
const warm = 6;

/** Measures each request of the clients' mix by itself: its time, what it costs server and agents, and bytes sent. */
export async function eachAlone(stage: Stage, { fleet, server, client, end, cores }: QueryStage): Promise<void> {
  const report = stage.reporter({ cores, caches: agentCaches });
  for (const [i, { kind, path, params, leaves }] of mix(end).entries()) {
    if (leaves) continue;
    const name = `mix/${i}-${kind}`;
    stage.say(`${name}: ${path} ${params['query'] ?? params['match[]'] ?? ''}`);
    for (let k = 0; k < warm; k++) await client.ask(path, params);
    const runs: Record<'time' | 'query-cpu' | 'agents-cpu' | 'bytes', number>[] = [];
    for (let run = 0; run < stage.runs; run++) {
      const [own, theirs, started] = [await server.cost(), await fleet.cost(), performance.now()];
      await client.ask(path, params);
      const time = performance.now() - started;
      const [ownAfter, theirsAfter] = [await server.cost(), await fleet.cost()];
      runs.push({
        time,
        'query-cpu': ownAfter.cpuMs - own.cpuMs,
        'agents-cpu': theirsAfter.cpuMs - theirs.cpuMs,
        bytes: theirsAfter.bytes - theirs.bytes,
      });
    }
    for (const what of ['time', 'query-cpu', 'agents-cpu', 'bytes'] as const) {
      report({ name: `${name}/${what}`, unit: what === 'bytes' ? 'B' : 'ms', ours: runs.map((one) => one[what]) });
    }
  }
}
