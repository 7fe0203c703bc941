/**
 * Our PromQL engine beside a real Prometheus in the same run, over the same data, one core each:
 *   node bench/promql.ts [--quick] [--only TEXT] [--parsing]
 * One JSON line for each figure on stdout: {name, unit, ours, peer, ratio, goal, met}; progress on stderr.
 * Parsing (--parsing: nothing else) takes the queries of the conformance data in SVC_PROMQL_DATA where that is set, else
 * random expressions.
 * Data: 20 nodes × 465 series × 720 samples at 30 s (--quick: 4 nodes), ours a file of XOR chunks read into memory, the
 * peer's a block. Figures: each baseline query's
 * evaluation alone (the peer's own timing; ours from decoding chunks to the answer) and over HTTP with JSON, cold and
 * warm, their geometric means, processor time, how cost grows with series and steps, parsing, and peak memory. Answers
 * are compared. Both servers are bound to the same core where `taskset` can do that; they take turns.
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { spawnBound, signalGroup, toolEnvironment } from '../e2e/cluster/processes.ts';
import { startPeer } from '../e2e/prometheus/server.ts';
import { compare } from './promql/compare.ts';
import { generate } from './promql/data.ts';
import { growth } from './promql/growth.ts';
import { parsing } from './promql/parsing.ts';
import { ownData, peerData } from './promql/peer-data.ts';
import { oneCoreWrapper, peakMemory, residentMemory } from './promql/process-cost.ts';
import { report } from './promql/report.ts';

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    parsing: { type: 'boolean', default: false },
  },
});
const nodes = flags.quick ? 4 : 20;
const runs = flags.quick ? 3 : 9;

async function besidePeer(): Promise<void> {
  const all = generate(nodes);
  const dataDir = await peerData(all, `v2-${nodes}-nodes`);
  const wrapper = oneCoreWrapper();
  process.stderr.write(`${all.length} series; ${wrapper.length > 0 ? wrapper.join(' ') : 'not bound to a core'}\n`);
  const server = new URL('./promql/server.ts', import.meta.url).pathname;
  const child = spawnBound([...wrapper, process.execPath, server, ownData(all, nodes)], {
    run: `bench-${process.pid}`,
    env: toolEnvironment({ UV_THREADPOOL_SIZE: '1' }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = (await once(child.stdout!, 'data')) as [Buffer];
  const ours = { url: `http://127.0.0.1:${String(port).trim()}`, pid: child.pid! };
  const peer = await startPeer({ dataDir, oneCore: true, wrapper });
  try {
    const idle = [residentMemory(ours.pid), residentMemory(peer.pid)] as const;
    await compare(ours, peer, { only: flags.only, runs });
    if (flags.only !== '') return;
    await growth(ours, peer, nodes, runs);
    const peak = [peakMemory(ours.pid), peakMemory(peer.pid)] as const;
    report('memory/before-the-first-query', 'MiB', ...idle, null);
    report('memory/peak', 'MiB', ...peak, null);
  } finally {
    signalGroup(child.pid!, 'SIGTERM');
    await peer.stop();
  }
}

if (!flags.parsing) await besidePeer();
if (flags.only === '') parsing(process.env['SVC_PROMQL_DATA'], runs);
