import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { agentServerName } from '../../src/api/agents/agent-certificate.ts';
import { createCa, issueLeaf } from '../../src/net/ca.ts';
import { TlsClient } from '../../src/net/tls-client.ts';
import { fixedTls } from '../../src/net/tls-material.ts';
import { agentTls } from '../../src/testing/agent-tls.ts';
import type { Stage } from '../run/bench.ts';
import { residentMiB } from '../run/process-figures.ts';
import { postAll, postOne } from './post.ts';
import { expectSeries, startAgent, type AgentPlace, type RunningAgent } from './process.ts';
import { httpBodies, seriesPerPod, timeline } from './workload.ts';

export interface StartWork {
  /** Number of pods that the filled disks have series of; 114 pods are 50,000 series. */
  readonly pods: number;
  /** Number of intervals of 23 s for which the filled disks have samples. */
  readonly rounds: number;
  readonly program: string;
  readonly wrapper: readonly string[];
  readonly cores: string;
  /** A folder that keeps the filled disks; disks that are in it already are used. Empty string: no disk is kept. */
  readonly disks: string;
}

interface Started {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly resident: number;
}

const stepMs = 23_000;
/** The share of the intervals whose samples are only in the log: with more, the log would become a checkpoint. */
const partInLog = 0.4;

/**
 * Measures the time from the start of an agent's process to its answer on every port: with an empty disk, with the disk
 * of a stopped agent, and with the disk of a killed agent.
 */
export async function benchStart({ runs, say, atEnd, folder, reporter }: Stage, work: StartWork): Promise<void> {
  const dir = folder();
  const { place, ask } = await identities(join(dir, 'tls'));
  const disks = await filled(work, atEnd, say, work.disks || dir);
  const report = reporter({ cores: work.cores, caches: 'new process; files in the page cache' });
  for (const [state, source] of [
    ['empty', undefined],
    ['stopped', disks.stopped],
    ['killed', disks.killed],
  ] as const) {
    const started: Started[] = [];
    for (let run = 0; run < runs; run++) {
      say(`start: ${state}, run ${run + 1} of ${runs}`);
      const data = join(dir, 'data');
      rmSync(data, { recursive: true, force: true });
      if (source !== undefined) cpSync(source, data, { recursive: true });
      const began = performance.now();
      const agent = await startAgent(work.program, work.wrapper, atEnd, { ...place, data });
      await ask(agent);
      started.push({
        cpuMs: agent.cpuMs(),
        wallMs: performance.now() - began,
        resident: residentMiB(agent.pid),
      });
      if (source !== undefined) await expectSeries(agent, work.pods * seriesPerPod, 'svc_tsdb_series');
      await agent.kill();
    }
    const name = state === 'empty' ? 'agent/start/empty' : `agent/start/${work.pods * seriesPerPod}-series/${state}`;
    const goal = { of: 'ours', atMost: 1.5 } as const;
    report({ name: `${name}/cpu`, unit: 's', ours: started.map((one) => one.cpuMs / 1000), goal });
    report({ name: `${name}/wall`, unit: 's', ours: started.map((one) => one.wallMs / 1000), goal });
    report({ name: `${name}/rss`, unit: 'MiB', ours: started.map((one) => one.resident) });
  }
}

/** The data directories of an agent that was stopped, and of one that was killed with a log to replay. */
async function filled(
  { pods, rounds, program, wrapper }: StartWork,
  atEnd: Stage['atEnd'],
  say: Stage['say'],
  dir: string,
): Promise<Record<'stopped' | 'killed', string>> {
  const disks = { stopped: join(dir, 'stopped'), killed: join(dir, 'killed') };
  if (existsSync(disks.stopped)) return disks;
  const time = timeline(Date.now() - rounds * stepMs - 60_000, stepMs);
  const inLog = Math.ceil(rounds * partInLog);
  const fill = async (data: string, from: number, to: number): Promise<RunningAgent> => {
    const agent = await startAgent(program, wrapper, atEnd, { data });
    for (let round = from; round < to; round++) await postAll(agent, httpBodies(pods, time, round));
    return agent;
  };
  const data = join(dir, 'filled');
  say(`start: filling with ${pods * seriesPerPod} series, ${rounds} intervals`);
  await (await fill(data, 0, rounds - inLog)).stop();
  const agent = await fill(data, rounds - inLog, rounds);
  await agent.kill();
  cpSync(data, disks.killed, { recursive: true });
  await (await startAgent(program, wrapper, atEnd, { data })).stop();
  cpSync(data, disks.stopped, { recursive: true });
  return disks;
}

/** A certificate for the agent's TLS ports, and a function that sends each port a request and awaits the answers. */
async function identities(tls: string): Promise<{ place: AgentPlace; ask: (agent: RunningAgent) => Promise<void> }> {
  const ca = await createCa({ commonName: 'svc-ca', now: Date.now() });
  const { cert, key } = await agentTls(ca, 'bench');
  mkdirSync(tls, { recursive: true });
  for (const [file, text] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca.cert })) {
    writeFileSync(join(tls, file), text);
  }
  const leaf = await issueLeaf(ca, { commonName: 'svc-controller', dnsNames: ['svc-controller'] }, { now: Date.now() });
  const material = fixedTls({ ...leaf, ca: ca.cert });
  const ask = async ({ ports, url, scrapeUrl }: RunningAgent): Promise<void> => {
    const client = new TlsClient(material);
    const overTls = (port: number): Promise<unknown> =>
      client.request({
        host: '127.0.0.1',
        port,
        path: '/',
        method: 'GET',
        servername: agentServerName('bench', 'svc-system'),
        deadlineMs: 60_000,
        maxBytes: 65_536,
      });
    await Promise.all([
      fetch(scrapeUrl!).then((answer) => answer.arrayBuffer()),
      postOne({ url } as RunningAgent, new Uint8Array(0)),
      grpcAnswer(ports.grpc),
      ...[ports.remote, ports.spans, ports.capture].map(overTls),
    ]);
    client.close();
  };
  return { place: { tls }, ask };
}

/** Sends an empty request of metrics over gRPC. Resolves when the connection is closed. */
function grpcAnswer(port: number): Promise<void> {
  const path = '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export';
  return new Promise((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`);
    session.on('error', reject);
    session.on('close', resolve);
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request(headers);
    stream.on('error', reject);
    stream.on('close', () => session.close());
    stream.resume();
    stream.end(Buffer.alloc(5));
  });
}
