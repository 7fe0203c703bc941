import type { KubeObject } from '../../api/meta.ts';
import { coreResources } from '../../kube/index.ts';
import { Storage } from '../../testing/fake-api-server/storage.ts';
import { ownsExactly } from './managed-fields.ts';

const { deployments } = coreResources;
const manager = 'svc-controller/test';

function deployment(
  over: {
    image?: string;
    replicas?: number;
    cpu?: string;
    args?: string[];
    extraPort?: boolean;
    labels?: Record<string, string>;
  } = {},
): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', labels: over.labels ?? { app: 'web' } },
    spec: {
      replicas: over.replicas ?? 2,
      selector: { matchLabels: { app: 'web' } },
      template: {
        spec: {
          containers: [
            {
              name: 'web',
              image: over.image ?? 'web:1',
              args: over.args ?? ['serve', '--port=80'],
              ports: [{ containerPort: 80 }, ...(over.extraPort ? [{ containerPort: 81 }] : [])],
              resources: { limits: { cpu: over.cpu ?? '1000m' } },
            },
            { name: 'side', image: 'side:1' },
          ],
          volumes: [{ name: 'tmp', emptyDir: {} }],
        },
      },
    },
  };
}

/** A live Deployment, with the fields that tests change. */
interface Editable extends KubeObject {
  spec: {
    replicas: number;
    strategy?: unknown;
    template: {
      spec: {
        containers: {
          name: string;
          image: string;
          args?: string[];
          ports?: { containerPort: number; protocol?: string }[];
          resources?: { limits: { cpu: string } };
        }[];
      };
    };
  };
}

let storage: Storage;
beforeEach(() => {
  storage = new Storage(() => 0);
  storage.apply(deployments, deployment(), { manager });
});
const live = (): KubeObject => storage.get(deployments, 'shop', 'web');
/** Changes the live object, as the server or another writer does. */
function edit(change: (object: Editable) => void, by?: string): void {
  const object = structuredClone(live()) as Editable;
  change(object);
  storage.update(deployments, object, by === undefined ? {} : { manager: by });
}

test('an object that was just applied needs no second apply', () => {
  expect(ownsExactly(live(), deployment(), manager)).toBe(true);
});

test('what the manager owns by an update, too, needs an apply that is followed by its release', () => {
  edit((o) => (o.spec.replicas = 3), manager);
  edit((o) => (o.spec.replicas = 2), manager);
  expect(ownsExactly(live(), deployment(), manager)).toBe(false);
});

test.each<[string, (o: Editable) => void]>([
  ['values that the server fills in', (o) => (o.spec.strategy = { type: 'RollingUpdate' })],
  ['defaults inside list items', (o) => (o.spec.template.spec.containers[0]!.ports![0]!.protocol = 'TCP')],
  ['quantities in canonical form', (o) => (o.spec.template.spec.containers[0]!.resources!.limits.cpu = '1')],
  ['status fields', (o) => (o.status = { replicas: 2 })],
  ['annotations of other controllers', (o) => (o.metadata.annotations = { 'deployment.kubernetes.io/revision': '1' })],
  ['containers that others inject', (o) => o.spec.template.spec.containers.push({ name: 'mesh', image: 'mesh:9' })],
])('%s need no apply', (_what, change) => {
  edit(change);
  expect(ownsExactly(live(), deployment(), manager)).toBe(true);
});

test.each<[string, (o: Editable) => void]>([
  ['a scaled Deployment', (o) => (o.spec.replicas = 9)],
  ['another image', (o) => (o.spec.template.spec.containers[0]!.image = 'evil:1')],
  ['another argument', (o) => o.spec.template.spec.containers[0]!.args!.push('--debug')],
  ['a label that was removed', (o) => delete o.metadata.labels!['app']],
  ['a container that was removed', (o) => o.spec.template.spec.containers.pop()],
  ['another order of containers', (o) => o.spec.template.spec.containers.reverse()],
])('a change by another manager is drift: %s', (_what, change) => {
  edit(change, 'kubectl-edit');
  expect(ownsExactly(live(), deployment(), manager)).toBe(false);
});

test.each<[string, Parameters<typeof deployment>[0]]>([
  ['a changed value', { image: 'web:2' }],
  ['a changed list', { args: ['serve'] }],
  ['a further list item', { extraPort: true }],
  ['a changed quantity', { cpu: '900m' }],
  ['a further label', { labels: { app: 'web', tier: 'front' } }],
  ['a label that is no longer wanted', { labels: {} }],
])('%s needs an apply', (_what, over) => {
  expect(ownsExactly(live(), deployment(over), manager)).toBe(false);
});

test('fields that only another manager applied are not ours', () => {
  expect(ownsExactly(live(), deployment(), 'svc-controller/other')).toBe(false);
});

test('the status is compared on its own, as a subresource', () => {
  const status = { ...deployment(), status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  storage.apply(deployments, status, { manager, subresource: 'status' });
  const wanted = (value: string): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    status: { conditions: [{ type: 'Ready', status: value }] },
  });
  storage.apply(deployments, wanted('True'), { manager, subresource: 'status', force: true });
  expect(ownsExactly(live(), wanted('True'), manager, 'status')).toBe(true);
  expect(ownsExactly(live(), wanted('False'), manager, 'status')).toBe(false);
});
