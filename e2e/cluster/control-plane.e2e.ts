import { existsSync } from 'node:fs';
import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { kubernetesVersion } from './binaries.ts';

describe('a cluster without nodes', () => {
  let cluster: Cluster;
  const started = Date.now();

  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  test('brings up the control plane and answers kubectl version within 60 s', async () => {
    expect(await cluster.kubectl(['version'])).toContain(`Server Version: ${kubernetesVersion()}`);
    expect(Date.now() - started).toBeLessThan(60_000);
  });

  test('hands out kubeconfigs whose rights are those of the user', async () => {
    const kubeconfig = await cluster.kubeconfigFor('jane', ['developers']);
    expect(await cluster.kubectl(['auth', 'whoami'], { kubeconfig })).toMatch(/jane[\s\S]*developers/);
    await expect(cluster.kubectl(['get', 'nodes'], { kubeconfig })).rejects.toThrow('forbidden');
  });

  test('an API server killed with -9 comes back on the same port with its data', async () => {
    await cluster.kubectl(['create', 'configmap', 'kept', '--from-literal=a=b']);
    const pid = cluster.apiServer.pid;
    await cluster.apiServer.kill9();
    await expect(cluster.kubectl(['get', 'configmap', 'kept'])).rejects.toThrow('refused');
    await cluster.apiServer.restart();
    expect(cluster.apiServer.pid).not.toBe(pid);
    expect(await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'jsonpath={.data.a}'])).toBe('b');
  });

  test('stop removes the temporary folder and may be called twice', async () => {
    await cluster.stop();
    await cluster.stop();
    expect(existsSync(cluster.dir)).toBe(false);
  });
});
