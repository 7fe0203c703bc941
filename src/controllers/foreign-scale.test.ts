import type { KubeObject } from '../api/meta.ts';
import { withForeignScale } from './foreign-scale.ts';

const rendered: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { replicas: 2, paused: false },
};
const liveBy = (manager: string, subresource?: string): KubeObject => ({
  ...rendered,
  metadata: {
    ...rendered.metadata,
    managedFields: [
      {
        manager,
        operation: 'Update',
        fieldsV1: { 'f:spec': { 'f:replicas': {} } },
        ...(subresource ? { subresource } : {}),
      },
    ],
  },
});

test('replicas that an autoscaler sets are left to the autoscaler', () => {
  const applied = withForeignScale(rendered, liveBy('kube-controller-manager', 'scale'));
  expect(applied['spec']).toEqual({ paused: false });
  expect(rendered['spec']).toEqual({ replicas: 2, paused: false });
});

test.each<[string, KubeObject | undefined]>([
  ['a user scaled the object', liveBy('kubectl', 'scale')],
  ['the replicas were edited in the object itself', liveBy('kube-controller-manager')],
  ['the object does not exist yet', undefined],
])('the operator sets the replicas when %s', (_what, live) => {
  expect(withForeignScale(rendered, live)).toBe(rendered);
});
