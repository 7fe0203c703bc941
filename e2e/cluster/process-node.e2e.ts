import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { echoImage } from '../node/testdata/image.ts';
import type { Pod } from '../node/types.ts';
import { kubernetesVersion } from './binaries.ts';
import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { until } from '../../src/testing/until.ts';
import { processesOfRun } from './processes.ts';
import { heldNetworks } from './run-registry.ts';

describe('a cluster with two process nodes', () => {
  let cluster: Cluster;
  const started = Date.now();

  beforeAll(async () => {
    cluster = await startCluster({ nodes: 2, images: echoImage });
  });
  afterAll(() => cluster.stop());

  test('is up, and answers kubectl version, within 60 s', async () => {
    expect(await cluster.kubectl(['version'])).toContain(`Server Version: ${kubernetesVersion()}`);
    expect(Date.now() - started).toBeLessThan(60_000);
  });

  test('writes a kubeconfig for a user and groups, which has only their rights', async () => {
    const kubeconfig = await cluster.kubeconfigFor('jane', ['developers']);
    expect(await cluster.kubectl(['auth', 'whoami'], { kubeconfig })).toMatch(/jane[\s\S]*developers/);
    await expect(cluster.kubectl(['get', 'nodes'], { kubeconfig })).rejects.toThrow('forbidden');
  });

  const apply = (object: object): Promise<string> =>
    cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(object) });
  const getPod = (name: string): Promise<Pod> => cluster.api.request('GET', `/api/v1/namespaces/default/pods/${name}`);
  const podsOf = async (app: string): Promise<Pod[]> => {
    const list = await cluster.api.request<{ items: Pod[] }>(
      'GET',
      `/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`,
    );
    return list.items;
  };
  const isReady = (pod: Pod): boolean =>
    pod.metadata.deletionTimestamp === undefined &&
    (pod.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false);
  const readyPod = (name: string): Promise<Pod> =>
    until(`pod ${name} is Ready`, async () => {
      const pod = await getPod(name);
      return isReady(pod) && pod;
    });
  const http = async (pod: Pod, path: string, init: RequestInit = {}): Promise<string> =>
    (await fetch(`http://${pod.status?.podIP}:8080${path}`, { ...init, signal: AbortSignal.timeout(5000) })).text();
  const statusOf = (pod: Pod, container: string) => pod.status?.containerStatuses?.find((c) => c.name === container);
  const echo = { name: 'echo', image: 'example.com/team/echo:1.0', args: ['--listen=0.0.0.0:8080'] };
  const aPod = (name: string, spec: object): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: name } },
    spec: { terminationGracePeriodSeconds: 2, ...spec },
  });

  test('runs a Deployment of our own image, reports it Ready and serves its logs', async () => {
    const labels = { app: 'web' };
    await apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ ...echo, readinessProbe: { httpGet: { path: '/healthz', port: 8080 } } }] },
        },
      },
    });
    await cluster.kubectl(['rollout', 'status', 'deployment/web', '--timeout=30s']);
    const [pod] = await podsOf('web');
    expect(await http(pod as Pod, '/')).toBe('hello');
    expect(await cluster.kubectl(['logs', 'deployment/web'])).toContain(`listening on `);
    await cluster.kubectl(['delete', 'deployment', 'web']);
    await until('the pods are gone', async () => (await podsOf('web')).length === 0);
  });

  test('gives a container its environment, its files and a kubeconfig that works', async () => {
    await apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'default' },
      stringData: { k: 'secret' },
    });
    const env = [
      { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'SECRET', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
      { name: 'GREETING', value: 'I am $(NAME), $(UNKNOWN), at 127.0.0.1:1' },
      { name: 'LABEL_FILE', value: '/info/labels' },
    ];
    const volumes = [
      { name: 'info', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
    ];
    const volumeMounts = [{ name: 'info', mountPath: '/info' }];
    await apply(aPod('env', { volumes, containers: [{ ...echo, env, volumeMounts }] }));
    const pod = await readyPod('env');
    await until('it listens', () => http(pod, '/'));
    expect(await http(pod, '/env/SECRET')).toBe('secret');
    expect(await http(pod, '/env/GREETING')).toMatch(/^I am env, \$\(UNKNOWN\), at 127\.18\.\d+\.\d+:1$/);
    expect(readFileSync(await http(pod, '/env/LABEL_FILE'), 'utf8')).toBe('app="env"');
    const kubeconfig = await http(pod, '/env/KUBECONFIG');
    const who = await cluster.kubectl(['auth', 'whoami'], { kubeconfig });
    expect(who).toContain('system:serviceaccount:default:default');
    await cluster.kubectl(['delete', 'pod', 'env', '--wait']);
  });

  test('updates a mounted ConfigMap within two seconds', async () => {
    await cluster.kubectl(['create', 'configmap', 'page', '--from-literal=index=one']);
    const volumes = [{ name: 'page', configMap: { name: 'page' } }];
    const volumeMounts = [{ name: 'page', mountPath: '/etc/page' }];
    await apply(
      aPod('page', {
        volumes,
        containers: [{ ...echo, args: [...echo.args, '--file=/etc/page/index'], volumeMounts }],
      }),
    );
    const pod = await readyPod('page');
    await until('the first content', async () => (await http(pod, '/')) === 'one');
    await cluster.kubectl(['patch', 'configmap', 'page', '-p', '{"data":{"index":"two"}}']);
    await until('the second content', async () => (await http(pod, '/')) === 'two', { timeoutMs: 2000 });
    await cluster.kubectl(['delete', 'pod', 'page', '--wait']);
  });

  test('restarts only the container whose liveness probe fails', async () => {
    const probed = {
      ...echo,
      livenessProbe: { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 1, failureThreshold: 2 },
    };
    const other = { ...echo, name: 'other', args: ['--listen=0.0.0.0:8081'] };
    await apply(aPod('live', { containers: [probed, other] }));
    const before = await readyPod('live');
    await until('it listens', () => http(before, '/'));
    await http(before, '/break', { method: 'POST' });
    const after = await until('the container was restarted', async () => {
      const pod = await getPod('live');
      return statusOf(pod, 'echo')?.restartCount === 1 && isReady(pod) && pod;
    });
    expect(statusOf(after, 'echo')?.lastState.terminated?.exitCode).toBe(0);
    expect(statusOf(after, 'other')).toEqual(statusOf(before, 'other'));
    expect(await cluster.kubectl(['logs', 'live', '-c', 'echo', '--previous'])).toContain('broken on request');
    await cluster.kubectl(['delete', 'pod', 'live', '--wait']);
  });

  test('restarts a crashed container after a growing delay, and reports its exit code and its log', async () => {
    await apply(aPod('crash', { containers: [{ ...echo, terminationMessagePolicy: 'FallbackToLogsOnError' }] }));
    const pod = await readyPod('crash');
    const node = cluster.nodes.find((n) => n.name === pod.spec.nodeName);
    await until('it listens', () => http(pod, '/'));
    await http(pod, '/crash?code=7').catch(() => undefined);
    const crashed = await until('it was started again', async () => {
      const status = statusOf(await getPod('crash'), 'echo');
      return status?.restartCount === 1 && status.state.running && status;
    });
    expect(crashed.lastState.terminated).toMatchObject({ exitCode: 7, reason: 'Error' });
    expect(crashed.lastState.terminated?.message).toContain('listening on');
    await node?.killContainer('default/crash', 'echo', 'SIGKILL');
    const waited = async (): Promise<string> =>
      until('it waits', async () => {
        const { state, lastState } = statusOf(await getPod('crash'), 'echo')!;
        const { reason, message = '' } = state.waiting ?? {};
        return reason === 'CrashLoopBackOff' && lastState.terminated?.exitCode === 137 && message;
      });
    expect(await waited()).toMatch(/^back-off 1s /);
    await until('it runs again', async () => statusOf(await getPod('crash'), 'echo')?.restartCount === 2);
    await node?.killContainer('default/crash', 'echo', 'SIGKILL');
    expect(await waited()).toMatch(/^back-off 2s /);
    await cluster.kubectl(['delete', 'pod', 'crash', '--wait']);
  });

  test('runs init containers in order before the other containers', async () => {
    const script = (name: string, code: string): object => ({
      name,
      image: 'echo',
      command: ['node', '-e', code],
      volumeMounts,
    });
    const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
    const append = (text: string): string => `require('fs').appendFileSync('/shared/file', '${text}')`;
    await apply(
      aPod('init', {
        volumes: [{ name: 'shared', emptyDir: {} }],
        initContainers: [script('first', append('1')), script('second', append('2'))],
        containers: [{ ...echo, args: [...echo.args, '--file=/shared/file'], volumeMounts }],
      }),
    );
    const pod = await readyPod('init');
    expect(await until('it listens', () => http(pod, '/'))).toBe('12');
    await cluster.kubectl(['delete', 'pod', 'init', '--wait']);
  });

  test('serves logs with --tail and --follow, and refuses exec with a reason', async () => {
    const code = `let n = 0; setInterval(() => console.log('line', ++n), 100)`;
    await apply(aPod('talk', { containers: [{ ...echo, command: ['node', '-e', code], args: [] }] }));
    await readyPod('talk');
    await until('some lines', async () => (await cluster.kubectl(['logs', 'talk'])).includes('line 5'));
    expect((await cluster.kubectl(['logs', 'talk', '--tail=2'])).trim().split('\n')).toHaveLength(2);
    const follow = ['logs', 'talk', '--follow', '--tail=1', '--timestamps'];
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
    const follower = spawn(cluster.binaries.kubectl, follow, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(follower, 'close');
    let followed = '';
    follower.stdout.on('data', (part: Buffer) => (followed += part.toString()));
    await until('more lines', () => followed.split('\n').length > 15);
    await cluster.kubectl(['delete', 'pod', 'talk', '--wait']);
    expect((await ended)[0]).toBe(0);
    expect(followed).toMatch(/^20\d\d-\S+Z line \d+\n/);
    const numbers = [...followed.matchAll(/ line (\d+)\n/g)].map(([, n]) => Number(n));
    expect(numbers).toEqual(numbers.map((_, i) => numbers[0]! + i));
    await apply(aPod('quiet', { containers: [echo] }));
    await readyPod('quiet');
    await expect(cluster.kubectl(['exec', 'quiet', '--', 'ls'])).rejects.toThrow('a process node has no exec');
    await cluster.kubectl(['delete', 'pod', 'quiet', '--wait']);
  });

  test('a Job runs to its end and its pod is Succeeded', async () => {
    const template = {
      spec: { restartPolicy: 'Never', containers: [{ ...echo, command: ['node', '-e', '1'], args: [] }] },
    };
    const metadata = { name: 'once', namespace: 'default' };
    await apply({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { template } });
    await cluster.kubectl(['wait', 'job/once', '--for=condition=Complete', '--timeout=20s']);
    const phases = ['get', 'pods', '-l', 'job-name=once', '-o', 'jsonpath={.items[*].status.phase}'];
    expect(await cluster.kubectl(phases)).toBe('Succeeded');
    await cluster.kubectl(['delete', 'job', 'once']);
  });

  test('pods survive kill -9 of the API server and are managed again once it is back', async () => {
    const volumes = [{ name: 'page', configMap: { name: 'through' } }];
    const volumeMounts = [{ name: 'page', mountPath: '/page' }];
    const args = [...echo.args, '--file=/page/index'];
    await cluster.kubectl(['create', 'configmap', 'through', '--from-literal=index=before']);
    await apply(aPod('through', { volumes, containers: [{ ...echo, args, volumeMounts }] }));
    const pod = await readyPod('through');
    await until('the first content', async () => (await http(pod, '/')) === 'before');
    await cluster.apiServer.kill9();
    expect(await http(pod, '/')).toBe('before');
    await cluster.apiServer.restart();
    await cluster.kubectl(['patch', 'configmap', 'through', '-p', '{"data":{"index":"after"}}']);
    await until('the second content', async () => (await http(pod, '/')) === 'after', { timeoutMs: 10_000 });
    expect(statusOf(await getPod('through'), 'echo')?.restartCount).toBe(0);
    await cluster.kubectl(['delete', 'pod', 'through', '--wait']);
  });

  test('sets a pod to Ready again after the control plane marked it as not ready, as for a silent node', async () => {
    await apply(aPod('judged', { containers: [echo] }));
    await readyPod('judged');
    const status = { conditions: [{ type: 'Ready', status: 'False' }] };
    const patch = [
      'patch',
      'pod',
      'judged',
      '--subresource=status',
      '--type=strategic',
      '-p',
      JSON.stringify({ status }),
    ];
    expect(await cluster.kubectl([...patch, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'])).toBe(
      'False',
    );
    await readyPod('judged');
    await cluster.kubectl(['delete', 'pod', 'judged', '--wait']);
  });

  test('reports a foreign image that it cannot run', async () => {
    await apply(aPod('foreign', { containers: [{ name: 'db', image: 'postgres:17' }] }));
    const waiting = await until('the reason', async () => {
      const state = statusOf(await getPod('foreign'), 'db')?.state.waiting;
      return state?.reason === 'ErrImagePull' && state;
    });
    expect(waiting.message).toMatch(/ImageUnsupported.*"postgres:17"/);
    await cluster.kubectl(['delete', 'pod', 'foreign', '--wait']);
  });

  test('a killed node turns NotReady and comes back with its pods and host disk', async () => {
    const volumes = [{ name: 'disk', hostPath: { path: '/var/lib/echo', type: 'DirectoryOrCreate' } }];
    const volumeMounts = [{ name: 'disk', mountPath: '/var/lib/echo' }];
    const labels = { app: 'disk' };
    const container = {
      ...echo,
      command: ['node', '-e', `require('fs').appendFileSync('/var/lib/echo/starts', 'x'); setInterval(() => {}, 1e6)`],
      args: [],
      volumeMounts,
    };
    await apply({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'disk', namespace: 'default' },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { volumes, containers: [container], terminationGracePeriodSeconds: 1 },
        },
      },
    });
    const pods = await until('a pod on each node', async () => {
      const found = await podsOf('disk');
      return found.length === 2 && found.every(isReady) && found;
    });
    const [node] = cluster.nodes;
    if (!node) throw new Error('no node');
    const starts = (): string => readFileSync(join(node.hostDir, 'var/lib/echo/starts'), 'utf8');
    await until(
      'it wrote to its disk',
      async () => existsSync(join(node.hostDir, 'var/lib/echo/starts')) && starts() === 'x',
    );

    const killed = Date.now();
    await node.kill();
    const nodeReady = (status: string) => async (): Promise<boolean> =>
      (await cluster.kubectl([
        'get',
        'node',
        node.name,
        '-o',
        'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
      ])) === status;
    await until('the node is NotReady', nodeReady('Unknown'), { timeoutMs: 25_000 });
    expect(Date.now() - killed).toBeLessThan(20_000);
    await until('its pod is not Ready', async () => (await podsOf('disk')).filter(isReady).length === 1);

    await node.revive();
    await until('the node is Ready', nodeReady('True'), { timeoutMs: 10_000 });
    const after = await until('its pod is Ready again', async () => {
      const found = await podsOf('disk');
      return found.every(isReady) && found.find((p) => p.spec.nodeName === node.name);
    });
    expect(pods.map((p) => p.metadata.uid)).toContain(after.metadata.uid);
    expect(statusOf(after, 'echo')).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 255 } } });
    await until('both starts are on the disk', async () => starts() === 'xx');
    await cluster.kubectl(['delete', 'daemonset', 'disk']);
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

  test('leaves no process, address or file behind after stop, which may be called twice', async () => {
    const run = basename(cluster.dir);
    const network = cluster.nodes[0]!.ip.replace(/\.1$/, '.0/24');
    expect(processesOfRun(run).length).toBeGreaterThanOrEqual(6);
    await cluster.stop();
    await cluster.stop();
    expect(processesOfRun(run)).toEqual([]);
    // The cluster's network is released, but another run may have taken it since.
    const left = heldNetworks().filter((held) => held.run === undefined || held.run === run);
    expect(left.map((held) => held.network)).not.toContain(network);
    expect(existsSync(cluster.dir)).toBe(false);
  });
});
