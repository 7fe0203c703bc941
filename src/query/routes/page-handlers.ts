import { compareText } from '../../base/text/texts.ts';
import { Pace, type Pacing } from '../../base/turns/turns.ts';
import { united } from '../../api/page/lost-node.ts';
import type { NodeReport, ObjectKind, Objects } from '../../api/page/types.ts';
import type { TrafficMonitor } from '../../api/v1alpha1/index.ts';
import type { QueryValue } from '../../promql/index.ts';
import { nodeReport, nodesQuery, objectItem, selvesByNode } from '../objects/object-items.ts';
import type { Visible } from '../objects/object-access.ts';
import { servedRates, topologyQuery } from '../topology/queries.ts';
import { assembleServices, type RateSeries } from '../topology/services.ts';
import { ApiError, invalidParameter } from '../api/api-error.ts';
import { runRequest } from '../api/call.ts';
import type { Call, Handler, HandlerDeps } from '../api/call.ts';
import { sendSuccess } from '../api/respond.ts';
import { jsonPieces } from '../json/json-pieces.ts';
import { absences, reviewed } from './caller-view.ts';
import { rateRows, windowParams } from './topology-handler.ts';

const hourMs = 3_600_000;
/** Number of points of a sparkline. */
const steps = 60;
/** Shortest window of a rate: at least twice the agents' longest interval, to have several samples. Units: ms. */
const shortestRateMs = 120_000;

/** `/api/v1/services`: every workload with its numbers, or the reason why it has none. */
export const services: Handler = async (call, deps) => {
  const { req, res } = call;
  const { endMs, windowMs } = windowParams(call, deps.clock.now(), hourMs);
  const stepMs = Math.max(1_000, Math.round(windowMs / steps));
  const startMs = endMs - (steps - 1) * stepMs;
  const [pods, monitors] = await Promise.all([
    reviewed(() => deps.objects?.access.pods(call.identity), deps),
    shownMonitors(call, deps),
  ]);
  const lines = servedRates(Math.max(shortestRateMs, 2 * stepMs));
  const [numbers, over] = await deps.runner.inOnePlace(runRequest(call), (request) =>
    Promise.all([
      deps.runner.sums(topologyQuery('workload', windowMs), 'le', endMs, request),
      deps.runner.range(lines, { start: startMs, end: endMs, step: stepMs }, request),
    ]),
  );
  const missingNodes = [...new Set([...numbers.missingNodes, ...over.missingNodes])].sort();
  const pace = new Pace(call.signal);
  const data = await assembleServices(pace, {
    ...{
      index: deps.addresses,
      rows: await rateRows(pace, numbers.result.sums),
      series: await seriesOf(pace, over.result.value),
    },
    ...{ startMs, stepMs, steps },
    pods: both(pods, call.namespaces),
    monitors,
    missing: absences(deps, missingNodes),
  });
  const warnings = united([...numbers.warnings, ...over.warnings]);
  await sendSuccess(req, res, jsonPieces(data), { warnings, infos: [], missingNodes });
};

/** The TrafficMonitors of a namespace; undefined: the caller may not list them, or the list is not complete yet. */
async function shownMonitors(
  { identity }: Call,
  deps: HandlerDeps,
): Promise<(namespace: string) => readonly TrafficMonitor[] | undefined> {
  const { access, kinds } = deps.objects ?? {};
  const visible = await reviewed(() => access?.objects(identity, 'TrafficMonitor'), deps);
  if (!kinds?.TrafficMonitor.synced) return () => undefined;
  const all = kinds.TrafficMonitor.list() as unknown as TrafficMonitor[];
  const byNamespace = Map.groupBy(all, ({ metadata }) => metadata.namespace ?? '');
  return (namespace) => (visible?.has(namespace) === false ? undefined : (byNamespace.get(namespace) ?? []));
}

const objectKinds: readonly string[] = [
  'TrafficMonitor',
  'ClusterTrafficPolicy',
  'MinterDeployment',
  'Node',
] satisfies ObjectKind[];

/** `/api/v1/objects`: the objects of a kind that the caller may list at the API server. */
export const objects: Handler = async (call, deps) => {
  const { req, res, params } = call;
  const kind = (params.get('kind') ?? '') as ObjectKind;
  if (!objectKinds.includes(kind)) throw invalidParameter('kind', `must be one of ${objectKinds.join(', ')}`);
  if (!deps.objects) throw new ApiError('unavailable', 'there is no API server to read objects from');
  const watched = deps.objects.kinds[kind];
  const visible = await reviewed(() => deps.objects!.access.objects(call.identity, kind), deps);
  if (!watched.synced) throw new ApiError('unavailable', `the list of ${watched.resource.plural} is not complete yet`);
  const allowed = watched
    .list()
    .filter(({ metadata }) => visible === undefined || visible.has(metadata.namespace ?? ''))
    .toSorted((a, b) => compareText(keyOf(a.metadata), keyOf(b.metadata)));
  const answer = kind === 'Node' && allowed.length > 0 ? await nodesAnswer(call, deps) : undefined;
  const missing = absences(deps, answer?.missingNodes ?? []);
  const failures = answer ? await failuresByNode(call, deps) : new Map<string, NodeReport['notCaptured']>();
  const items = allowed.map((object) => {
    if (!answer) return objectItem(kind, object);
    const name = object.metadata.name ?? '';
    const clockOffsetMs = deps.agentClocks.offsetMs(name);
    const around = { missing: missing(name) ?? null, clockOffsetMs, notCaptured: failures.get(name) ?? [] };
    return objectItem(kind, object, nodeReport(answer.selves.get(name) ?? [], around));
  });
  const data: Objects = { kind, forbidden: visible !== undefined, items };
  const extras = { warnings: answer?.warnings ?? [], infos: [], missingNodes: answer?.missingNodes ?? [] };
  await sendSuccess(req, res, jsonPieces(data), extras);
};

/** The monitors' reports about nodes that do not run them, as far as the caller may list monitors. */
async function failuresByNode(call: Call, deps: HandlerDeps): Promise<Map<string, NodeReport['notCaptured']>> {
  const { access, kinds } = deps.objects!;
  const visible = await reviewed(() => access.objects(call.identity, 'TrafficMonitor'), deps);
  const failures = (kinds.TrafficMonitor.list() as unknown as TrafficMonitor[]).flatMap(({ metadata, status }) => {
    const { name: monitor = '', namespace = '' } = metadata;
    if (visible?.has(namespace) === false) return [];
    return (status?.failedNodes ?? []).map(({ name: node, reason, message }) => {
      return { node, failure: { namespace, monitor, reason: message ? `${reason}: ${message}` : reason } };
    });
  });
  const byNode = Map.groupBy(failures, ({ node }) => node);
  return new Map([...byNode].map(([node, list]) => [node, list.map(({ failure }) => failure)]));
}

async function nodesAnswer(call: Call, deps: HandlerDeps) {
  const { result, warnings, missingNodes } = await deps.runner.instant(nodesQuery, deps.clock.now(), runRequest(call));
  if (result.value.type !== 'vector')
    throw new ApiError('internal', `a vector was asked for, a ${result.value.type} came`);
  return { selves: await selvesByNode(new Pace(call.signal), result.value.elements), warnings, missingNodes };
}

/** The namespaces that are in both sets; undefined stands for all namespaces. */
function both(a: Visible, b: Visible): Visible {
  if (a === undefined || b === undefined) return a ?? b;
  return new Set([...a].filter((one) => b.has(one)));
}

/** For pacing, one label or one point of a series costs as much as this many samples. */
const pointWork = 5;

async function seriesOf(pacing: Pacing, value: QueryValue): Promise<RateSeries[]> {
  if (value.type !== 'matrix') throw new ApiError('internal', `a matrix was asked for, a ${value.type} came`);
  const all: RateSeries[] = [];
  for (const { labels, timestamps, values } of value.series) {
    const points = Array.from(values, (rate, i) => [timestamps[i]!, rate] as const);
    all.push({ labels: Object.fromEntries(labels), points });
    if (pacing.spend(pointWork * (labels.length + points.length))) await pacing.turn();
  }
  return all;
}

function keyOf({ namespace = '', name = '' }: { namespace?: string; name?: string }): string {
  return `${namespace}/${name}`;
}
