import type { KubeObject } from '../../api/meta.ts';
import { coreResources } from '../../kube/index.ts';
import { Storage } from '../../testing/fake-api-server/storage.ts';
import { announceDrift, foreignEdits } from './drift.ts';
import type { EventDetails } from '../types.ts';

const { deployments } = coreResources;
const manager = 'svc-controller/test';

type Web = KubeObject & {
  spec: { replicas?: number; template: { spec: { containers: { name: string; image: string }[] } } };
};
const web = (replicas: number, ...containers: [string, string][]): Web => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
  spec: { replicas, template: { spec: { containers: containers.map(([name, image]) => ({ name, image })) } } },
});

function liveAfter(change: (object: Web) => void, by: string, subresource?: string): { wanted: Web; live: KubeObject } {
  const storage = new Storage(() => 0);
  const wanted = web(2, ['web', 'web:1']);
  storage.apply(deployments, wanted, { manager });
  const next = structuredClone(storage.get(deployments, 'shop', 'web')) as Web;
  change(next);
  storage.update(deployments, next, { manager: by, subresource });
  return { wanted, live: storage.get(deployments, 'shop', 'web') };
}

test('a replaced value is reported by its path and the manager that replaced it', () => {
  const { wanted, live } = liveAfter((o) => {
    o.spec.replicas = 7;
    o.spec.template.spec.containers[0]!.image = 'web:evil';
  }, 'kubectl-edit');
  expect(foreignEdits(live, wanted, manager)).toEqual({
    managers: ['kubectl-edit'],
    fields: ['.spec.replicas', '.spec.template.spec.containers[name=web].image'],
  });
});

test.each<[string, (object: Web) => void]>([
  ['a container next to ours', (o) => o.spec.template.spec.containers.push({ name: 'side', image: 'side:1' })],
  ['a label next to ours', (o) => (o.metadata.labels = { ...o.metadata.labels, team: 'a' })],
  ['our own value, claimed by another manager', (o) => (o.spec.replicas = 2)],
])('%s does not count as an edit of our fields', (_what, change) => {
  const { wanted, live } = liveAfter(change, 'injector');
  expect(foreignEdits(live, wanted, manager)).toEqual({ managers: [], fields: [] });
});

test('the Event names the manager, the fields and what to change instead, on the child and on its owner', () => {
  const told: [string, EventDetails][] = [];
  const events = { record: (o: { kind: string }, details: EventDetails) => void told.push([o.kind, details]) };
  const owner = { apiVersion: 'svc.dev/v1alpha1', kind: 'MinterDeployment', metadata: { name: 'minter' } };
  const child = { name: 'Deployment shop/web', object: web(2) };
  announceDrift(events, { what: 'edited', managers: ['kubectl-edit'], fields: ['.spec.replicas'] }, child, owner);
  expect(told.map(([kind]) => kind)).toEqual(['Deployment', 'MinterDeployment']);
  expect(told[0]![1]).toMatchObject({ type: 'Warning', reason: 'DriftRepaired' });
  expect(told[0]![1].message).toBe(
    'the change of Deployment shop/web by kubectl-edit was undone (.spec.replicas); change MinterDeployment minter instead',
  );
  announceDrift(events, { what: 'deleted', managers: [], fields: [] }, child, undefined);
  expect(told[2]![1].message).toBe('Deployment shop/web was deleted and has been made again');
});
