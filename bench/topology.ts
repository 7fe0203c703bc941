import { anObject } from '../src/testing/builders/objects.ts';
import { FakeApiServer } from '../src/testing/fake-api-server/index.ts';
import { coreResources } from '../src/kube/index.ts';
import type { Topology, ServiceSummary } from '../src/api/page/types.ts';
import type { Held } from './query/address-memory.ts';
import { startPart } from './query/process.ts';
import { withStandIns, type StandInStage } from './query/stand-in-stage.ts';
import { cluster, end } from './query/topology-data.ts';
import { bench, type Stage } from './run/bench.ts';
import { allCores } from './run/cores.ts';
import { WrongFlag } from './run/flags.ts';

const mebibyte = 1024 * 1024;
const warmAnswers = 5;
/** Source: issue 21. */
const oneSecond = { of: 'ours', atMost: 1_000 } as const;
/** What ADR 35 measured, plus a margin. Unit: MiB. */
const indexGoal = { of: 'ours', atMost: 25 } as const;
const caches =
  'warm: connections kept, the same was asked before; agents compute each answer anew, but only once for all of them';

await bench(
  {
    name: 'bench:topology',
    measures:
      "The page's requests other than PromQL, over 50 agents with 500 workloads and 2,000 edges: /api/v1/topology and\n" +
      '/api/v1/services, from the request to the last byte of the answer. Agents are stand-ins in one process: protocols,\n' +
      'TLS and bytes are real, but what fifty machines compute in parallel is computed once. Also the memory of the query\n' +
      "server's informers and index of addresses, after garbage collection. No peer.",
    options: {
      only: { kind: 'text', help: 'answers or memory' },
      agents: { kind: 'number', value: cluster.nodes, quick: 5, help: 'agents' },
      pods: { kind: 'number', value: 10_000, quick: 1_000, help: 'pods in the index of addresses' },
      answers: { kind: 'number', value: 20, quick: 3, help: 'answers of each run' },
      profile: { kind: 'text', help: 'a folder for CPU profiles of the query server and the agents' },
    },
  },
  async (stage) => {
    const { only, agents, pods, answers, profile } = stage.flags;
    if (!['', 'answers', 'memory'].includes(only)) throw new WrongFlag(`--only is ${only}, not answers or memory`);
    const asked = { answers, goal: agents >= cluster.nodes ? oneSecond : undefined };
    // Memory comes first, while this process is bound to no core.
    if (only !== 'answers') await memory(stage, pods);
    if (only !== 'memory') await withStandIns(stage, { agents, pods, profile }, (on) => both(stage, on, asked));
  },
);

interface Asked {
  /** How many answers a run has. */
  readonly answers: number;
  /** The goal of the 95th percentile of the times. */
  readonly goal: typeof oneSecond | undefined;
}

async function both(stage: Stage, on: StandInStage, asked: Asked): Promise<void> {
  const at = { end: String(end / 1000) };
  const text = await timed(stage, on, asked, 'topology/2000-edges', '/api/v1/topology', at);
  const { nodes, edges } = (JSON.parse(text) as { data: Topology }).data;
  const requests = edges.filter(({ sources }) => sources.includes('requests'));
  stage.say(`${nodes.length} nodes, ${edges.length} edges, ${requests.length} of them with requests`);
  const wanted = cluster.workloads * cluster.callees;
  if (asked.goal && requests.length < wanted) stage.fail(`${requests.length} edges with requests, not ${wanted}`);
  const hour = { ...at, window: '1h' };
  await timed(stage, on, asked, 'topology/2000-edges/one-hour', '/api/v1/topology', hour);
  const services = await timed(stage, on, asked, 'services/500-workloads/one-hour', '/api/v1/services', at);
  const { data: rows } = JSON.parse(services) as { data: ServiceSummary[] };
  stage.say(`${rows.length} services, ${rows.filter(({ captured }) => captured).length} captured`);
}

/** Requests one path repeatedly: measures times, CPU time of query server and agents, and the answer's size. */
async function timed(
  { runs, say, reporter }: Stage,
  { client, server, fleet, cores }: StandInStage,
  { answers, goal }: Asked,
  name: string,
  path: string,
  params: Record<string, string>,
): Promise<string> {
  say(name);
  let text = '';
  for (let i = 0; i < warmAnswers; i++) text = await client.ask(path, params);
  if (!text.includes('"degraded":false')) throw new Error(`${name}: ${text.slice(0, 300)}`);
  const found = { p50: [], p95: [], queryCpu: [], agentsCpu: [], bytes: [] } as Record<string, number[]>;
  for (let run = 0; run < runs; run++) {
    const [own, theirs] = [await server.cost(), await fleet.cost()];
    const times: number[] = [];
    for (let i = 0; i < answers; i++) {
      const before = performance.now();
      await client.ask(path, params);
      times.push(performance.now() - before);
    }
    const [ownAfter, theirsAfter] = [await server.cost(), await fleet.cost()];
    times.sort((a, b) => a - b);
    found['p50']!.push(times[times.length >> 1]!);
    found['p95']!.push(times[Math.min(times.length - 1, Math.floor(times.length * 0.95))]!);
    found['queryCpu']!.push((ownAfter.cpuMs - own.cpuMs) / answers);
    found['agentsCpu']!.push((theirsAfter.cpuMs - theirs.cpuMs) / answers);
    found['bytes']!.push((theirsAfter.bytes - theirs.bytes) / answers);
  }
  const report = reporter({ cores, caches });
  report({ name: `${name}/p50`, unit: 'ms', ours: found['p50']! });
  report({ name: `${name}/p95`, unit: 'ms', ours: found['p95']!, goal });
  report({ name: `${name}/query-cpu`, unit: 'ms', ours: found['queryCpu']! });
  report({ name: `${name}/agents-cpu`, unit: 'ms', ours: found['agentsCpu']! });
  report({ name: `${name}/bytes-of-agents`, unit: 'B', ours: found['bytes']! });
  report({ name: `${name}/bytes`, unit: 'B', ours: Array<number>(runs).fill(text.length) });
  return text;
}

async function memory({ runs, quick, say, reporter, atEnd }: Stage, pods: number): Promise<void> {
  say(`index of ${pods} pods`);
  const api = await FakeApiServer.start();
  atEnd(() => api.stop());
  for (let i = 0; i < pods; i++) api.storage.create(coreResources.pods, aPod(i), { manager: 'bench' });
  const heap: number[] = [];
  for (let run = 0; run < runs; run++) {
    const part = await startPart<object, Held>('address-memory.ts', { server: api.url }, { atEnd });
    const held = await part.cost();
    await part.stop();
    if (held.pods !== pods) throw new Error(`${held.pods} pods are held`);
    heap.push(held.heap / mebibyte);
  }
  const report = reporter({ cores: allCores('informers and API server'), caches: 'the first list of a process' });
  report({ name: `address-index/${pods}-pods/heap`, unit: 'MiB', ours: heap, goal: quick ? undefined : indexGoal });
}

/** A pod with six labels, as pods of Deployments have. */
function aPod(i: number): ReturnType<typeof anObject> {
  const app = `app-${i % cluster.workloads}`;
  const labels = {
    app,
    'app.kubernetes.io/name': app,
    'app.kubernetes.io/instance': `${app}-main`,
    'app.kubernetes.io/version': `1.${i % 7}.0`,
    'app.kubernetes.io/part-of': 'shop',
    'pod-template-hash': '7d9f4c5b6',
  };
  const ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${app}-7d9f4c5b6`, uid: `rs-${app}`, controller: true },
  ];
  const namespace = `ns-${i % cluster.namespaces}`;
  const ip = `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
  return anObject({
    kind: 'Pod',
    metadata: { name: `${app}-7d9f4c5b6-${i}`, namespace, labels, ownerReferences },
    spec: {
      nodeName: `node-${i % cluster.nodes}`,
      containers: [
        { name: 'main', image: 'main:1' },
        { name: 'proxy', image: 'proxy:1' },
      ],
    },
    status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z', podIP: ip, podIPs: [{ ip }] },
  });
}
