import { readBuildInfo } from '../../../base/build-info.ts';
import type { RestClient } from '../../../kube/index.ts';
import { runPluginHere } from '../../../testing/plugin/plugin-run.ts';
import type { QueryRequest } from '../connect/query-server.ts';
import { versionOfImage } from './cluster-versions.ts';

const own = readBuildInfo({}).version;
const kube = (image: string) => (): RestClient =>
  ({
    list: async () => ({ items: [{ spec: { containers: [{ name: 'c', image }] } }] }),
    close: async () => {},
  }) as unknown as RestClient;
const answer =
  (version: string) =>
  ({ path }: QueryRequest): object =>
    path === '/api/v1/status/buildinfo'
      ? { data: { applicationVersion: version } }
      : { data: { result: [{ metric: { version }, value: [1, '3'] }] } };

test('the versions of all parts are in one table', async () => {
  const run = await runPluginHere(['version'], { answer: answer(own), kube: kube(`svc-operator:${own}`) });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(run.stdout.split('\n').map((line) => line.split(/ {3,}/))).toEqual([
    ['PART', 'VERSION', 'WHERE'],
    ['client', own, 'this machine'],
    ['operator', own, '1 pod in svc-system'],
    ['query', own, 'https://query.test'],
    ['agents', own, '3 nodes'],
    [''],
  ]);
});

test('parts of another version get a warning', async () => {
  const { code, stderr } = await runPluginHere(['version'], {
    answer: answer('0.0.9'),
    kube: kube('svc-operator:0.0.8'),
  });
  expect(code).toBe(0);
  expect(stderr).toContain(`warning: operator 0.0.8 (1 pod in svc-system) is not of the plugin's version ${own}`);
  expect(stderr).toContain('warning: agents 0.0.9 (3 nodes)');
});

test('without a cluster the plugin prints its own version, and why the others are missing', async () => {
  const broken = { answer: () => Promise.reject(new Error('cut')), kube: kube('svc-operator:1') };
  const { code, stdout, stderr } = await runPluginHere(['version'], broken);
  expect(code).toBe(1);
  expect(stdout).toContain(own);
  expect(stderr.match(/error: cut/g)).toHaveLength(1);
  const alone = await runPluginHere(['version', '--client', '-o', 'json']);
  expect(JSON.parse(alone.stdout)).toEqual({ versions: [{ part: 'client', version: own, where: 'this machine' }] });
});

test.each([
  ['svc-operator:0.1.0', '0.1.0'],
  ['registry.example:5000/team/svc-operator:v1', 'v1'],
  ['registry.example:5000/svc-operator', 'registry.example:5000/svc-operator'],
  ['svc-operator:0.1.0@sha256:abc', '0.1.0'],
])('the version of image %s is %s', (image, version) => {
  expect(versionOfImage(image)).toBe(version);
});
