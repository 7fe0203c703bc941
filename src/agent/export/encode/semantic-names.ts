/**
 * The OpenTelemetry spelling of names that the agent stores in Prometheus' spelling. A name that is not listed is sent
 * in the agent's spelling: turning every underscore into a dot would invent names.
 * Source: OpenTelemetry semantic conventions, and the instrument's own metric names.
 */
const metricNames = [
  'http.server.request.duration',
  'http.server.request.body.size',
  'http.server.response.body.size',
  'http.client.request.duration',
  'http.client.request.body.size',
  'http.client.response.body.size',
  'rpc.server.duration',
  'rpc.client.duration',
  'rpc.server.call.duration',
  'rpc.client.call.duration',
  'db.client.operation.duration',
  'messaging.client.operation.duration',
  'messaging.process.duration',
  'messaging.publish.duration',
  'dns.lookup.duration',
];

const attributeNames = [
  'service.name',
  'service.namespace',
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'url.path',
  'url.scheme',
  'server.address',
  'server.port',
  'client.address',
  'network.type',
  'db.system.name',
  'db.operation.name',
  'db.collection.name',
  'db.namespace',
  'error.type',
  'messaging.system',
  'messaging.destination.name',
  'rpc.method',
  'rpc.service',
  'rpc.system',
  'rpc.grpc.status_code',
  'k8s.cluster.name',
  'k8s.namespace.name',
  'k8s.pod.name',
  'k8s.pod.uid',
  'k8s.container.name',
  'k8s.deployment.name',
  'k8s.replicaset.name',
  'k8s.statefulset.name',
  'k8s.daemonset.name',
  'k8s.job.name',
  'k8s.cronjob.name',
  'k8s.node.name',
  'k8s.owner.name',
  'k8s.kind',
  'k8s.src.owner.name',
  'k8s.src.owner.type',
  'k8s.src.namespace',
  'k8s.src.name',
  'k8s.src.type',
  'k8s.dst.owner.name',
  'k8s.dst.owner.type',
  'k8s.dst.namespace',
  'k8s.dst.name',
  'k8s.dst.type',
  'src.address',
  'dst.address',
  'src.port',
  'dst.port',
  'src.zone',
  'dst.zone',
  'src.cidr',
  'dst.cidr',
];

const escaped = (name: string): string => name.replaceAll(/[^A-Za-z0-9]/g, '_');
const metrics = new Map(metricNames.map((name) => [escaped(name), name]));
const attributes = new Map(attributeNames.map((name) => [escaped(name), name]));

export function otlpMetricName(name: string): string {
  return metrics.get(name) ?? name;
}

export function otlpAttributeName(label: string): string {
  return attributes.get(label) ?? label;
}
