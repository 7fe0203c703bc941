const started = Date.now();
let count = 0;

/**
 * Reports one more request of a pod in the namespace `shop`, as the SDK of a service would. `instrument` is the address
 * of the process that stands in for the instrument on the pod's node.
 */
export async function requests(instrument: string, pod: string): Promise<void> {
  count++;
  const attributes = Object.entries({
    'service.name': pod,
    'k8s.namespace.name': 'shop',
    'k8s.pod.name': pod,
    'k8s.container.name': 'main',
    'svc.demo.port': '8080',
  }).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  const point = {
    startTimeUnixNano: `${started}000000`,
    timeUnixNano: `${Date.now()}000000`,
    attributes: [{ key: 'http.request.method', value: { stringValue: 'GET' } }],
    count: String(count),
    sum: count / 100,
    bucketCounts: [String(count), '0'],
    explicitBounds: [1],
  };
  const histogram = { aggregationTemporality: 2, dataPoints: [point] };
  const metrics = [{ name: 'http.server.request.duration', unit: 's', histogram }];
  const body = { resourceMetrics: [{ resource: { attributes }, scopeMetrics: [{ scope: {}, metrics }] }] };
  await fetch(`http://${instrument}/v1/metrics`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(2_000),
  })
    .then((answer) => answer.arrayBuffer())
    // An instrument that is down misses the request, as it would in a cluster.
    .catch(() => undefined);
}
