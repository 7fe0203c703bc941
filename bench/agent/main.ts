/**
 * The agent as a whole, from OTLP bytes on the wire to durable samples, beside a Prometheus that takes the same bytes:
 *   node bench/agent/main.ts [--quick] [--no-peer]
 * One JSON line for each figure on stdout: {name, unit, ours, peer, ratio, goal, met}; progress on stderr.
 * Rates: 50 pods with 22,000 series of HTTP histograms in 50 posts per interval, the first two intervals (where series
 * are made) apart; samples per second of the receiving process' CPU time, all its threads.
 * Budget: the same posts at the pace of a node: 50,000 series at 2,200 samples a second, and 1,000 samples a second.
 * `ratio` of a rate is against `goal` 2: twice the peer's. Source of the goals: the product's performance targets.
 */
import { parseArgs } from 'node:util';
import { findPrometheus } from '../../e2e/prometheus/programs.ts';
import { type Receiver, startAgent, startPrometheus } from './process.ts';
import { httpBodies, seriesPerPod, type Timeline, timeline } from './workload.ts';

const { values: flags } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, 'no-peer': { type: 'boolean', default: false } },
});
const pods = flags.quick ? 10 : 50;
const rounds = flags.quick ? 8 : 30;
const budgetPods = flags.quick ? 12 : 114;
const paceSeconds = flags.quick ? 10 : 45;
const mebibyte = 1024 * 1024;

interface Rates {
  readonly fresh: number;
  readonly steady: number;
  readonly rss: number;
}

/** Pods that send in one interval, and how many intervals. */
async function rates(name: string, start: () => Promise<Receiver>): Promise<Rates> {
  console.error(`${name}: ${pods * seriesPerPod} series, ${rounds} intervals`);
  const time = timeline(Date.now() - rounds * 10_000);
  const receiver = await start();
  try {
    const first = [httpBodies(pods, time, 0)];
    const fresh = await cost(receiver, first);
    await post(receiver, httpBodies(pods, time, 1));
    const bodies = Array.from({ length: rounds - 2 }, (_, i) => httpBodies(pods, time, i + 2));
    const steady = await cost(receiver, bodies);
    return { fresh, steady, rss: receiver.rss() };
  } finally {
    await receiver.stop();
  }
}

/** Samples per CPU second. */
async function cost(receiver: Receiver, intervals: readonly (readonly Uint8Array[])[]): Promise<number> {
  const before = receiver.cpuSeconds();
  for (const bodies of intervals) await post(receiver, bodies);
  return (intervals.length * pods * seriesPerPod) / (receiver.cpuSeconds() - before);
}

/** Posts one interval, ten at a time, as reporters of one instrument do. */
async function post(receiver: Receiver, bodies: readonly Uint8Array[]): Promise<void> {
  const waiting = [...bodies];
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      for (let body = waiting.pop(); body; body = waiting.pop()) await postOne(receiver, body);
    }),
  );
}

async function postOne(receiver: Receiver, body: Uint8Array): Promise<void> {
  const answer = await fetch(receiver.url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf' },
    body,
    signal: AbortSignal.timeout(60_000),
  });
  const bytes = await answer.arrayBuffer();
  if (answer.status !== 200 || bytes.byteLength > 0) {
    throw new Error(
      `${receiver.url} answered ${answer.status}: ${Buffer.from(bytes).toString('latin1').slice(0, 300)}`,
    );
  }
}

/** Posts pod by pod at `samplesPerSecond` for `seconds`. Returns the share of a core that it took. */
async function pace(
  receiver: Receiver,
  work: { pods: number; samplesPerSecond: number; seconds: number; time: Timeline },
): Promise<number> {
  const gapMs = (seriesPerPod / work.samplesPerSecond) * 1_000;
  const posts = Math.round((work.seconds * 1_000) / gapMs);
  const before = receiver.cpuSeconds();
  const began = performance.now();
  let bodies: Uint8Array[] = [];
  for (let i = 0; i < posts; i++) {
    if (i % work.pods === 0) bodies = httpBodies(work.pods, work.time, 1 + i / work.pods);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + i * gapMs - performance.now())));
    await postOne(receiver, bodies[i % work.pods]!);
  }
  return (receiver.cpuSeconds() - before) / ((performance.now() - began) / 1_000);
}

async function budget(): Promise<void> {
  console.error(`agent: ${budgetPods * seriesPerPod} series at 2,200 samples/s for ${paceSeconds} s`);
  const agent = await startAgent();
  try {
    const time = timeline(Date.now() - 120_000, 25_000);
    await post(agent, httpBodies(budgetPods, time, 0));
    const share = await pace(agent, { pods: budgetPods, samplesPerSecond: 2_200, seconds: paceSeconds, time });
    const size = `${Math.round((budgetPods * seriesPerPod) / 1_000)}k-series`;
    emit(`agent/${size}/2200-samples-per-second/rss`, 'MiB', agent.rss() / mebibyte, { most: 256 });
    emit(`agent/${size}/2200-samples-per-second/peak-rss`, 'MiB', agent.peakRss() / mebibyte, {});
    emit(`agent/${size}/2200-samples-per-second/cpu`, '% of a core', share * 100, {});
  } finally {
    await agent.stop();
  }
  console.error(`agent: 10,000 series at 1,000 samples/s for ${paceSeconds} s`);
  const small = await startAgent();
  try {
    const time = timeline(Date.now() - 120_000);
    await post(small, httpBodies(23, time, 0));
    const share = await pace(small, { pods: 23, samplesPerSecond: 1_000, seconds: paceSeconds, time });
    emit('agent/10k-series/1000-samples-per-second/cpu', '% of a core', share * 100, { most: 5 });
  } finally {
    await small.stop();
  }
}

function emit(name: string, unit: string, ours: number, goal: { most?: number }): void {
  const met = goal.most === undefined ? null : ours <= goal.most;
  console.log(JSON.stringify({ name, unit, ours: round(ours), peer: null, ratio: null, goal: goal.most ?? null, met }));
}

function compare(name: string, unit: string, ours: number, peer: number | undefined, goal: number | null): void {
  const ratio = peer === undefined ? null : Math.round((ours / peer) * 100) / 100;
  const met = goal === null || ratio === null ? null : ratio >= goal;
  console.log(JSON.stringify({ name, unit, ours: round(ours), peer: peer && round(peer), ratio, goal, met }));
}

function round(value: number): number {
  return value >= 1_000 ? Math.round(value) : Math.round(value * 100) / 100;
}

const ours = await rates('agent', startAgent);
let peer: Rates | undefined;
if (!flags['no-peer']) {
  const { prometheus } = await findPrometheus();
  peer = await rates('prometheus', () => startPrometheus(prometheus));
}
const size = `${(pods * seriesPerPod) / 1_000}k-series`;
compare(`agent/${size}/otlp-to-durable/samples-per-cpu-second`, '1/s', ours.steady, peer?.steady, 2);
compare(`agent/${size}/new-series/samples-per-cpu-second`, '1/s', ours.fresh, peer?.fresh, null);
compare(`agent/${size}/otlp-to-durable/rss`, 'MiB', ours.rss / mebibyte, peer && peer.rss / mebibyte, null);
await budget();
