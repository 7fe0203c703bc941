/** A monitor of the app `catalog`, with an autoscaling metric of its pods and one of its Deployment. */
export const monitor = {
  apiVersion: 'svc.dev/v1alpha1',
  kind: 'TrafficMonitor',
  metadata: { name: 'catalog', namespace: 'shop' },
  spec: {
    selector: { matchLabels: { app: 'catalog' } },
    ports: [{ port: 8080 }],
    metrics: { interval: '5s' },
    autoscaling: {
      metrics: [
        { name: 'catalog_rps', preset: 'RequestsPerSecond', resource: 'pods', window: '20s' },
        {
          name: 'catalog_rps_total',
          expr: 'sum by (k8s_deployment_name) (rate(http_server_request_duration_count[20s]))',
          resource: 'deployments.apps',
        },
      ],
    },
  },
};
/** Scales the catalog by the monitor's metric `catalog_rps`. */
export const autoscaler = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'catalog', namespace: 'shop' },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'catalog' },
    minReplicas: 2,
    maxReplicas: 5,
    behavior: {
      scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 10, periodSeconds: 3 }] },
      scaleUp: { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 10, periodSeconds: 3 }] },
    },
    metrics: [
      {
        type: 'Pods',
        pods: { metric: { name: 'catalog_rps' }, target: { type: 'AverageValue', averageValue: '10' } },
      },
    ],
  },
};
