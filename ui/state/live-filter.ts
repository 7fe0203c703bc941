/** The filter of the stream, in the URL and in the request. Pure. */
import type { Labels } from '../api/promql.ts';
import type { StreamAsk, StreamFilter } from '../api/stream.ts';

/** The parameters of the URL. Several values are separated by commas; `path` is a single pattern. */
export const liveParams = ['type', 'ns', 'workload', 'status', 'path', 'min', 'protocol', 'node', 'trace'] as const;
export type LiveParam = (typeof liveParams)[number];
export type LiveFilter = Readonly<Record<LiveParam, string>>;

/** The field of the request for each parameter. Agents apply the filter, so only matching items are sent. */
const fields: readonly (readonly [Exclude<LiveParam, 'type'>, keyof StreamFilter])[] = [
  ['ns', 'namespace'],
  ['workload', 'workload'],
  ['status', 'status'],
  ['path', 'path'],
  ['min', 'minDuration'],
  ['protocol', 'protocol'],
  ['node', 'node'],
  ['trace', 'traceId'],
];

export function filterOf(params: URLSearchParams): LiveFilter {
  const read = (name: LiveParam): string => (params.get(name) ?? '').trim();
  return Object.fromEntries(liveParams.map((name) => [name, read(name)])) as LiveFilter;
}

/** The request for a filter: the newest `number` past items, and every new one. */
export function followOf(filter: LiveFilter, number: number): StreamAsk {
  const include = includeOf(filter);
  return {
    ...{ number, follow: true },
    ...(filter.type === 'span' || filter.type === 'flow' ? { types: [filter.type] } : {}),
    ...(Object.keys(include).length > 0 ? { include: [include] } : {}),
  };
}

function includeOf(filter: LiveFilter): StreamFilter {
  const list = (name: Exclude<LiveParam, 'type'>): string[] => {
    const values = name === 'path' ? [filter.path] : filter[name].split(',').map((value) => value.trim());
    return values.filter((value) => value !== '');
  };
  return Object.fromEntries(
    fields.map(([name, field]) => [field, list(name)] as const).filter(([, v]) => v.length > 0),
  );
}

/** Whether a filter uses a field that flows lack, so that no flow matches. */
export function leavesFlowsOut({ type, status, path, min, trace }: LiveFilter): boolean {
  return type !== 'span' && [status, path, min, trace].some((text) => text !== '');
}

/** Labels of series, by the kind of workload that they name. */
const workloadLabels: Readonly<Record<string, string>> = {
  k8s_deployment_name: 'deployment',
  k8s_statefulset_name: 'statefulset',
  k8s_daemonset_name: 'daemonset',
  k8s_job_name: 'job',
  k8s_cronjob_name: 'cronjob',
};

/** The filter for the spans behind a series; undefined if no label gives it a value. */
export function filterOfLabels(labels: Labels): Partial<LiveFilter> | undefined {
  const [label = '', kind = ''] = Object.entries(workloadLabels).find(([name]) => labels[name]) ?? [];
  const found: [LiveParam, string | undefined][] = [
    ['ns', labels['k8s_namespace_name']],
    ['workload', label === '' ? undefined : `${kind}/${labels[label]!}`],
    ['status', labels['http_response_status_code']],
    ['path', labels['http_route'] && patternOfRoute(labels['http_route'])],
    ['node', labels['k8s_node_name']],
  ];
  const filled = found.filter(([, value]) => value);
  return filled.length === 0 ? undefined : Object.fromEntries(filled);
}

/**
 * The variable parts of a route: `{id}`, `{id:[0-9]{2}}`, `:id`, `:id(\d+)`, `*`. A colon after a letter or a brace is
 * a part of the path, as in `/v1/{name}:undelete`.
 */
const variable = /\{(?:[^{}]|\{[^{}]*\})*\}|(?<![\w}]):[A-Za-z_]\w*(?:\([^)]*\))?[?*+]?|\*+\w*/g;
/** The variable parts that match several segments: `*`, `*path`, `{path...}`, `{*path}`, `:path*`. */
const severalSegments = /^\{?\*|\.\.\.\}$|^:.*[*+]$/;

/** The paths of a route such as `/cart/{id}`, `/cart/:id/*` or `/cart/{id}.json`, as an RE2 pattern. */
export function patternOfRoute(route: string): string {
  let pattern = '';
  let end = 0;
  for (const match of route.matchAll(variable)) {
    const [text] = match;
    pattern += escaped(route.slice(end, match.index)) + (severalSegments.test(text) ? '.*' : '[^/]+');
    end = match.index + text.length;
  }
  return pattern + escaped(route.slice(end));
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
