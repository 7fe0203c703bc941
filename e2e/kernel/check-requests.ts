import { askApi } from '../../src/testing/query/api-client.ts';
import { until } from '../../src/testing/until.ts';
import { type Check, KnownFault } from './check.ts';
import { nodeName } from './orders.ts';
import { servers, type KernelStage, type ServerName } from './stage.ts';
import {
  countsOf,
  countsOfSeries,
  difference,
  standardTraffic,
  statusesOfBefore,
  warmRoute,
  warmUp,
  withoutStatus,
  type Counts,
} from './traffic.ts';

export const watched = ['node', 'python', 'go', 'tls'] as const satisfies readonly ServerName[];

/** The counts of the requests that a server has printed. */
export function truth(stage: KernelStage, pod: string): Counts {
  return countsOf(stage.pod(pod).seen);
}

async function served(stage: KernelStage, pod: string): Promise<Counts> {
  return countsOfSeries(await stage.series('http_server_request_duration_count', pod));
}

/**
 * Sends one request at a time until the instrument has counted one: later requests are then counted, too. A new run of
 * the instrument counts from 0, so any change of the count shows a new request.
 */
export async function attached(stage: KernelStage, name: ServerName): Promise<void> {
  const warmed = async (metric: string, pod: string): Promise<number> =>
    (await stage.series(metric, pod))
      .filter(({ labels }) => labels['http_route'] === warmRoute)
      .reduce((sum, one) => sum + one.value, 0);
  const both = async (): Promise<readonly [server: number, client: number]> => [
    await warmed('http_server_request_duration_count', name),
    await warmed('http_client_request_duration_count', 'client'),
  ];
  const before = await both().catch(() => [0, 0] as const);
  await until(
    `requests of ${name} are counted`,
    async () => {
      await stage.send(name, warmUp);
      const found = await both();
      if (found.some((count, i) => count === 0 || count === before[i]))
        throw new Error(`${found[0]} by the server, ${found[1]} by the client`);
      return true;
    },
    stage.patience(60_000),
  );
}

/** Waits until the counts of a server equal what it has printed. */
export async function exact(stage: KernelStage, name: ServerName): Promise<void> {
  await exactScraped(stage, name, { known: {}, before: {} });
}

/** What a server has printed, and what the agent has counted of it. */
export interface Mark {
  readonly known: Counts;
  readonly before: Counts;
}

export async function mark(stage: KernelStage, name: ServerName): Promise<Mark> {
  // The first answer after a process died may be degraded: it is the first to find the connection broken.
  const before = await until(`what is stored of ${name}`, () => stored(stage, name), stage.patience(30_000));
  return { known: truth(stage, name), before };
}

/** As `mark`, but from a scrape, whose counts begin with the current run of the instrument. */
export async function scraped(stage: KernelStage, name: ServerName): Promise<Mark> {
  return { known: truth(stage, name), before: await served(stage, name) };
}

export async function exactScraped(stage: KernelStage, name: ServerName, since: Mark): Promise<void> {
  await same(stage, name, () => served(stage, name), since);
}

/** Waits until a server's stored counts have grown by what it has printed since the mark, also if counters restart. */
export async function exactSince(stage: KernelStage, name: ServerName, since: Mark): Promise<void> {
  await same(stage, name, () => stored(stage, name), since);
}

async function same(
  stage: KernelStage,
  name: ServerName,
  counted: () => Promise<Counts>,
  { known, before }: Mark,
): Promise<void> {
  await until(
    `the counts of ${name}`,
    async () => {
      const sent = stage.pod('client').seen.filter(({ to }) => to === name).length;
      // A server prints its lines after its answers.
      if (stage.pod(name).seen.length !== sent)
        throw new Error(`it has told of ${stage.pod(name).seen.length} of ${sent}`);
      const wrong = difference(minus(truth(stage, name), known), minus(await counted(), before));
      if (wrong !== '') throw new Error(wrong);
      return true;
    },
    stage.patience(30_000),
  );
}

/**
 * The increase of a server's stored series. A counter starts at 0 with each run of the instrument: that is a counter
 * reset, as in PromQL, and not a loss.
 */
async function stored(stage: KernelStage, pod: string): Promise<Counts> {
  const { port } = await stage.queryServer();
  const query = `http_server_request_duration_count{k8s_pod_name="${pod}"}[3h]`;
  const { json } = await askApi({ port, ca: stage.caCert }, '/api/v1/query', { query });
  if (json.status !== 'success' || json.degraded) throw new Error(JSON.stringify(json));
  const { result } = json.data as { result: { metric: Record<string, string>; values: [number, string][] }[] };
  return countsOfSeries(
    result.map(({ metric, values }) => {
      const growth = values.map(([, text], i) => {
        const [value, last] = [Number(text), Number(values[i - 1]?.[1] ?? 0)];
        return value < last ? value : value - last;
      });
      return { labels: metric, value: growth.reduce((sum, one) => sum + one, 0) };
    }),
  );
}

export function minus(all: Counts, before: Counts): Counts {
  return Object.fromEntries(
    Object.entries(all)
      .map(([key, value]) => [key, value - (before[key] ?? 0)] as const)
      .filter(([, value]) => value !== 0),
  );
}

/** Sends standard traffic to a server, and waits until it is counted exactly. */
export async function countsOn(stage: KernelStage, name: ServerName): Promise<void> {
  await attached(stage, name);
  const since = await mark(stage, name);
  await stage.send(name, standardTraffic);
  await exactSince(stage, name, since);
}

async function clientSide(stage: KernelStage, port: number): Promise<Counts> {
  const series = await stage.series('http_client_request_duration_count', 'client');
  return countsOfSeries(series.filter(({ labels }) => labels['server_port'] === String(port)));
}

/** Waits until the instrument's counts of the client's requests to a port equal what the client has printed. */
function clientCounts(stage: KernelStage, port: number, grouped: (counts: Counts) => Counts): Promise<string> {
  const wanted = grouped(countsOf(stage.pod('client').seen.filter((one) => one.port === port)));
  return until(
    `the client's counts to port ${port}`,
    async () => {
      const wrong = difference(wanted, grouped(await clientSide(stage, port)));
      if (wrong !== '') throw new Error(wrong);
      return `${total(wanted)} requests`;
    },
    stage.patience(30_000),
  );
}

/**
 * `SSL_read` returns -1 while no answer has come, and its buffer keeps what the previous read put there. Before v0.10,
 * the instrument takes the buffer for an answer nevertheless: bpf/generictracer/libssl.c.
 */
const statusOfBefore =
  'a fault of the instrument: for each request it reports the status of the previous answer, because it parses a buffer into which nothing was read';

const total = (counts: Counts): number => Object.values(counts).reduce((sum, n) => sum + n, 0);

/** The standard traffic to each server, counted on both sides, by metrics, spans and queries. */
export const requests: readonly Check[] = [
  {
    what: 'every runtime is watched: Node, Python, Go, Node with TLS, and their client',
    run: async (stage) => {
      for (const name of watched) await attached(stage, name);
    },
  },
  ...watched.map((name): Check => ({
    what: `${name}: methods, routes and statuses are counted exactly by the server's side`,
    run: async (stage) => {
      await stage.send(name, standardTraffic);
      await exact(stage, name);
      const wanted = truth(stage, name);
      return `${total(wanted)} requests of ${Object.keys(wanted).length} kinds`;
    },
  })),
  {
    what: "the client's side counts the same",
    run: (stage) => clientCounts(stage, 8080, (counts) => counts),
  },
  {
    what: "the client's side counts the same over TLS, by method and route",
    run: (stage) => clientCounts(stage, 8443, withoutStatus),
  },
  {
    what: "the client's side counts the same over TLS, by status",
    run: async (stage) => {
      const before = countsOf(statusesOfBefore(stage.pod('client').seen.filter(({ port }) => port === 8443)));
      const isOlder = stage.orders.version === 'v0.9';
      if (isOlder && difference(before, await clientSide(stage, 8443)) === '') throw new KnownFault(statusOfBefore);
      return clientCounts(stage, 8443, (counts) => counts);
    },
  },
  ...watched.map((name): Check => ({
    what: `${name}: the sum of durations lies between those that the server and the client have measured`,
    run: async (stage) => {
      const slow = stage.pod(name).seen.filter(({ route }) => route === '/slow');
      const own = slow.reduce((sum, { seconds }) => sum + seconds, 0);
      const asked = stage
        .pod('client')
        .seen.filter(({ route, to }) => route === '/slow' && to === name)
        .reduce((sum, { seconds }) => sum + seconds, 0);
      const series = await stage.series('http_server_request_duration_sum', name);
      const found = series
        .filter(({ labels }) => labels['http_route'] === '/slow')
        .reduce((sum, s) => sum + s.value, 0);
      // The instrument sees more of a request than the workload's code, and less than the client. 5 % are for the
      // clocks.
      if (found < own * 0.95 || found > asked * 1.05)
        throw new Error(`${found} s; ${own} s in the server, ${asked} s for the client`);
      return `${slow.length} slow ones: ${found.toFixed(3)} s, of which the server knows ${own.toFixed(3)} s`;
    },
  })),
  {
    what: 'PromQL through the query server, over mutual TLS, gives the same numbers, and is not degraded',
    run: async (stage) => {
      const { port } = await stage.queryServer();
      const query = 'sum by (k8s_pod_name) (http_server_request_duration_count{http_route!="/warm"})';
      const ask = { port, ca: stage.caCert };
      return until(
        'the answer',
        async () => {
          const { json } = await askApi(ask, '/api/v1/query', { query });
          const { result } = json.data as { result: { metric: Record<string, string>; value: [number, string] }[] };
          const found = Object.fromEntries(
            result.map(({ metric, value }) => [metric['k8s_pod_name']!, Number(value[1])]),
          );
          const wanted = Object.fromEntries(watched.map((name) => [name, total(truth(stage, name))]));
          const wrong = difference(wanted, found);
          if (wrong !== '' || json.degraded || json.missingNodes?.length !== 0)
            throw new Error(wrong || JSON.stringify(json));
          return JSON.stringify(found);
        },
        stage.patience(30_000),
      );
    },
  },
  {
    what: 'the spans of the requests come through the stream of the query server',
    run: async (stage) => {
      const ask = { port: (await stage.queryServer()).port, ca: stage.caCert };
      return until(
        'the spans',
        async () => {
          const { text } = await askApi(ask, '/v1/spans', { number: 'all' });
          const spans = text
            .split('\n')
            .filter(Boolean)
            .map((line) => (JSON.parse(line) as { span?: SpanLine }).span)
            .filter((span) => span !== undefined);
          const wrong = watched.flatMap((name) => {
            const own = spans.filter((span) => span.kind === 'server' && span.pod === name && span.statusCode === 500);
            const wanted = stage.pod(name).seen.filter(({ status }) => status === 500).length;
            return own.length === wanted ? [] : [`${name}: ${own.length} of ${wanted} spans with status 500`];
          });
          if (wrong.length > 0) throw new Error(`${wrong.join(', ')}; the answer begins with ${text.slice(0, 200)}`);
          return `${spans.length} spans; those with status 500 are all there`;
        },
        stage.patience(30_000),
      );
    },
  },
  {
    what: 'every series names the node, and the server by its pod',
    run: async (stage) => {
      const all = await stage.series('http_server_request_duration_count');
      const wrong = all.filter(({ labels: l }) => l['k8s_node_name'] !== nodeName || !(l['k8s_pod_name']! in servers));
      if (all.length === 0 || wrong.length > 0) throw new Error(`${all.length} series; ${JSON.stringify(wrong[0])}`);
      return `${all.length} series`;
    },
  },
];

interface SpanLine {
  readonly kind: string;
  readonly pod?: string;
  readonly statusCode?: number;
}
