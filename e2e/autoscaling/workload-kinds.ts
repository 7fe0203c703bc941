const labels = { app: 'kinds' };
/** The Job that a test makes as the CronJob would: named after the CronJob and the minute. */
export const scheduledJob = 'kinds-cron-29400000';

const field = (name: string, fieldPath: string): object => ({ name, valueFrom: { fieldRef: { fieldPath } } });
const env = [
  ...Object.entries({
    BIND_ADDRESS: '0.0.0.0',
    PORT: '8080',
    OTEL_SERVICE_NAME: 'catalog',
    CONTAINER_NAME: 'catalog',
  }).map(([name, value]) => ({ name, value })),
  field('POD_NAME', 'metadata.name'),
  field('POD_NAMESPACE', 'metadata.namespace'),
  field('NODE_IP', 'status.hostIP'),
  { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://$(NODE_IP):4318' },
];

const pod = (kind: string, spec: object = {}): object => ({
  metadata: { labels: { ...labels, kind } },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'catalog',
        image: 'svc-demo-shop:0.1.0',
        ports: [{ name: 'http', containerPort: 8080 }],
        readinessProbe: { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 1 },
        env,
      },
    ],
    ...spec,
  },
});
const workload = (apiVersion: string, kind: string, name: string, spec: object): object => ({
  ...{ apiVersion, kind, metadata: { name, namespace: 'shop', labels }, spec },
});
const job = (kind: string): object => ({ template: pod(kind, { restartPolicy: 'Never' }) });

/**
 * One workload of each kind other than Deployment, all of them running the shop's catalog. The DaemonSet has one pod,
 * on `node`.
 */
export const workloadKinds = (node: string): object => ({
  apiVersion: 'v1',
  kind: 'List',
  items: [
    workload('apps/v1', 'StatefulSet', 'kinds-set', {
      ...{ replicas: 1, serviceName: 'kinds', selector: { matchLabels: { kind: 'set' } }, template: pod('set') },
    }),
    workload('apps/v1', 'DaemonSet', 'kinds-each', {
      selector: { matchLabels: { kind: 'each' } },
      template: pod('each', { nodeSelector: { 'kubernetes.io/hostname': node } }),
    }),
    workload('batch/v1', 'Job', 'kinds-once', job('once')),
    workload('batch/v1', 'CronJob', 'kinds-cron', {
      ...{ schedule: '0 0 31 2 *', suspend: true, jobTemplate: { spec: job('cron') } },
    }),
  ],
});

/** An object that has a metric value, and the path of the values of its kind. */
export interface DescribedObject {
  readonly path: string;
  readonly kind: string;
  readonly name: string;
}

/** The objects that have a value: those of `workloadKinds`, the catalog's Deployment and ReplicaSet, and a node. */
export function describedWorkloads(node: string, replicaSet: string): DescribedObject[] {
  const inShop = (resource: string, kind: string, name: string): DescribedObject => ({
    ...{ path: `namespaces/shop/${resource}`, kind, name },
  });
  return [
    inShop('statefulsets.apps', 'StatefulSet', 'kinds-set'),
    inShop('daemonsets.apps', 'DaemonSet', 'kinds-each'),
    inShop('jobs.batch', 'Job', 'kinds-once'),
    inShop('jobs.batch', 'Job', scheduledJob),
    inShop('cronjobs.batch', 'CronJob', 'kinds-cron'),
    inShop('deployments.apps', 'Deployment', 'catalog'),
    inShop('replicasets.apps', 'ReplicaSet', replicaSet),
    { path: 'nodes', kind: 'Node', name: node },
  ];
}
