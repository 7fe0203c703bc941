import type { KubeObject } from '../../api/meta.ts';
import { matchPods } from '../../capture/index.ts';
import { podFacts, podTransform } from './facts.ts';

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'shop', name: 'web-1', uid: 'u', annotations: { big: 'x'.repeat(999) } },
  spec: {
    nodeName: 'node-1',
    initContainers: [
      { name: 'migrate', image: 'secret' },
      { name: 'proxy', image: 'secret', restartPolicy: 'Always' },
    ],
    containers: [{ name: 'main', image: 'secret' }],
  },
  status: { phase: 'Running', podIP: '10.0.0.1' },
} as KubeObject;

test.each([
  ['as the API server returns it', pod],
  ['as the cache keeps it', podTransform.apply(pod)],
])('a pod has its containers and its sidecars, but no init container that ends (%s)', (_form, object) => {
  expect(podFacts(object)!.containers).toEqual(['main', 'proxy']);
});

test.each([
  ['a sidecar', 'prox?', 1],
  ['a container', 'main', 1],
  ['an init container that ends', 'migrate', 0],
])('a monitor that includes only %s matches %s in %i pods', (_what, include, pods) => {
  const facts = podFacts(podTransform.apply(pod))!;
  expect(matchPods({ mode: 'Capture', selector: {}, containers: { include: [include] } }, [facts])).toHaveLength(pods);
});

test('the cache keeps of a pod only what is read', () => {
  expect(JSON.stringify(podTransform.apply(pod))).not.toMatch(/secret|xxx|migrate/);
});
