import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../base/clock.ts';
import { errorText, isOperatorError, OperatorError } from '../../../base/errors.ts';
import { answerTo, readWhole } from '../../../base/wire/http-body.ts';
import { within } from '../../../base/time-limit.ts';
import type { RestClient } from '../../../kube/index.ts';
import { askApi } from '../connect/prometheus.ts';
import type { Session } from '../session.ts';
import type { Bundle } from './bundle.ts';
import { inTurns } from './in-turns.ts';
import { metricsPorts, type OwnPod } from './own-pods.ts';
import type { Redactor } from './redact/redactor.ts';

/** Limit of a `/metrics` page: an agent's page also holds the series of the node's traffic. Units: bytes. */
const maxPageBytes = 64 * 1024 * 1024;
const deadlineMs = 15_000;
/** Most pods whose metrics are read. */
const maxPods = 100;

export interface MetricsOptions {
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
}

/**
 * Adds the metrics of every component about itself. They are read from `/metrics` through a port-forward: it connects
 * from inside the pod, where a reader needs no token.
 */
export async function addMetrics(
  bundle: Bundle,
  client: Pick<RestClient, 'portForward'>,
  pods: readonly OwnPod[],
  { clock, redactor, signal }: MetricsOptions,
): Promise<void> {
  const wanted = pods.filter(({ component }) => metricsPorts[component] !== undefined);
  if (wanted.length > maxPods)
    bundle.lacks('metrics/, in part', `of ${wanted.length} pods those of the first ${maxPods} were read`);
  await inTurns(wanted.slice(0, maxPods), signal, async ({ namespace, name, component }) => {
    const path = `metrics/${namespace}/${name}.txt`;
    if (bundle.full) return bundle.lacks(path, 'the bundle has reached its size');
    try {
      const stream = await client.portForward({ namespace, name }, metricsPorts[component]!, { signal });
      const text = await within(clock, deadlineMs, (limit) => page(stream, limit), signal);
      bundle.add(path, `what ${component} tells of itself`, redactor.text(ownFamilies(text)));
    } catch (error) {
      if (signal.aborted) throw error;
      const refused = isOperatorError(error, 'ERR_API_FORBIDDEN');
      bundle.lacks(path, refused ? 'you may not get and create pods/portforward' : redactor.text(errorText(error)));
    }
  });
}

async function page(stream: Duplex, signal: AbortSignal): Promise<string> {
  try {
    const headers = { connection: 'close' };
    const sent = request({
      createConnection: () => stream,
      host: 'localhost',
      path: '/metrics',
      headers,
      signal,
    }).end();
    const res = await answerTo(sent);
    const tooLarge = (): Error => new OperatorError('ERR_TOO_LARGE', `/metrics: more than ${maxPageBytes >> 20} MiB`);
    const text = await readWhole(res, maxPageBytes, tooLarge);
    if (res.statusCode === 200) return text.toString('utf8');
    // Pods on the host's network, and servers with the setting `tenancy`, ask for a token on loopback, too: there,
    // loopback does not prove that the caller is inside the pod.
    const why = res.statusCode === 401 ? '401, it asks for a token; see queries/agents.json' : res.statusCode;
    throw new OperatorError('ERR_API_REQUEST', `/metrics: ${why}`);
  } finally {
    stream.destroy();
  }
}

/** Families about the product. All others are the traffic of the cluster, which must not reach a maintainer. */
const own = /^(?:svc|minter|controller_runtime|workqueue|rest_client|leader_election|certwatcher|process|nodejs)_/;

/** The lines of a page that belong to families of our own. Pure. */
export function ownFamilies(text: string): string {
  return text
    .split('\n')
    .filter((line) => own.test(line.replace(/^# (?:HELP|TYPE|UNIT) /, '')))
    .map((line) => `${line}\n`)
    .join('');
}

/** A query to the query server. */
interface Question {
  readonly file: string;
  readonly path: string;
  readonly params?: Record<string, string>;
  /** Takes out of the answer what is traffic. */
  readonly own?: (answer: unknown) => unknown;
}

const questions: readonly Question[] = [
  { file: 'buildinfo', path: '/api/v1/status/buildinfo' },
  { file: 'runtimeinfo', path: '/api/v1/status/runtimeinfo' },
  { file: 'flags', path: '/api/v1/status/flags' },
  { file: 'tsdb', path: '/api/v1/status/tsdb', own: withoutLabelValues },
  { file: 'targets', path: '/api/v1/targets' },
  { file: 'agents', path: '/api/v1/query', params: { query: '{__name__=~"svc_.+"}', explain: '1', stats: 'all' } },
  {
    file: 'series-by-name',
    path: '/api/v1/query',
    params: { query: 'count by (__name__, k8s_node_name) ({__name__!=""})', stats: 'all' },
  },
];

/** Counts of series without those by label and value: the values are hosts and routes of the traffic. */
function withoutLabelValues(answer: unknown): unknown {
  const { data, ...rest } = answer as { data?: Record<string, unknown> };
  const { seriesCountByLabelValuePair: _pairs, ...shown } = data ?? {};
  return { ...rest, data: shown };
}

/** Adds the query server's own data and, through it, that of the agents. */
export async function addQueries(bundle: Bundle, session: Session, redactor: Redactor): Promise<void> {
  for (const { file, path, params = {}, own } of questions) {
    try {
      const server = await session.connect();
      const { text } = await askApi(server, path, params, { method: 'GET', signal: session.signal });
      const answer = JSON.parse(text) as unknown;
      bundle.addJson(
        `queries/${file}.json`,
        `${path} ${params['query'] ?? ''}`.trim(),
        redactor.value(own ? own(answer) : answer),
      );
    } catch (error) {
      if (session.signal.aborted) throw error;
      bundle.lacks(`queries/${file}.json`, redactor.text(errorText(error)));
    }
  }
}
