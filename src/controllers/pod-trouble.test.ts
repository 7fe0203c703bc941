import type { KubeObject } from '../api/meta.ts';
import { crashTrouble, imagePullTrouble, podTroubleTransform } from './pod-trouble.ts';

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
  'the text for a container that waits with %s names its image and pod, and where to look',
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
])('there is no text for a pod that %s', (_what, given) => {
  expect(imagePullTrouble([given])).toBeUndefined();
});

test('the cache keeps only what the texts about troubles need of a pod', () => {
  const kept = podTroubleTransform.apply(pod('a', 'ErrImagePull'));
  expect(kept).not.toHaveProperty('spec');
  expect(kept.metadata).toEqual({ name: 'a', namespace: 'shop' });
  expect(imagePullTrouble([kept])).toContain('minter:9');
});

const crashing = (terminated: object): KubeObject => {
  const given = pod('a');
  const state = { waiting: { reason: 'CrashLoopBackOff' } };
  given['status'] = { containerStatuses: [{ name: 'minter', state, lastState: { terminated } }] };
  return given;
};

test.each([
  [
    'a JSON log line',
    '{"time":"t","msg":"svc cannot start","error":"KMS_PROVIDER: not known"}\n',
    'svc cannot start: KMS_PROVIDER: not known',
  ],
  ['any other line', 'first\nError: no such module\n', 'Error: no such module'],
])('the text for a crash-looping pod ends with its last error, from %s', (_what, message, words) => {
  expect(crashTrouble([pod('b'), crashing({ exitCode: 1, reason: 'Error', message })])).toBe(
    `container minter of pod a ended with code 1: ${words}`,
  );
});

test('an OOM kill is named, and a pod that waits for another reason has no text', () => {
  const text = 'container minter of pod a was ended at its memory limit';
  expect(crashTrouble([crashing({ exitCode: 137, reason: 'OOMKilled' })])).toBe(text);
  expect(crashTrouble([pod('a', 'ContainerCreating'), pod('c')])).toBeUndefined();
});

test.each([
  ['plain text', (words: string) => words],
  ['JSON', (words: string) => JSON.stringify({ msg: words })],
])('the last words of a container end with a whole character: %s', (_what, lineOf) => {
  const fits = 'x'.repeat(299);
  const message = lineOf(`${fits}\u{1f600}`);
  expect(crashTrouble([crashing({ exitCode: 1, reason: 'Error', message })])).toMatch(/: x+$/);
});
