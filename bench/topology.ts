/**
 * What the page asks beside PromQL, over 50 agents with 500 workloads and 2,000 edges, and the memory of the names:
 *   node bench/topology.ts [--quick] [--runs N] [--profile DIR]
 * One JSON line for each figure on stdout: {name, unit, ours, peer, ratio, goal, met}; progress on stderr.
 * Agents are stand-ins: their protocols, TLS and bytes are real, and what they compute at the same
 * time on fifty machines is computed once here. The query server is the real one in a process of its own; its index has
 * 10,000 pods.
 * The memory is that of the informers and the index of the query server, over a server of the API in another process.
 * Source of the goals: issue 21, and the 19 MiB of ADR 35.
 */
import { parseArgs } from 'node:util';
import { anObject } from '../src/testing/builders/objects.ts';
import { FakeApiServer } from '../src/testing/fake-api-server/index.ts';
import { coreResources } from '../src/kube/index.ts';
import type { Topology, ServiceSummary } from '../src/api/page/types.ts';
import type { Held } from './query/address-memory.ts';
import { startPart } from './query/process.ts';
import { report } from './query/report.ts';
import { withAgents, type Stage } from './query/stand-in-stage.ts';
import { cluster, end } from './query/topology-data.ts';

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    runs: { type: 'string', default: '30' },
    profile: { type: 'string', default: '' },
  },
});
const runs = flags.quick ? 3 : Number(flags.runs);
const warm = flags.quick ? 1 : 5;
const agents = flags.quick ? 5 : cluster.nodes;
const pods = flags.quick ? 1_000 : 10_000;
const goalMs = flags.quick ? null : 1_000;
const mebibyte = 1024 * 1024;

/** One path, asked again and again: times, what the query server spent, and the answer's size. */
async function timed(
  { client, server, fleet }: Stage,
  name: string,
  path: string,
  params: Record<string, string>,
): Promise<string> {
  let text = '';
  for (let i = 0; i < warm; i++) text = await client.ask(path, params);
  if (!text.includes('"degraded":false')) throw new Error(`${name}: ${text.slice(0, 300)}`);
  const [own, theirs] = [await server.cost(), await fleet.cost()];
  const times: number[] = [];
  for (let i = 0; i < runs; i++) {
    const before = performance.now();
    await client.ask(path, params);
    times.push(performance.now() - before);
  }
  const [ownAfter, theirsAfter] = [await server.cost(), await fleet.cost()];
  times.sort((a, b) => a - b);
  report(`${name}/p50`, 'ms', times[times.length >> 1]!, null, null);
  report(`${name}/p95`, 'ms', times[Math.min(times.length - 1, Math.floor(times.length * 0.95))]!, null, goalMs);
  report(`${name}/query-cpu`, 'ms', (ownAfter.cpuMs - own.cpuMs) / runs, null, null);
  report(`${name}/agents-cpu`, 'ms', (theirsAfter.cpuMs - theirs.cpuMs) / runs, null, null);
  report(`${name}/bytes-of-agents`, 'bytes', (theirsAfter.bytes - theirs.bytes) / runs, null, null);
  report(`${name}/bytes`, 'bytes', text.length, null, null);
  return text;
}

async function answers(): Promise<void> {
  const options = { agents, pods, profile: flags.profile };
  await withAgents(options, async (stage) => {
    const at = { end: String(end / 1000) };
    const text = await timed(stage, 'topology/2000-edges', '/api/v1/topology', at);
    const { data } = JSON.parse(text) as { data: Topology };
    const requests = data.edges.filter(({ sources }) => sources.includes('requests'));
    console.error(`${data.nodes.length} nodes, ${data.edges.length} edges, ${requests.length} of them with requests`);
    if (!flags.quick && requests.length < cluster.workloads * cluster.callees)
      throw new Error(`${requests.length} edges with requests are fewer than there are`);
    await timed(stage, 'topology/2000-edges/one-hour', '/api/v1/topology', { ...at, window: '1h' });
    const services = await timed(stage, 'services/500-workloads/one-hour', '/api/v1/services', at);
    const { data: rows } = JSON.parse(services) as { data: ServiceSummary[] };
    console.error(`${rows.length} services, ${rows.filter(({ captured }) => captured).length} captured`);
  });
}

async function memory(): Promise<void> {
  const api = await FakeApiServer.start();
  for (let i = 0; i < pods; i++) api.storage.create(coreResources.pods, aPod(i), { manager: 'bench' });
  const part = await startPart<object, Held>('address-memory.ts', { server: api.url }, { atEnd: () => {} });
  try {
    const held = await part.cost();
    if (held.pods !== pods) throw new Error(`${held.pods} pods are held`);
    report(`address-index/${pods}-pods/heap`, 'MiB', held.heap / mebibyte, null, flags.quick ? null : 25);
  } finally {
    await part.stop();
    await api.stop();
  }
}

/** With six labels, as pods of Deployments have them. */
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

await answers();
await memory();
