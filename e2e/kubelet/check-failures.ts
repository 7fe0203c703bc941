/** What the status of a monitor or a minter says when something that it needs is refused or missing. */
import type { Condition } from '../../src/api/meta.ts';
import { until } from '../../src/testing/until.ts';
import type { Check, Stage } from './check.ts';
import { podsOf, rollout } from './product.ts';
import { runPods, watchWeb } from './shop.ts';

interface WithStatus {
  status?: { conditions?: Condition[]; failedNodes?: { reason: string; message: string }[] };
}

export const failures: readonly Check[] = [
  {
    what: 'a container that the runtime refuses for its capabilities is reported as MissingCapability',
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
    run: ({ api, kubectl }) =>
      saysOf(
        { api, kubectl },
        {
          name: 'keyless',
          change: ({ kms }) => ({ kms: { keyVersion: kms.keyVersion.replace(/\d+$/, '99') } }),
          type: 'Ready',
          isExpected: ({ status, message }) => status === 'False' && /key/i.test(message ?? ''),
        },
      ),
  },
  {
    what: 'a minter whose image no registry has is Stalled, and the message names the image',
    run: ({ api, kubectl }) =>
      saysOf(
        { api, kubectl },
        {
          name: 'imageless',
          change: () => ({ image: unreachable }),
          type: 'Stalled',
          isExpected: ({ reason, message }) => reason === 'ImagePullFailed' && !!message?.includes(unreachable),
        },
      ),
  },
];

/** A name that resolves nowhere: .invalid is reserved for that. */
const unreachable = 'registry.invalid/svc-minter:none';

interface MinterSpec {
  readonly kms: { readonly keyVersion: string };
}

interface Broken {
  /** The name of a minter that exists only during the check. */
  readonly name: string;
  /** Changes to the spec of the working minter. */
  readonly change: (spec: MinterSpec) => object;
  /** The condition to wait for. */
  readonly type: string;
  readonly isExpected: (condition: Condition) => boolean;
}

/** Makes a copy of the working minter with one change, and waits for the expected condition in its status. */
async function saysOf({ api, kubectl }: Pick<Stage, 'api' | 'kubectl'>, broken: Broken): Promise<string> {
  const { name, change, type, isExpected } = broken;
  const path = '/apis/svc.dev/v1alpha1/namespaces/platform-agent/minterdeployments';
  const { spec } = await api.request<{ spec: MinterSpec }>('GET', `${path}/minter`);
  const body = { apiVersion: 'svc.dev/v1alpha1', kind: 'MinterDeployment', metadata: { name } };
  await api.request('POST', path, { ...body, spec: { ...spec, ...change(spec) } });
  try {
    return await until(
      `${type} of ${name}`,
      async () => {
        const { status } = await api.request<WithStatus>('GET', `${path}/${name}`);
        const condition = status?.conditions?.find((one) => one.type === type);
        if (condition === undefined || !isExpected(condition)) throw new Error(JSON.stringify(status?.conditions));
        return `${condition.reason}: ${condition.message}`;
      },
      { timeoutMs: 120_000 },
    );
  } finally {
    await kubectl(['-n', 'platform-agent', 'delete', `md/${name}`, '--wait']);
  }
}
