/** Removes the product by the two commands of the README. */
import { join } from 'node:path';
import { until } from '../../src/testing/until.ts';
import { repository } from '../install/tools.ts';
import type { Check, Stage } from './check.ts';
import { ctr } from './node.ts';

/**
 * Waits until Kubernetes' garbage collector deletes what a deleted object owned. After faults of the API server it
 * pauses for a minute or two; objects that are left during that time are not the product's fault.
 */
async function collectorWorks({ api, kubectl }: Stage): Promise<void> {
  const path = '/api/v1/namespaces/default/configmaps';
  const made = async (name: string, ownerReferences: object[]): Promise<string> => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ownerReferences } };
    return (await api.request<{ metadata: { uid: string } }>('POST', path, body)).metadata.uid;
  };
  const uid = await made('owner', []);
  await made('owned', [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]);
  await kubectl(['-n', 'default', 'delete', 'configmap', 'owner']);
  const names = (): Promise<string> => kubectl(['-n', 'default', 'get', 'configmaps', '-o', 'name']);
  await until('the garbage collector works', names, {
    good: (text) => !text.includes('configmap/owned'),
    timeoutMs: 240_000,
  });
}

export const uninstall: readonly Check[] = [
  {
    what: 'the commands of the README leave no object, no container and no process of the product',
    async run(stage) {
      const { kubectl } = stage;
      const patience = { timeoutMs: 180_000 };
      await collectorWorks(stage);
      await kubectl(['delete', 'pods', '-n', 'svc-system', '-l', 'app=debug']);
      await kubectl(['delete', 'tm,ctp,md', '-A', '--all', '--timeout=90s'], patience);
      // The rights were applied by hand here, for one namespace, and are deleted by hand.
      for (const file of ['config/minter/rights.yaml', 'manifests/install.yaml']) {
        await kubectl(['delete', '-f', join(repository, file), '--timeout=150s'], patience);
      }
      const kinds = (await kubectl(['api-resources', '--verbs=list', '-o', 'name'])).trim().split('\n');
      const listed = kinds.filter((kind) => !/^(events|componentstatuses)/.test(kind));
      const left = await until('nothing is left', async () => {
        const names = await kubectl([
          ...['get', listed.join(','), '-A', '--ignore-not-found', '-l', 'app.kubernetes.io/name=svc-operator'],
          ...['-o', 'name'],
        ]);
        if (names.trim() !== '') throw new Error(names.trim().split('\n').join(', '));
        return names === '';
      });
      const instruments = await until('its containers are gone', async () => {
        const found = ctr(['-n', 'k8s.io', 'containers', 'ls']).split('\n');
        return !found.some((line) => /ebpf-instrument|svc-minter/.test(line));
      });
      return left && instruments ? `${listed.length} kinds looked through` : undefined;
    },
  },
];
