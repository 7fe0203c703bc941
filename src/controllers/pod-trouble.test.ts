import type { KubeObject } from '../api/meta.ts';
import { imagePullTrouble, podTroubleTransform } from './pod-trouble.ts';

const pod = (name: string, reason?: string, over: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', annotations: { big: 'x' }, ...over },
  spec: { containers: [{ name: 'minter', image: 'minter:9' }] },
  status: {
    podIP: '10.0.0.1',
    containerStatuses: [
      { name: 'minter', image: 'minter:9', state: reason ? { waiting: { reason } } : { running: {} } },
    ],
  },
});

test.each(['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull'])(
  'a container that waits with %s names pod and image, and where to look',
  (reason) => {
    expect(imagePullTrouble([pod('b'), pod('a', reason)])).toBe(
      'the image minter:9 of container minter cannot be pulled; kubectl -n shop describe pod a tells why',
    );
  },
);

test.each<[string, KubeObject]>([
  ['runs', pod('a')],
  ['waits for something else', pod('a', 'ContainerCreating')],
  ['is being deleted', pod('a', 'ErrImagePull', { deletionTimestamp: '2026-01-02T03:04:05Z' })],
])('a pod that %s is no trouble', (_what, given) => {
  expect(imagePullTrouble([given])).toBeUndefined();
});

test('what the cache keeps of a pod is little, and enough', () => {
  const kept = podTroubleTransform.apply(pod('a', 'ErrImagePull'));
  expect(kept).not.toHaveProperty('spec');
  expect(kept.metadata).toEqual({ name: 'a', namespace: 'shop' });
  expect(imagePullTrouble([kept])).toContain('minter:9');
});
