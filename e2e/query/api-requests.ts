/** One request to the query API, sent to a real Prometheus and to us. */
export interface ApiRequest {
  readonly path: string;
  readonly params: Readonly<Record<string, string | readonly string[]>>;
  readonly form: boolean;
  readonly method?: string;
}

const get = (path: string, params: ApiRequest['params'] = {}): ApiRequest => ({ path, params, form: false });
const post = (path: string, params: ApiRequest['params'] = {}): ApiRequest => ({ path, params, form: true });

const instantQueries = [
  ...['svc_agent_up', 'sum(svc_agent_up)', 'odd', '{"utf.8 name"}', '1', '"s"', 'svc_agent_up[1m]', '1e-10', 'time()'],
  ...['sum(', 'rate(svc_agent_up', 'a and 1', '{a=""}', 'foo{a=~"("}', 'unknown(1)', 'sum by (x (a)', ''],
  ...['svc_agent_up offset 1m offset 2m', 'max_over_time(svc_agent_up[5m:1m])', 'rate(odd[5m])', 'absent(x)'],
  'scalar(odd{kind="tiny",k8s_node_name="node-1"})',
  'count_values("v", odd)',
  'topk(2, requests_count)',
  'sort_desc(requests_count)',
  'rate({__name__=~"svc_agent_up|requests_count"}[5m])',
  'svc_agent_up + on() group_left svc_agent_up',
  'label_replace(svc_agent_up, "a", "$1", "b", "(")',
  'histogram_quantile(0.9, sum by (le) (rate(requests_bucket[5m])))',
  'quantile(2, svc_agent_up)',
];
const rangeQueries = ['svc_agent_up', 'odd', '1', '"s"', 'svc_agent_up[1m]', 'sum(odd)', 'sort(svc_agent_up)', 'sum('];

/**
 * Requests that both servers answer equally, except for our two extra fields and the order of instant vectors. `now` is
 * in seconds.
 */
export function sameRequests(now: number): ApiRequest[] {
  const at = String(now);
  const start = String(now - 60);
  const up = { query: 'svc_agent_up', time: at };
  const upRange = { query: 'svc_agent_up', start, end: at, step: '15' };
  const one = { query: '1', start: at, end: at };
  return [
    ...instantQueries.map((query) => get('/api/v1/query', { query, time: at })),
    get('/api/v1/query'),
    get('/api/v1/query', { query: '1', time: 'abc' }),
    get('/api/v1/query', { query: '1', time: new Date(now * 1000).toISOString() }),
    get('/api/v1/query', { ...up, time: String(now - 0.5) }),
    ...['0', '2', '3', '-1'].map((limit) => get('/api/v1/query', { ...up, limit })),
    ...['x', '5s', '1.5'].map((timeout) => get('/api/v1/query', { ...up, timeout })),
    ...['60', '1m30s', '0', '-5'].map((lookback_delta) =>
      get('/api/v1/query', { ...up, time: String(now + 100), lookback_delta }),
    ),
    post('/api/v1/query', up),
    post(`/api/v1/query?query=1&time=${at}`, { query: '2' }),
    { ...get('/api/v1/query', up), method: 'PUT' },
    ...rangeQueries.map((query) => get('/api/v1/query_range', { query, start, end: at, step: '15s' })),
    get('/api/v1/query_range', { query: '1' }),
    get('/api/v1/query_range', { query: '1', start: at }),
    get('/api/v1/query_range', one),
    get('/api/v1/query_range', { ...one, end: String(now - 5), step: '1' }),
    ...['0', '-1', 'x'].map((step) => get('/api/v1/query_range', { ...one, step })),
    get('/api/v1/query_range', { query: '1', start: '0', end: '11001', step: '1' }),
    get('/api/v1/query_range', { query: 'svc_agent_up', start: '0', end: '11000', step: '1' }),
    get('/api/v1/query_range', { ...upRange, limit: '1' }),
    get('/api/v1/query_range', { ...upRange, step: '0.5' }),
    get('/api/v1/query_range', { ...upRange, start: 'x' }),
    get('/api/v1/query_range', { ...upRange, timeout: 'x' }),
    post('/api/v1/query_range', { ...upRange, start: String(now - 60.25), step: '15.5' }),
    get('/api/v1/query_exemplars', { query: 'svc_agent_up', start, end: at }),
    get('/api/v1/query_exemplars', { query: 'svc_agent_up' }),
    get('/api/v1/query_exemplars', { query: 'svc_agent_up', start: at, end: '0' }),
    get('/api/v1/query_exemplars', { query: 'svc_agent_up', start: 'x', end: at }),
    get('/api/v1/series'),
    post('/api/v1/series', { 'match[]': ['svc_agent_up', 'odd{kind="nan"}'] }),
    ...['svc_agent_up', '{', '{__name__=~".*"}', '{"utf.8 name"}', 'none'].map((match) =>
      get('/api/v1/series', { 'match[]': match }),
    ),
    ...['2', '-3'].map((limit) => get('/api/v1/series', { 'match[]': 'svc_agent_up', limit })),
    get('/api/v1/series', { 'match[]': 'svc_agent_up', start: 'x' }),
    get('/api/v1/series', { 'match[]': 'svc_agent_up', end: 'x' }),
    get('/api/v1/series', { 'match[]': 'svc_agent_up', start: at, end: '0' }),
    get('/api/v1/labels'),
    post('/api/v1/labels'),
    get('/api/v1/labels', { 'match[]': 'svc_agent_up' }),
    get('/api/v1/labels', { 'match[]': 'none' }),
    get('/api/v1/labels', { limit: '2' }),
    get('/api/v1/labels', { start: 'x' }),
    get('/api/v1/labels', { start, end: at }),
    get('/api/v1/label/k8s_node_name/values'),
    get('/api/v1/label/kind/values', { 'match[]': 'odd' }),
    get('/api/v1/label/__name__/values'),
    get('/api/v1/label/nothing/values'),
    get('/api/v1/label/U__label_2e__f6_/values'),
    get(`/api/v1/label/${encodeURIComponent('label.ö')}/values`),
    post('/api/v1/label/kind/values'),
    get('/api/v1/metadata', { metric: 'none' }),
    get('/api/v1/metadata', { limit: 'x' }),
    get('/api/v1/metadata', { limit: '0' }),
    get('/api/v1/metadata', { limit_per_metric: 'x' }),
    ...['/api/v1/format_query', '/api/v1/parse_query'].flatMap((path) => [
      get(path),
      get(path, { query: 'sum(' }),
      get(path, { query: 'sum by(a)(rate(x{b="c"}[5m]))/2' }),
      post(path, { query: 'foo/bar' }),
    ]),
    get('/api/v1/rules'),
    get('/api/v1/rules', { type: 'alert' }),
    get('/api/v1/rules', { type: 'x' }),
    get('/api/v1/targets/metadata', { limit: 'x' }),
    get('/api/v1/targets/metadata', { match_target: '{job="none"}' }),
    get('/api/v1/targets/metadata', { match_target: '{' }),
    get('/api/v1/alerts'),
    get('/api/v1/alertmanagers'),
    get('/api/v1/notifications'),
    get('/api/v1/status/tsdb/blocks'),
    get('/api/v1/status/walreplay'),
    ...['0', 'x', '10001'].map((limit) => get('/api/v1/status/tsdb', { limit })),
    get('/federate', { 'match[]': 'svc_agent_up' }),
    get('/federate', { 'match[]': ['odd{kind!="zero"}', '{"utf.8 name"}', 'requests_bucket'] }),
    get('/federate', { 'match[]': 'none' }),
    get('/api/v1/read'),
    get('/api/v1/nothing'),
    get('/nothing'),
  ];
}

/**
 * Requests that both servers refuse, with the same status and error type. Messages differ: Prometheus' come from Go
 * libraries.
 */
export function refusedRequests(now: number): ApiRequest[] {
  const up = { query: 'svc_agent_up', time: String(now) };
  return [
    get('/api/v1/query', { ...up, limit: 'x' }),
    get('/api/v1/query', { ...up, lookback_delta: 'x' }),
    get('/api/v1/query_exemplars', { query: 'svc_agent_up(', start: '0', end: '1' }),
    get('/api/v1/query_exemplars', { query: '' }),
    get('/api/v1/series', { 'match[]': 'rate(x[5m])' }),
    get('/api/v1/series', { 'match[]': '' }),
    get('/api/v1/series', { 'match[]': 'x', limit: 'x' }),
    get('/api/v1/labels', { 'match[]': '{}' }),
    get('/api/v1/label/kind/values', { 'match[]': '{' }),
    get('/api/v1/label/%FF/values'),
  ];
}

/**
 * Requests whose answers have the same fields and types at every level; our answers may have more fields. The values of
 * both servers differ.
 */
export function alikeRequests(now: number): ApiRequest[] {
  const at = String(now);
  return [
    get('/api/v1/status/buildinfo'),
    get('/api/v1/status/runtimeinfo'),
    get('/api/v1/status/config'),
    get('/api/v1/status/tsdb'),
    get('/api/v1/status/tsdb', { limit: '1' }),
    get('/api/v1/targets'),
    get('/api/v1/targets', { state: 'ANY', scrapePool: 'svc-agents' }),
    get('/api/v1/scrape_pools'),
    get('/api/v1/metadata'),
    get('/api/v1/targets/metadata', { match_target: '{job=~"svc-agents?"}' }),
    ...['all', 'true'].map((stats) => get('/api/v1/query', { query: 'svc_agent_up', time: at, stats })),
    get('/api/v1/query', { query: 'svc_agent_up', time: at, stats: 'x' }),
    get('/api/v1/query_range', { query: 'svc_agent_up', start: at, end: at, step: '1', stats: 'all' }),
  ];
}
