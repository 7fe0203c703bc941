/** Upgrades the operator to the next version: the same image under another tag, and the flag that names the image. */
import { isDeepStrictEqual } from 'node:util';
import { until } from '../../src/testing/until.ts';
import { openAsker } from './asker.ts';
import type { Check, Stage } from './check.ts';
import { Meter } from './meter.ts';
import { ctr, nodeName } from './node.ts';
import { isReady, podsOf, rollout, type Pod } from './product.ts';
import { runPods } from './shop.ts';

const from = 'docker.io/library/svc-operator:0.1.0';
const to = 'docker.io/library/svc-operator:0.1.1';
const route = '/upgrade';

interface Template {
  spec: { template: { spec: { containers: { name: string; image: string; args?: string[] }[] } } };
}

const deploymentPath = '/apis/apps/v1/namespaces/svc-system/deployments/svc-controller';

async function patchImages(stage: Stage, image: string): Promise<void> {
  const { spec } = await stage.api.request<Template>('GET', deploymentPath);
  const containers = spec.template.spec.containers.map(({ name, args = [] }) => ({
    name,
    image,
    args: args.map((arg) => (arg.startsWith('--svc-image=') ? `--svc-image=${image}` : arg)),
  }));
  const patch = { spec: { template: { spec: { containers } } } };
  await stage.api.request('PATCH', deploymentPath, patch, { contentType: 'application/strategic-merge-patch+json' });
}

const namesOf = (pods: readonly Pod[]): string[] => pods.map(({ metadata }) => metadata.name).sort();

export const upgrade: readonly Check[] = [
  {
    what: 'another version of the operator replaces agents and query servers by its own, keeps what is stored, and leaves minters alone',
    async run(stage) {
      const { api, kubectl } = stage;
      await runPods(kubectl, 'shop', 'web');
      const [pod] = await podsOf(api, 'shop', 'app=web');
      const asker = await openAsker(stage);
      const meter = new Meter({ node: nodeName, route, everyMs: 500, pods: () => [pod!], step: () => 1 });
      const name = pod!.metadata.name;
      const minters = (): Promise<Pod[]> =>
        podsOf(api, 'platform-agent', 'app.kubernetes.io/component=minter,app.kubernetes.io/instance=minter');
      try {
        await until('the agent takes what is sent', () => meter.acknowledged(name) > 0);
        const before = namesOf(await minters());
        ctr(['-n', 'k8s.io', 'images', 'tag', '--force', from, to]);
        const began = Date.now();
        await patchImages(stage, 'svc-operator:0.1.1');
        await rollout(kubectl, 'svc-system', 'deployment/svc-controller');
        await until(
          'agents and query servers of the new version',
          async () => {
            const found = await podsOf(api, 'svc-system');
            const ours = found.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] === 'svc-operator');
            const old = ours.filter((each) => each.spec.containers.some(({ image }) => image?.endsWith(':0.1.0')));
            const unready = ours.filter((each) => !isReady(each));
            const late = [...old, ...unready];
            if (late.length > 0) throw new Error(namesOf(late).join(', '));
            return ours.length === 5;
          },
          { timeoutMs: 240_000 },
        );
        const took = (Date.now() - began) / 1_000;
        const after = namesOf(await minters());
        if (!isDeepStrictEqual(after, before))
          throw new Error(`minters were replaced: ${before.join(', ')} by ${after.join(', ')}`);
        const acknowledged = await until('the new agent takes what is sent', () => {
          const newest = meter.sent.get(name)!.at(-1)!;
          return newest.isAcknowledged ? newest.value : 0;
        });
        const answer = await until('an answer', async () => {
          const { status, body } = await asker.query(`max(http_server_request_duration_count{http_route="${route}"})`);
          if (status !== 200 || body.degraded) throw new Error(`${status} ${body.error ?? body.missingNodes?.join()}`);
          return body.data?.result[0]?.value[1];
        });
        if (Number(answer) < acknowledged) throw new Error(`${answer} of ${acknowledged} requests are there`);
        return `in ${took.toFixed(1)} s; all ${acknowledged} requests are there`;
      } finally {
        meter.close();
      }
    },
  },
  {
    what: 'a restart of the DaemonSet by a user replaces the agent once, and the operator does not revert it',
    async run({ api, kubectl }) {
      const agents = (): Promise<Pod[]> => podsOf(api, 'svc-system', 'app.kubernetes.io/component=agent');
      const before = namesOf(await agents());
      const began = Date.now();
      await kubectl(['-n', 'svc-system', 'rollout', 'restart', 'daemonset/svc-agent']);
      await rollout(kubectl, 'svc-system', 'daemonset/svc-agent');
      const after = namesOf(
        await until('one agent', agents, { good: (found) => found.length === 1 && isReady(found[0]!) }),
      );
      if (isDeepStrictEqual(before, after)) throw new Error('it is the same pod');
      const took = (Date.now() - began) / 1_000;
      // If the operator reverts a change, it does so in its next reconcile.
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      const later = namesOf(await agents());
      if (!isDeepStrictEqual(later, after)) throw new Error(`${later.join()} in place of ${after.join()}`);
      return `in ${took.toFixed(1)} s`;
    },
  },
];
