import { randomUUID } from 'node:crypto';
import type { KubeObject } from '../../src/api/meta.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { coreResources, createKubeClient, listAll, type RestClient } from '../../src/kube/index.ts';
import { ApplySet, Manager, RuntimeMetrics, type Informer, type ManagerOptions } from '../../src/runtime/index.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { until } from '../../src/testing/until.ts';

const { configMaps, services, secrets, leases } = coreResources;
const namespace = 'runtime';

interface Subject {
  manager: Manager;
  metrics: RuntimeMetrics;
  runs: string[];
  ended: Promise<unknown>;
  stop(): Promise<void>;
}

/**
 * Tests the runtime on a real API server, by a controller that makes a Service and a Secret for labelled ConfigMaps.
 */
export function manager(of: () => Cluster): void {
  let cluster: Cluster;
  let client: RestClient;
  let running: { stop: () => Promise<void> }[] = [];

  beforeAll(async () => {
    cluster = of();
    client = createKubeClient({ kubeconfig: cluster.kubeconfig });
    await cluster.kubectl(['create', 'namespace', namespace]);
  });
  afterEach(async () => {
    await Promise.all(running.map((r) => r.stop()));
    running = [];
    await cluster.kubectl(['-n', namespace, 'delete', 'configmap', '-l', 'kind=owner', '--wait=true']);
  });
  afterAll(() => client.close());

  const owner = (name: string, data: Record<string, string>): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { kind: 'owner' } },
    data,
  });
  const put = (name: string, data: Record<string, string>): Promise<KubeObject> =>
    client.apply(configMaps, owner(name, data), { fieldManager: 'user', force: true });

  function start(options: Partial<ManagerOptions> = {}): Subject {
    const metrics = new RuntimeMetrics();
    const own = createKubeClient({ kubeconfig: cluster.kubeconfig, onRequest: metrics.onRequest });
    const manager = new Manager({
      client: own,
      clock: systemClock,
      logger: silentLogger,
      metrics,
      component: 'e2e',
      instance: 'e2e-0',
      freezeCache: true,
      ...options,
    });
    const runs: string[] = [];
    const owners = manager.cache.informer({ resource: configMaps, namespace, labelSelector: 'kind=owner' });
    const children: Informer[] = [services, secrets].map((resource) =>
      manager.cache.informer({ resource, labelSelector: 'managed-by=e2e' }),
    );
    const set = new ApplySet({ client: own, fieldManager: 'svc-controller/e2e', controller: 'e2e', metrics, children });
    manager.addController({
      name: 'e2e',
      for: { source: owners.source },
      owns: children.map(({ source }) => ({ source })),
      async reconcile({ key, logger, signal }) {
        runs.push(key.name);
        const object = owners.get(key);
        if (!object) return;
        const data = object['data'] as Record<string, string>;
        const metadata = { name: key.name, namespace, labels: { 'managed-by': 'e2e' } };
        const service = {
          apiVersion: 'v1',
          kind: 'Service',
          metadata,
          spec: { ports: [{ port: Number(data['port']) }] },
        };
        const encoded = Buffer.from(data['secret'] ?? '').toString('base64');
        const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data: { value: encoded } };
        const wanted: KubeObject[] = data['secret'] ? [service, secret] : [service];
        await set.apply({ wanted, owner: { object, resource: configMaps }, force: true, logger, signal });
        manager.events.record(object, { type: 'Normal', reason: 'Applied', message: 'its children are in place' });
      },
    });
    const abort = new AbortController();
    const ended = manager.run(abort.signal).then(
      () => undefined,
      (error: unknown) => error,
    );
    const subject: Subject = {
      manager,
      metrics,
      runs,
      ended,
      async stop() {
        abort.abort();
        await ended;
        await own.close();
      },
    };
    running.push(subject);
    return subject;
  }
  const child = (resource: typeof services, name: string): Promise<KubeObject | undefined> =>
    client.get(resource, { namespace, name }).catch(() => undefined);
  const portOf = async (name: string): Promise<number | undefined> =>
    ((await child(services, name))?.['spec'] as { ports: { port: number }[] } | undefined)?.ports[0]?.port;

  test('a controller applies children, follows changes, repairs, prunes, and records Events', async () => {
    await put('shop', { port: '80', secret: 'x' });
    const subject = start();
    await until('the children', async () => (await child(services, 'shop')) && (await child(secrets, 'shop')));
    await put('shop', { port: '81', secret: 'x' });
    await until('the new port', async () => (await portOf('shop')) === 81);
    await cluster.kubectl(['-n', namespace, 'patch', 'secret', 'shop', '-p', '{"data":{"value":"ZXZpbA=="}}']);
    const secretValue = async (): Promise<unknown> =>
      ((await child(secrets, 'shop'))?.['data'] as { value?: string })?.value;
    await until('the repair', async () => (await secretValue()) === Buffer.from('x').toString('base64'));
    // The watch selects children by this label: without the label it loses sight of the Service.
    await cluster.kubectl(['-n', namespace, 'label', 'service', 'shop', 'managed-by-']);
    await until('the label', async () => (await child(services, 'shop'))?.metadata.labels?.['managed-by'] === 'e2e');
    await cluster.kubectl(['-n', namespace, 'delete', 'service', 'shop']);
    await until('the Service again', async () => (await portOf('shop')) === 81);
    await put('shop', { port: '81' });
    await until('the pruning', async () => (await child(secrets, 'shop')) === undefined);
    const told = await cluster.kubectl(['-n', namespace, 'describe', 'configmap', 'shop']);
    expect(told).toMatch(/Normal\s+Applied.*its children are in place/);
    await cluster.kubectl(['-n', namespace, 'delete', 'configmap', 'shop']);
    await until('the garbage collection', async () => (await child(services, 'shop')) === undefined);
    expect(await subject.metrics.registry.getSingleMetricAsString('controller_runtime_reconcile_panics_total')).toMatch(
      / 0$/m,
    );
  });

  test('an unwanted child without its label is deleted, even if it lost the label while no operator ran', async () => {
    const body = { metadata: { labels: { 'managed-by': null } } };
    const unlabel = (): Promise<unknown> => client.patch(secrets, { namespace, name: 'shop' }, { type: 'merge', body });
    const gone = async (): Promise<boolean> => (await child(secrets, 'shop')) === undefined;
    await put('shop', { port: '80', secret: 'x' });
    const first = start();
    await until('the Secret', () => child(secrets, 'shop'));
    await unlabel();
    await put('shop', { port: '80' });
    await until('the pruning', gone);
    await put('shop', { port: '80', secret: 'x' });
    await until('the Secret again', () => child(secrets, 'shop'));
    await first.stop();
    await unlabel();
    await put('shop', { port: '80' });
    start();
    await until('the pruning by the next process', gone);
  });

  test('a restart writes nothing when no object has changed', async () => {
    for (let i = 0; i < 20; i++) await put(`o-${i}`, { port: '80', secret: 'x' });
    const first = start();
    await until(
      'all children',
      async () => (await listAll(client, secrets, { namespace, labelSelector: 'managed-by=e2e' })).items.length === 20,
    );
    await first.stop();
    const versions = async (): Promise<string[]> => {
      const lists = [services, secrets].map((resource) =>
        listAll(client, resource, { namespace, labelSelector: 'managed-by=e2e' }),
      );
      return (await Promise.all(lists)).flatMap(({ items }) =>
        items.map(({ metadata: { uid, resourceVersion } }) => `${uid} ${resourceVersion}`),
      );
    };
    const before = await versions();
    expect(before).toHaveLength(40);
    const second = start();
    await until('every key once', async () => new Set(second.runs).size === 20);
    await until('idleness', async () => second.manager.idle);
    // Events are the only writes: one for each reconcile of this test's controller.
    expect(await versions()).toEqual(before);
    const applied = await second.metrics.applies.get();
    const count = (operation: string): number =>
      applied.values.find((v) => v.labels.operation === operation)?.value ?? 0;
    expect(count('applied')).toBe(0);
    expect(count('skipped')).toBe(40);
  });

  test('changes are followed again after the API server was killed and came back', async () => {
    await put('shop', { port: '80' });
    const subject = start();
    await until('the child', () => child(services, 'shop'));
    await cluster.apiServer.kill9();
    await cluster.apiServer.restart();
    await put('shop', { port: '8080' });
    await until('the new port', async () => (await portOf('shop')) === 8080, { timeoutMs: 60_000 });
    expect(await Promise.race([subject.ended, Promise.resolve('running')])).toBe('running');
  });

  test('only one of two replicas works; the second takes over, and ends when its lease is stolen', async () => {
    await put('shop', { port: '80' });
    const election = () => ({ namespace, name: 'e2e', identity: randomUUID() });
    const first = start({ leaderElection: election() });
    await until('the leader', async () => first.manager.leading);
    const second = start({ leaderElection: election() });
    await until('the child', () => child(services, 'shop'));
    expect(second.manager.leading).toBe(false);
    expect(second.runs).toEqual([]);
    await first.stop();
    await until('the second leader', async () => second.manager.leading, { timeoutMs: 10_000 });
    await until('its work', async () => second.runs.includes('shop'));
    const lease = await client.get<KubeObject>(leases, { namespace, name: 'e2e' });
    const spec = { ...(lease['spec'] as object), holderIdentity: 'thief' };
    const body = { spec };
    await client.patch(leases, { namespace, name: 'e2e' }, { type: 'merge', body });
    expect(await second.ended).toMatchObject({ code: 'ERR_LEASE_LOST' });
  });
}
