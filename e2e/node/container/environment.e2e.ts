import { containerEnvironment, expand } from './environment.ts';
import { resourceValue } from '../volumes/downward.ts';
import type { Container, DataObject, Pod } from '../types.ts';

const addresses = { podIP: '198.18.1.7', hostIP: '198.18.1.1' };
const pod: Pod = {
  metadata: { name: 'p', namespace: 'd', uid: 'u', labels: { app: 'x' } },
  spec: { nodeName: 'n', containers: [] },
};
const objects: Record<string, DataObject> = {
  'configmaps/c': { metadata: { ...pod.metadata, name: 'c' }, data: { K: 'v' } },
  'secrets/s': { metadata: { ...pod.metadata, name: 's' }, data: { P: Buffer.from('pass').toString('base64') } },
};
const environment = (container: Partial<Container>): Promise<Record<string, string>> =>
  containerEnvironment(pod, { name: 'c', image: 'i', ...container }, addresses, (kind, name) =>
    Promise.resolve(objects[`${kind}/${name}`]),
  );

test.each([
  ['expands a variable that is set', 'a $(A) b', 'a 1 b'],
  ['leaves a variable that is not set', '$(B)', '$(B)'],
  ['takes a doubled dollar as one', '$$(A)', '$(A)'],
  ['leaves a lone dollar', '$A 5$', '$A 5$'],
])('%s', (_name, text, expected) => {
  expect(expand(text, { A: '1' })).toBe(expected);
});

test('later variables win and may use earlier ones', async () => {
  const env = await environment({
    envFrom: [{ prefix: 'C_', configMapRef: { name: 'c' } }, { secretRef: { name: 's' } }],
    env: [
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'URL', value: 'http://$(IP):$(C_K)' },
      { name: 'P', value: 'own' },
      { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
    ],
  });
  expect(env).toEqual({ C_K: 'v', P: 'own', IP: '198.18.1.7', URL: 'http://198.18.1.7:v', LABEL: 'x' });
});

test('a missing key is an error that names it, unless the key is optional', async () => {
  const ref = { name: 's', key: 'none' };
  await expect(environment({ env: [{ name: 'X', valueFrom: { secretKeyRef: ref } }] })).rejects.toMatchObject({
    reason: 'CreateContainerConfigError',
    message: "couldn't find key none in secret d/s",
  });
  const optional = { ...ref, optional: true };
  expect(await environment({ env: [{ name: 'X', valueFrom: { secretKeyRef: optional } }] })).toEqual({});
});

test('a limit that is not a quantity is an error that names it', () => {
  const container = { name: 'c', image: 'i', resources: { limits: { cpu: '5 apples' } } };
  expect(() => resourceValue(pod, container, { resource: 'limits.cpu' })).toThrow('"5 apples" is not a quantity');
});

test('a limit is divided by its divisor and rounded up', () => {
  const container = { name: 'c', image: 'i', resources: { limits: { cpu: '250m', memory: '10Mi' } } };
  expect(resourceValue(pod, container, { resource: 'limits.cpu' })).toBe('1');
  expect(resourceValue(pod, container, { resource: 'limits.memory', divisor: '1Mi' })).toBe('10');
});
