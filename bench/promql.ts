/**
 * Hot paths of the PromQL engine over synthetic series in memory:
 *   node bench/promql.ts [--quick]
 * One JSON line for each figure on stdout: {name, unit, ours, peer, ratio, goal, met}; progress on stderr.
 * Data: 20 nodes × 360 series (request counts, duration buckets, flows) × 720 samples at 30 s; --quick takes 2 nodes.
 * Range queries ask for 6 h at a step of 60 s.
 */
import { parseArgs } from 'node:util';
import { Engine, compileMatcher, matchesAll, parse, sortedLabels } from '../src/promql/index.ts';
import type { Label, SelectRequest, SelectResult, Series, SeriesSource } from '../src/promql/index.ts';

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const nodes = flags.quick ? 2 : 20;
const runs = flags.quick ? 3 : 7;
const samples = 720;
const startMs = 1_795_219_230_000;
const stepMs = 30_000;
const endMs = startMs + (samples - 1) * stepMs;

const queries: Record<string, string> = {
  i_sum_by_rate: 'sum by (k8s_namespace_name, service_name) (rate(http_server_request_duration_count[5m]))',
  r_sum_by_rate: 'sum by (k8s_namespace_name, service_name) (rate(http_server_request_duration_count[5m]))',
  i_hq99: 'histogram_quantile(0.99, sum by (le, service_name) (rate(http_server_request_duration_bucket[5m])))',
  r_hq99: 'histogram_quantile(0.99, sum by (le, service_name) (rate(http_server_request_duration_bucket[5m])))',
  r_topk_flow: 'topk(10, sum by (k8s_src_owner_name, k8s_dst_owner_name) (rate(ebpf_network_flow_bytes[5m])))',
  r_avg_over_time_1h: 'avg by (k8s_node_name) (avg_over_time(ebpf_network_flow_bytes[1h]))',
  r_subquery: 'max_over_time(sum(rate(http_server_request_duration_count[5m]))[30m:1m])',
};

/** A small seeded generator, so that every run sees the same data. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const timestamps = Float64Array.from({ length: samples }, (_, i) => startMs + i * stepMs);
const bounds = ['0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '+Inf'];

/** Series indexed by metric name, as any source would hold them. */
class SyntheticSource implements SeriesSource {
  readonly #byName = new Map<string, Series[]>();
  count = 0;

  constructor() {
    const random = generator(42);
    for (let node = 0; node < nodes; node++) this.#addNode(`node-${node}`, random);
  }

  #addNode(node: string, random: () => number): void {
    for (let pod = 0; pod < 5; pod++) {
      const service: Label[] = [
        ['k8s_namespace_name', `ns-${pod % 3}`],
        ['k8s_node_name', node],
        ['k8s_pod_name', `pod-${pod}`],
        ['service_name', `dep-${pod}`],
      ];
      for (const status of ['200', '404', '500', '503']) {
        const rate = 1 + Math.floor(random() * 40);
        const labels: Label[] = [...service, ['http_response_status_code', status]];
        this.#add('http_server_request_duration_count', labels, counter(random, rate));
        let share = 0.1;
        for (const le of bounds) {
          share = Math.min(1, share + random() * 0.15);
          this.#add('http_server_request_duration_bucket', [...labels, ['le', le]], counter(random, rate * share));
        }
      }
      for (let flow = 0; flow < 24; flow++) {
        const labels: Label[] = [
          ['direction', flow < 12 ? 'request' : 'response'],
          ['k8s_dst_owner_name', `dst-${flow % 12}`],
          ['k8s_node_name', node],
          ['k8s_src_owner_name', `dep-${pod}`],
        ];
        this.#add('ebpf_network_flow_bytes', labels, counter(random, 50_000));
      }
    }
  }

  #add(name: string, labels: Label[], values: Float64Array): void {
    const series = { labels: sortedLabels([...labels, ['__name__', name]]), timestamps, values };
    const known = this.#byName.get(name) ?? [];
    known.push(series);
    this.#byName.set(name, known);
    this.count++;
  }

  select(request: SelectRequest): Promise<SelectResult> {
    const name = request.matchers.find((m) => m.name === '__name__' && m.type === '=')?.value ?? '';
    const matchers = request.matchers.filter((m) => m.name !== '__name__').map(compileMatcher);
    return Promise.resolve({ series: (this.#byName.get(name) ?? []).filter((s) => matchesAll(matchers, s.labels)) });
  }
}

function counter(random: () => number, perSample: number): Float64Array {
  let total = Math.floor(random() * 1e6);
  return Float64Array.from({ length: samples }, () => (total += Math.floor(random() * 2 * perSample)));
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!;
}

function report(name: string, unit: string, ours: number): void {
  console.log(
    JSON.stringify({ name, unit, ours: Number(ours.toPrecision(4)), peer: null, ratio: null, goal: null, met: null }),
  );
}

const source = new SyntheticSource();
const engine = new Engine();
process.stderr.write(`${source.count} series × ${samples} samples\n`);
for (const [name, query] of Object.entries(queries)) {
  const times: number[] = [];
  for (let i = 0; i < runs; i++) {
    const before = performance.now();
    if (name.startsWith('i_')) await engine.instant(query, endMs, { source });
    else await engine.range(query, startMs, endMs, 60_000, { source });
    times.push(performance.now() - before);
  }
  process.stderr.write(`${name}: ${times.map((t) => t.toFixed(0)).join(' ')} ms\n`);
  report(`${name}/${source.count}-series/evaluation/median`, 'ms', median(times));
}
const parses = flags.quick ? 2_000 : 20_000;
const before = performance.now();
for (let i = 0; i < parses; i++) parse(queries['r_hq99']!);
report('parse/r_hq99/mean', 'µs', ((performance.now() - before) / parses) * 1000);
