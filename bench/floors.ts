import { createCa, issueLeaf } from '../src/net/ca.ts';
import { nodeMemory } from '../src/render/node-memory.ts';
import type { FloorTls, FloorWork } from './floors/program.ts';
import { ApiClient } from './query/ask.ts';
import { startPart, type Part } from './query/process.ts';
import { agentEnvironment, imageEnvironment, queryEnvironment } from './run/as-rendered.ts';
import { bench, type Stage } from './run/bench.ts';
import { allCores, oneCore } from './run/cores.ts';
import { cpuMs, residentMiB } from './run/process-figures.ts';

/** The size of an agent's answer to a small query. Units: bytes. */
const answerBytes = 500;
/** The sizes of an edit's request to an agent, and of its acknowledgement. Units: bytes. */
const edit = { message: 12_000, reply: 400 };

await bench(
  {
    name: 'bench:floors',
    measures:
      'What parts of the product would cost if Node.js alone did their work on the network, and nothing else: no product\n' +
      'with these parts on Node.js can cost less. hops: a request to an HTTPS server that passes it on to another, as\n' +
      'between client, query server and agent. sessions: one message over each of many TLS connections, and its reply,\n' +
      'as in an edit of the capture config.',
    options: {
      answers: { kind: 'number', value: 2_000, quick: 20, help: 'answers of a run of hops' },
      connections: { kind: 'number', value: 1_000, quick: 20, help: 'connections of sessions' },
    },
  },
  async (stage) => {
    const tls = await identity();
    await hops(stage, tls, stage.flags.answers);
    await sessions(stage, tls, stage.flags.connections);
  },
);

async function identity(): Promise<FloorTls> {
  const now = Date.now();
  const ca = await createCa({ commonName: 'floors', now });
  return { ...(await issueLeaf(ca, { commonName: 'floors', dnsNames: ['localhost'] }, { now })), ca: ca.cert };
}

function start(
  work: FloorWork,
  { atEnd }: Pick<Stage, 'atEnd'>,
  env: Readonly<Record<string, string>>,
  wrapper: readonly string[] = [],
): Promise<Part<number, unknown>> {
  return startPart<number, unknown>('../floors/program.ts', work, { atEnd, wrapper, env });
}

async function hops(stage: Stage, tls: FloorTls, answers: number): Promise<void> {
  const { runs, say, reporter } = stage;
  const { wrapper, saysAlone } = oneCore();
  const figures = { first: [] as number[], time: [] as number[], cpu: [] as number[] };
  for (let run = 0; run < runs; run++) {
    say(`two hops, run ${run + 1} of ${runs}`);
    const far = await start({ role: 'answer', bytes: answerBytes, tls }, stage, agentEnvironment, wrapper);
    const near = await start({ role: 'relay', port: far.started, tls }, stage, queryEnvironment, wrapper);
    const client = new ApiClient(near.started, tls.ca);
    const ask = async (count: number): Promise<{ ms: number; cpu: number }> => {
      const used = (): number => cpuMs(far.pid) + cpuMs(near.pid);
      const [before, began] = [used(), performance.now()];
      for (let i = 0; i < count; i++) await client.ask('/', {});
      return { ms: (performance.now() - began) / count, cpu: (used() - before) / count };
    };
    figures.first.push((await ask(1)).ms);
    await ask(answers);
    const warm = await ask(answers);
    figures.time.push(warm.ms);
    figures.cpu.push(warm.cpu);
    client.close();
    await near.stop();
    await far.stop();
  }
  const cores = saysAlone('both servers', 'the client');
  const cold = reporter({ cores, caches: 'cold: processes just started' });
  cold({ name: 'floor/two-hops/first/time', unit: 'ms', ours: figures.first });
  const report = reporter({ cores, caches: `warm: behind ${answers} answers` });
  report({ name: 'floor/two-hops/time', unit: 'ms', ours: figures.time });
  report({ name: 'floor/two-hops/cpu', unit: 'ms', ours: figures.cpu });
}

async function sessions(stage: Stage, tls: FloorTls, connections: number): Promise<void> {
  const { runs, say, reporter } = stage;
  say(`${connections} sessions`);
  const far = await start({ role: 'reply', ...edit, tls }, stage, agentEnvironment);
  const near = await start({ role: 'connect', port: far.started, connections, ...edit, tls }, stage, {
    ...imageEnvironment,
    ...nodeMemory('controller'),
  });
  const figures = { time: [] as number[], cpu: [] as number[], rss: [] as number[] };
  // The first round is not counted: in it, V8 compiles the code.
  for (let run = -1; run < runs; run++) {
    const [before, began] = [cpuMs(near.pid), performance.now()];
    await near.cost();
    if (run < 0) continue;
    figures.time.push((performance.now() - began) / 1000);
    figures.cpu.push((cpuMs(near.pid) - before) / 1000);
    figures.rss.push(residentMiB(near.pid));
  }
  await near.stop();
  await far.stop();
  const report = reporter({
    cores: allCores('both programs'),
    caches: 'warm: connections kept, behind one message over each',
  });
  const name = `floor/${connections}-sessions`;
  report({ name: `${name}/message-to-last-reply`, unit: 's', ours: figures.time });
  report({ name: `${name}/sender-cpu`, unit: 's', ours: figures.cpu });
  report({ name: `${name}/sender-rss`, unit: 'MiB', ours: figures.rss });
}
