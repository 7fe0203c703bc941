/**
 * Our PromQL engine beside a real Prometheus in the same run, over the same data, one core each:
 *   node bench/promql.ts [--quick] [--only TEXT]
 * One JSON line for each figure on stdout: {name, unit, ours, peer, ratio, goal, met}; progress on stderr.
 * Parsing takes the compliance queries of SVC_PROMQL_DATA where that is set, else random expressions.
 * Data: 20 nodes × 465 series × 720 samples at 30 s as XOR chunks (--quick: 4 nodes). Figures: each baseline query's
 * evaluation alone (the peer's own timing; ours from decoding chunks to the answer) and over HTTP with JSON, their
 * geometric means, processor time, how cost grows with series and steps, parsing, and peak memory. Answers are compared.
 */
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { spawnBound, signalGroup, toolEnvironment } from '../e2e/cluster/processes.ts';
import { startPeer } from '../e2e/prometheus/server.ts';
import { ParseError, parse } from '../src/promql/index.ts';
import { Random } from '../src/testing/promql/random.ts';
import { randomExpression } from '../src/testing/promql/random-expression.ts';
import { end, generate, start } from './promql/data.ts';
import { peerData } from './promql/peer-data.ts';
import { queries } from './promql/queries.ts';
import { sameAnswer } from './promql/same-answer.ts';

const { values: flags } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
});
const nodes = flags.quick ? 4 : 20;
const runs = flags.quick ? 3 : 9;

interface Timed {
  /** Milliseconds. */
  readonly evaluation: number;
  readonly http: number;
  readonly body: string;
}

/** What an answer says of its own cost: ours in milliseconds, the peer in seconds. */
interface Stats {
  readonly own: number | undefined;
  readonly total: number | undefined;
  readonly queued: number | undefined;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

function report(name: string, unit: string, ours: number, peer: number | null, goal: number | null): void {
  const round = (value: number): number => Number(value.toPrecision(4));
  const ratio = peer === null ? null : round(ours / peer);
  const met = ratio === null || goal === null ? null : ratio <= goal;
  console.log(
    JSON.stringify({ name, unit, ours: round(ours), peer: peer === null ? null : round(peer), ratio, goal, met }),
  );
}

/** Asks once; the answer's own timing and the time until its last byte. */
async function ask(url: string, name: string, query: string, step = 60): Promise<Timed> {
  const params = new URLSearchParams({ query, stats: 'all' });
  if (name.startsWith('i_')) params.set('time', String(end / 1000));
  else
    for (const [key, value] of Object.entries({ start: start / 1000, end: end / 1000, step }))
      params.set(key, String(value));
  const before = performance.now();
  const answer = await fetch(`${url}/api/v1/${name.startsWith('i_') ? 'query' : 'query_range'}?${params}`);
  const body = await answer.text();
  const http = performance.now() - before;
  if (!answer.ok) throw new Error(`${name}: ${body.slice(0, 300)}`);
  // The stats stand at the end of both answers; parsing megabytes for them would take longer than the query.
  const { own, total, queued } = statsOf(body);
  const evaluation = own ?? (total! - queued!) * 1000;
  return { evaluation, http, body };
}

function statsOf(body: string): Stats {
  const tail = body.slice(body.lastIndexOf('"stats":'));
  const figure = (name: string): number | undefined => {
    const text = new RegExp(`"${name}":([-+.e\\d]+)`).exec(tail)?.[1];
    return text === undefined ? undefined : Number(text);
  };
  return { own: figure('evaluation'), total: figure('execTotalTime'), queued: figure('execQueueTime') };
}

const geometricMean = (values: readonly number[]): number =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

/** Asks until compilers and caches have settled: a server that has run for a while is what is measured. */
async function warm(url: string, name: string, query: string): Promise<void> {
  const before = performance.now();
  for (let i = 0; i < 2 || (i < 30 && performance.now() - before < 1_000); i++) await ask(url, name, query);
}

/** Milliseconds of processor time a process has used, all threads: unlike wall time it is fair on a busy machine. */
function cpuOf(pid: number): number {
  let total = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    total += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  }
  return total;
}

async function compare(ours: string, peer: string, pids: { ours: number; peer: number }): Promise<void> {
  const ratios: { evaluation: number[]; http: number[]; cpu: number[] } = { evaluation: [], http: [], cpu: [] };
  for (const [name, query] of Object.entries(queries)) {
    if (!name.includes(flags.only)) continue;
    const mine: Timed[] = [];
    const theirs: Timed[] = [];
    await warm(ours, name, query);
    await warm(peer, name, query);
    const before = [cpuOf(pids.ours), cpuOf(pids.peer)] as const;
    for (let i = 0; i < runs; i++) {
      mine.push(await ask(ours, name, query));
      theirs.push(await ask(peer, name, query));
    }
    const cpu = [cpuOf(pids.ours) - before[0], cpuOf(pids.peer) - before[1]] as const;
    const difference = sameAnswer(mine.at(-1)!.body, theirs.at(-1)!.body);
    report(`${name}/answers-that-differ`, 'answers', difference === null ? 0 : 1, null, null);
    if (difference !== null) process.stderr.write(`${name}: ${difference}\n`);
    for (const part of ['evaluation', 'http'] as const) {
      const [a, b] = [mine, theirs].map((all) => median(all.map((one) => one[part]))) as [number, number];
      report(`${name}/${part}/median`, 'ms', a, b, 1);
      ratios[part].push(a / b);
    }
    report(`${name}/http/cpu`, 'ms', cpu[0] / runs, cpu[1] / runs, 1);
    ratios.cpu.push(cpu[0] / cpu[1]);
  }
  for (const part of ['evaluation', 'http', 'cpu'] as const) {
    report(`all/${part}/geometric-mean-of-ratios`, 'ratio', geometricMean(ratios[part]), 1, 0.5);
  }
}

/** Cost at 4 and 16 times the series, and the steps, relative to the smallest; the peer's growth beside ours. */
async function growth(ours: string, peer: string): Promise<void> {
  const query = (count: number): string => {
    const names = Array.from({ length: count }, (_, i) => `node-${i}`).join('|');
    return `sum by (service_name) (rate(http_server_request_duration_bucket{k8s_node_name=~"${names}"}[5m]))`;
  };
  const cost = async (url: string, text: string, step: number): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < runs; i++) times.push((await ask(url, 'r_growth', text, step)).evaluation);
    return median(times);
  };
  const biggest = Math.min(16, nodes);
  for (const [axis, at] of [
    ['series', (times: number) => [query(times), 60]],
    ['steps', (times: number) => [query(biggest), 960 / times]],
  ] as const) {
    const [text, step] = at(1) as [string, number];
    const base = [await cost(ours, text, step), await cost(peer, text, step)] as const;
    for (const times of [4, 16].filter((one) => axis === 'steps' || one <= nodes)) {
      const [more, finer] = at(times) as [string, number];
      const a = (await cost(ours, more, finer)) / base[0];
      const b = (await cost(peer, more, finer)) / base[1];
      report(`growth/${axis}/${times}x/evaluation`, 'times', a, b, 1);
    }
  }
}

/** The compliance queries of SVC_PROMQL_DATA, random expressions where it is not set. */
function texts(): readonly string[] {
  const dir = process.env['SVC_PROMQL_DATA'];
  if (dir !== undefined) {
    const folder = `${dir}/compliance`;
    const files = readdirSync(folder).filter((name) => name.endsWith('.expanded.json'));
    const read = (name: string): { query: string }[] =>
      JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')) as { query: string }[];
    return files.flatMap(read).map(({ query }) => query);
  }
  const random = new Random(1);
  const scope = { histograms: true, experimental: true, start, end };
  return Array.from({ length: 2_208 }, () => randomExpression(random, scope));
}

/** Parses all texts; those that are refused count too, being told what is wrong is part of the work. */
function parsing(): void {
  const parsed = texts();
  const features = { experimentalFunctions: true, extendedRangeSelectors: true, fillModifiers: true };
  const times: number[] = [];
  for (let i = 0; i < runs + 2; i++) {
    const before = performance.now();
    for (const text of parsed) {
      try {
        parse(text, features);
      } catch (error) {
        if (!(error instanceof ParseError)) throw error;
      }
    }
    times.push(performance.now() - before);
  }
  report(`parse/${parsed.length}-queries/median`, 'ms', median(times.slice(2)), null, null);
}

/** Peak resident memory of a process, in MiB. */
function peakMemory(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

const all = generate(nodes);
const dataDir = await peerData(all, nodes);
const child = spawnBound([process.execPath, new URL('./promql/server.ts', import.meta.url).pathname, String(nodes)], {
  run: `bench-${process.pid}`,
  env: toolEnvironment({ UV_THREADPOOL_SIZE: '1' }),
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [port] = (await once(child.stdout!, 'data')) as [Buffer];
const ours = `http://127.0.0.1:${String(port).trim()}`;
const peer = await startPeer({ dataDir, oneCore: true });
try {
  process.stderr.write(`${all.length} series\n`);
  await compare(ours, peer.url, { ours: child.pid!, peer: peer.pid });
  if (flags.only === '') {
    await growth(ours, peer.url);
    report('memory/peak', 'MiB', peakMemory(child.pid!), peakMemory(peer.pid), null);
    parsing();
  }
} finally {
  signalGroup(child.pid!, 'SIGTERM');
  await peer.stop();
}
