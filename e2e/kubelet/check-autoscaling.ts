/** A HorizontalPodAutoscaler of the real controller manager, through the aggregator, with known request rates. */
import { until } from '../../src/testing/until.ts';
import type { Check } from './check.ts';
import { Meter } from './meter.ts';
import { nodeName } from './node.ts';
import { isReady, podsOf, type Pod } from './product.ts';
import { serverPod } from './shop.ts';

const app = 'catalog';
/** Requests to all pods together: divisible by every number of pods up to the wanted number. */
const perSecond = 24;
const target = 6;
const wantedPods = perSecond / target;

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { namespace: 'shop', name: app },
  spec: { replicas: 1, selector: { matchLabels: { app } }, template: serverPod(app) },
};
const monitor = {
  apiVersion: 'svc.dev/v1alpha1',
  kind: 'TrafficMonitor',
  metadata: { namespace: 'shop', name: app },
  spec: {
    selector: { matchLabels: { app } },
    ports: [{ port: 8_080 }],
    autoscaling: { metrics: [{ name: 'catalog_rps', preset: 'RequestsPerSecond', resource: 'pods', window: '20s' }] },
  },
};
const policy = (periodSeconds: number): object => ({
  stabilizationWindowSeconds: 0,
  policies: [{ type: 'Pods', value: 10, periodSeconds }],
});
const autoscaler = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { namespace: 'shop', name: app },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: app },
    minReplicas: 1,
    maxReplicas: wantedPods + 2,
    behavior: { scaleDown: policy(3), scaleUp: policy(3) },
    metrics: [
      {
        type: 'Pods',
        pods: { metric: { name: 'catalog_rps' }, target: { type: 'AverageValue', averageValue: String(target) } },
      },
    ],
  },
};

export const autoscaling: readonly Check[] = [
  {
    what: `${perSecond} requests a second, with a target of ${target} for each pod, scale a Deployment to ${wantedPods} through the aggregator, and their end scales it to one`,
    async run({ api, kubectl }) {
      const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
      const items = [space, deployment, monitor, autoscaler];
      let pods: readonly Pod[] = [];
      let rate = perSecond;
      const looking = setInterval(() => {
        podsOf(api, 'shop', `app=${app}`).then(
          (found) => (pods = found.filter(isReady)),
          () => undefined,
        );
      }, 500);
      const step = (): number => Math.floor(rate / Math.max(1, pods.length));
      const meter = new Meter({ node: nodeName, route: '/catalog', everyMs: 1_000, pods: () => pods, step });
      const replicas = (wanted: number): Promise<boolean> =>
        until(
          `${wanted} pods`,
          async () => {
            const path = `/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/${app}`;
            const { status } = await api.request<{ status?: { desiredReplicas?: number; conditions?: object[] } }>(
              'GET',
              path,
            );
            if (status?.desiredReplicas === wanted && pods.length === wanted) return true;
            throw new Error(JSON.stringify(status));
          },
          { timeoutMs: 150_000 },
        );
      try {
        await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
        const began = Date.now();
        await replicas(wantedPods);
        const up = (Date.now() - began) / 1_000;
        rate = 0;
        await replicas(1);
        return `up in ${up.toFixed(1)} s, down in ${((Date.now() - began) / 1_000 - up).toFixed(1)} s`;
      } finally {
        clearInterval(looking);
        meter.close();
        await kubectl(['-n', 'shop', 'delete', `hpa/${app}`, `deployment/${app}`, `tm/${app}`, '--ignore-not-found']);
      }
    },
  },
];
