import { judgeMetric } from './metric-expression.ts';

test.each([
  'sum by (k8s_pod_name) (rate(http_server_request_duration_count[1m]))',
  'histogram_quantile(0.99, sum by (le, k8s_pod_name) (rate(http_server_request_duration_bucket[5m])))',
  'max_over_time(sum(rate(http_server_request_duration_count[5m]))[1h:1m])',
  'avg_over_time(svc_agent_up[7d])',
  'vector(3)',
  '17',
])('%s can define a metric for autoscalers', (text) => expect(judgeMetric(text)).toBeUndefined());

test.each([
  ['sum(', 'invalid', 'parse error'],
  ['x[5m]', 'invalid', 'range vector'],
  ['"text"', 'invalid', 'string'],
  ['count_over_time(vector(1)[10d:1ms])', 'costly', '864000000 steps'],
  ['max_over_time(rate(x[1d])[1h:5s])', 'costly', 'samples of each series'],
  ['avg_over_time(x[30d])', 'costly', 'about 259200 samples of each series, at most 100000 are allowed'],
  ['max_over_time(max_over_time(max_over_time(x[1h:1s])[1h:1s])[1h:1s])', 'costly', 'samples of each series'],
])('%s cannot define a metric for autoscalers: %s', (text, reason, message) =>
  expect(judgeMetric(text)).toEqual({ reason, message: expect.stringContaining(message) as string }),
);
