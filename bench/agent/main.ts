/**
 * The agent as a whole, from OTLP bytes on the wire to durable samples, beside a Prometheus that takes the same bytes:
 *   node bench/agent/main.ts [--quick] [--no-peer]
 * One JSON line for each figure on stdout: {name, unit, ours, peer, ratio, goal, met}; progress on stderr.
 * Rates: 50 pods with 22,000 series of HTTP histograms in 50 posts per interval: the first one, where series are made;
 * the next nine, of a young process; and those after them. Samples per second of the receiving process' CPU time, all
 * its threads, the same intervals on both sides.
 * Scrape: those series as text and as OpenMetrics, plain and gzip, while posts go on.
 * Budget: the same posts at the pace of a node: 50,000 series at 2,200 samples a second, behind almost an hour of
 * history (the most that the agent takes in late), and 1,000 samples a second.
 * What runs is the program that images have, built first; --quick runs the sources, whose process is larger.
 * `ratio` of a rate is against `goal` 2: twice the peer's. Source of the goals: the product's performance targets.
 */
import { get } from 'node:http';
import { parseArgs } from 'node:util';
import { buildProgram, sourceProgram } from './program.ts';
import { type Receiver, startAgent, startPrometheus } from './process.ts';
import { httpBodies, seriesPerPod, type Timeline, timeline } from './workload.ts';

const { values: flags } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, 'no-peer': { type: 'boolean', default: false } },
});
const pods = flags.quick ? 10 : 50;
const youngRounds = flags.quick ? 4 : 10;
const rounds = flags.quick ? 12 : 50;
const budgetPods = flags.quick ? 12 : 114;
const paceSeconds = flags.quick ? 10 : 45;
/** 50,000 series at 2,200 samples a second: one sample each in so many ms. */
const budgetStepMs = 23_000;
const historyRounds = flags.quick ? 5 : 143;
const mebibyte = 1024 * 1024;

const scrapeCount = flags.quick ? 5 : 11;

interface Rates {
  readonly fresh: number;
  readonly young: number;
  readonly steady: number;
  readonly rss: number;
}

async function rates(name: string, start: () => Promise<Receiver>): Promise<Rates> {
  console.error(`${name}: ${pods * seriesPerPod} series, ${rounds} intervals`);
  const time = timeline(Date.now() - rounds * 10_000);
  const bodies = Array.from({ length: rounds }, (_, i) => httpBodies(pods, time, i));
  const receiver = await start();
  try {
    const fresh = await cost(receiver, bodies.slice(0, 1));
    const young = await cost(receiver, bodies.slice(1, youngRounds));
    const steady = await cost(receiver, bodies.slice(youngRounds));
    if (receiver.scrapeUrl !== null) await scrapes(receiver, time);
    return { fresh, young, steady, rss: receiver.rss() };
  } finally {
    await receiver.stop();
  }
}

/** Scrapes of all series while one interval after the other comes in; and how long the posts took meanwhile. */
async function scrapes(receiver: Receiver, time: Timeline): Promise<void> {
  const posts: number[] = [];
  let ends = false;
  const posting = (async () => {
    for (let round = rounds; !ends; round++) {
      for (const body of httpBodies(pods, time, round)) {
        const from = performance.now();
        await postOne(receiver, body);
        posts.push(performance.now() - from);
        if (ends) break;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  })();
  const size = `${(pods * seriesPerPod) / 1_000}k-series`;
  for (const [format, accept] of [
    ['text', 'text/plain'],
    ['openmetrics', 'application/openmetrics-text;version=1.0.0'],
  ] as const) {
    for (const encoding of ['identity', 'gzip']) {
      const times: number[] = [];
      const before = receiver.cpuSeconds();
      for (let i = 0; i < scrapeCount; i++) times.push(await scrapeOnce(receiver.scrapeUrl!, accept, encoding));
      const cpu = ((receiver.cpuSeconds() - before) / scrapeCount) * 1_000;
      const name = `scrape/${size}/${format}/${encoding}`;
      emit(`${name}/median`, 'ms', times.toSorted((a, b) => a - b)[scrapeCount >> 1]!, { most: 250 });
      emit(`${name}/cpu`, 'ms', cpu, {});
    }
  }
  ends = true;
  await posting;
  emit(`scrape/${size}/slowest-post-meanwhile`, 'ms', Math.max(...posts), {});
}

/** Milliseconds until the last byte of the page is there. It is not decompressed: that is the scraper's work. */
function scrapeOnce(url: string, accept: string, encoding: string): Promise<number> {
  const from = performance.now();
  return new Promise((resolve, reject) => {
    const req = get(url, { headers: { accept, 'accept-encoding': encoding } }, (res) => {
      if (res.statusCode !== 200) reject(new Error(`${url} answered ${res.statusCode}`));
      res.resume();
      res.on('end', () => resolve(performance.now() - from));
      res.on('error', reject);
    });
    req.on('error', reject);
  });
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
  work: { pods: number; samplesPerSecond: number; seconds: number; time: Timeline; round: number },
): Promise<number> {
  const gapMs = (seriesPerPod / work.samplesPerSecond) * 1_000;
  const posts = Math.round((work.seconds * 1_000) / gapMs);
  const before = receiver.cpuSeconds();
  const began = performance.now();
  let bodies: Uint8Array[] = [];
  for (let i = 0; i < posts; i++) {
    if (i % work.pods === 0) bodies = httpBodies(work.pods, work.time, work.round + i / work.pods);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + i * gapMs - performance.now())));
    await postOne(receiver, bodies[i % work.pods]!);
  }
  return (receiver.cpuSeconds() - before) / ((performance.now() - began) / 1_000);
}

async function budget(): Promise<void> {
  console.error(`agent: ${budgetPods * seriesPerPod} series at 2,200 samples/s for ${paceSeconds} s`);
  const agent = await startAgent(program);
  try {
    const time = timeline(Date.now() - historyRounds * budgetStepMs - 120_000, budgetStepMs);
    for (let round = 0; round < historyRounds; round++) await post(agent, httpBodies(budgetPods, time, round));
    emit(`agent/history/rss`, 'MiB', agent.rss() / mebibyte, {});
    const share = await pace(agent, {
      pods: budgetPods,
      samplesPerSecond: 2_200,
      seconds: paceSeconds,
      time,
      round: historyRounds,
    });
    const size = `${Math.round((budgetPods * seriesPerPod) / 1_000)}k-series`;
    emit(`agent/${size}/2200-samples-per-second/rss`, 'MiB', agent.rss() / mebibyte, { most: 256 });
    emit(`agent/${size}/2200-samples-per-second/peak-rss`, 'MiB', agent.peakRss() / mebibyte, {});
    emit(`agent/${size}/2200-samples-per-second/cpu`, '% of a core', share * 100, {});
  } finally {
    await agent.stop();
  }
  console.error(`agent: 10,000 series at 1,000 samples/s for ${paceSeconds} s`);
  const small = await startAgent(program);
  try {
    const time = timeline(Date.now() - 120_000);
    await post(small, httpBodies(23, time, 0));
    const share = await pace(small, { pods: 23, samplesPerSecond: 1_000, seconds: paceSeconds, time, round: 1 });
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

const { program, remove } = flags.quick ? sourceProgram() : await buildProgram();
const ours = await rates('agent', () => startAgent(program));
let peer: Rates | undefined;
if (!flags['no-peer']) {
  peer = await rates('prometheus', startPrometheus);
}
const size = `${(pods * seriesPerPod) / 1_000}k-series`;
compare(`agent/${size}/otlp-to-durable/samples-per-cpu-second`, '1/s', ours.steady, peer?.steady, 2);
compare(`agent/${size}/young-process/samples-per-cpu-second`, '1/s', ours.young, peer?.young, null);
compare(`agent/${size}/new-series/samples-per-cpu-second`, '1/s', ours.fresh, peer?.fresh, null);
compare(`agent/${size}/otlp-to-durable/rss`, 'MiB', ours.rss / mebibyte, peer && peer.rss / mebibyte, null);
await budget();
remove();
