/** What the status says when a container or a key is refused. */
import type { Condition } from '../../src/api/meta.ts';
import { until } from '../../src/testing/until.ts';
import type { Check } from './check.ts';
import { podsOf, rollout } from './product.ts';
import { runPods, watchWeb } from './shop.ts';

interface WithStatus {
  status?: { conditions?: Condition[]; failedNodes?: { reason: string; message: string }[] };
}

export const failures: readonly Check[] = [
  {
    what: 'a container that the runtime refuses for its capabilities is told as MissingCapability',
    async run({ api, kubectl, node }) {
      if (!node.refusal) return 'not tried: this machine withholds no capability';
      await runPods(kubectl, 'shop', 'web');
      const monitor = '/apis/svc.dev/v1alpha1/namespaces/shop/trafficmonitors/web';
      await watchWeb(kubectl);
      const agents = (): ReturnType<typeof podsOf> => podsOf(api, 'svc-system', 'app.kubernetes.io/component=agent');
      const replace = async (): Promise<void> => {
        const [pod] = await agents();
        await kubectl(['-n', 'svc-system', 'delete', 'pod', pod!.metadata.name, '--wait']);
      };
      node.refusal.forbid();
      try {
        await replace();
        return await until(
          'the reason in the status of a monitor',
          async () => {
            const { status } = await api.request<WithStatus>('GET', monitor);
            const capturing = status?.conditions?.find((c) => c.type === 'Capturing');
            if (capturing?.reason !== 'MissingCapability') throw new Error(JSON.stringify(status?.conditions));
            return capturing.message;
          },
          { timeoutMs: 120_000 },
        );
      } finally {
        node.refusal.allow();
        await replace();
        await rollout(kubectl, 'svc-system', 'daemonset/svc-agent');
      }
    },
  },
  {
    what: 'a minter whose key does not exist says so in Ready',
    async run({ api, kubectl }) {
      const path = '/apis/svc.dev/v1alpha1/namespaces/platform-agent/minterdeployments';
      const minter = await api.request<{ spec: { kms: { keyVersion: string } } }>('GET', `${path}/minter`);
      const spec = { ...minter.spec, kms: { keyVersion: minter.spec.kms.keyVersion.replace(/\d+$/, '99') } };
      const without = { apiVersion: 'svc.dev/v1alpha1', kind: 'MinterDeployment', metadata: { name: 'keyless' }, spec };
      await api.request('POST', path, without);
      try {
        return await until(
          'Ready names the key',
          async () => {
            const { status } = await api.request<WithStatus>('GET', `${path}/keyless`);
            const ready = status?.conditions?.find((c) => c.type === 'Ready');
            if (ready?.status !== 'False' || !/key/i.test(ready.message ?? '')) throw new Error(JSON.stringify(ready));
            return `${ready.reason}: ${ready.message}`;
          },
          { timeoutMs: 90_000 },
        );
      } finally {
        await kubectl(['-n', 'platform-agent', 'delete', 'md/keyless', '--wait']);
      }
    },
  },
  {
    what: 'a minter whose image no registry has is stalled for it, in the words of the kubelet',
    async run({ api, kubectl }) {
      const path = '/apis/svc.dev/v1alpha1/namespaces/platform-agent/minterdeployments';
      const minter = await api.request<{ spec: object }>('GET', `${path}/minter`);
      // A name that resolves nowhere: .invalid is reserved for that.
      const spec = { ...minter.spec, image: 'registry.invalid/svc-minter:none' };
      const without = {
        apiVersion: 'svc.dev/v1alpha1',
        kind: 'MinterDeployment',
        metadata: { name: 'imageless' },
        spec,
      };
      await api.request('POST', path, without);
      try {
        return await until(
          'Stalled names the image',
          async () => {
            const { status } = await api.request<WithStatus>('GET', `${path}/imageless`);
            const stalled = status?.conditions?.find((c) => c.type === 'Stalled');
            if (stalled?.reason !== 'ImagePullFailed' || !stalled.message?.includes(spec.image))
              throw new Error(JSON.stringify(status?.conditions));
            return stalled.message;
          },
          { timeoutMs: 120_000 },
        );
      } finally {
        await kubectl(['-n', 'platform-agent', 'delete', 'md/imageless', '--wait']);
      }
    },
  },
];
