import type { AgentsCost } from './agents.ts';
import type { ApiClient } from './ask.ts';
import { mix } from './mix.ts';
import type { Part } from './process.ts';
import { report } from './report.ts';
import type { ProcessCost } from './server.ts';

/** Rounds before the one that counts, until the code is compiled. */
const warm = 6;
const counted = 3;

/** Each request of the mix by itself: its time, what it costs server and agents, and what the agents send. */
export async function eachAlone({
  fleet,
  server,
  client,
}: {
  readonly fleet: Pick<Part<unknown, AgentsCost>, 'cost'>;
  readonly server: Pick<Part<unknown, ProcessCost>, 'cost'>;
  readonly client: ApiClient;
}): Promise<void> {
  for (const [i, { kind, path, params, leaves }] of mix.entries()) {
    if (leaves) continue;
    for (let k = 0; k < warm; k++) await client.ask(path, params);
    const [own, theirs, started] = [await server.cost(), await fleet.cost(), performance.now()];
    for (let k = 0; k < counted; k++) await client.ask(path, params);
    const ms = (performance.now() - started) / counted;
    const [ownAfter, theirsAfter] = [await server.cost(), await fleet.cost()];
    const name = `mix/${i}-${kind}`;
    process.stderr.write(`${name}: ${path} ${params['query'] ?? params['match[]'] ?? ''}\n`);
    report(`${name}/time`, 'ms', ms, null, null);
    report(`${name}/query-cpu`, 'ms', (ownAfter.cpuMs - own.cpuMs) / counted, null, null);
    report(`${name}/agents-cpu`, 'ms', (theirsAfter.cpuMs - theirs.cpuMs) / counted, null, null);
    report(`${name}/bytes`, 'bytes', (theirsAfter.bytes - theirs.bytes) / counted, null, null);
  }
}
