/** Names of Services: a real CoreDNS serves them, and the resolvers of real processes look them up. */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '../../src/api/meta.ts';
import type { TlsClient } from '../../src/net/tls-client.ts';
import { names, ports, renderMinterRights } from '../../src/render/index.ts';
import { needing, root } from '../../src/testing/needs.ts';
import { until } from '../../src/testing/until.ts';
import { AgentProcess, makeIdentities } from '../agent/agent-process.ts';
import { repository } from '../install/tools.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { freePorts } from '../cluster/ports.ts';
import { aMinter } from '../life/stage.ts';
import { startPeer, type Peer } from '../prometheus/server.ts';
import { startNameServer, type NameServer } from './coredns.ts';
import { peerNeed } from './programs.ts';

interface ServiceObject extends KubeObject {
  spec: { clusterIP: string; ports: { port: number }[] };
}
interface PodList {
  items: { status: { podIP?: string } }[];
}
/** Where the metadata services of clouds answer. */
const metadataAddress = '169.254.169.254';

let dir: string;
let cluster: Cluster;
let dns: NameServer;
const peers: Peer[] = [];
const service = (namespace: string, name: string): Promise<ServiceObject> =>
  cluster.api.request('GET', `/api/v1/namespaces/${namespace}/services/${name}`);
const apply = (...objects: object[]): Promise<string> =>
  cluster.kubectl(['apply', '-f', '-'], { stdin: objects.map((o) => JSON.stringify(o)).join('\n') });
const agentAddresses = async (): Promise<string[]> => {
  const path = `/api/v1/namespaces/svc-system/pods?labelSelector=app.kubernetes.io%2Fcomponent%3Dagent`;
  const { items } = await cluster.api.request<PodList>('GET', path);
  return items.flatMap(({ status }) => status.podIP ?? []).sort();
};
/** The names that the certificate in a Secret is for. */
const certified = async (secret: string): Promise<string[]> => {
  const path = `/api/v1/namespaces/svc-system/secrets/${secret}`;
  const { data } = await cluster.api.request<{ data: Record<string, string> }>('GET', path);
  const { subjectAltName } = new X509Certificate(Buffer.from(data['tls.crt']!, 'base64'));
  return (subjectAltName ?? '').split(', ').flatMap((one) => (one.startsWith('DNS:') ? [one.slice(4)] : []));
};

needing(root, peerNeed('coredns')).describe('names that CoreDNS gives', () => {
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'coredns-e2e-'));
    cluster = await startCluster({ nodes: 2 });
    await cluster.kubectl(['apply', '--server-side', '-f', `${repository}/manifests/install.yaml`]);
    await cluster.kubectl(['create', 'namespace', 'agents']);
    await cluster.kubectl(['create', 'namespace', 'shop']);
    await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(renderMinterRights('svc-system', 'agents')) });
    dns = await startNameServer(cluster, { 'metadata.example': metadataAddress });
    await until('two agents', agentAddresses, { good: (found) => found.length === 2, timeoutMs: 120_000 });
  }, 400_000);
  afterAll(async () => {
    for (const peer of peers) await peer.stop('SIGKILL');
    await dns?.close();
    await cluster?.stop();
    rmSync(dir, { recursive: true, force: true });
  }, 60_000);

  test('the Service of the agents is a name for all of their pods, and each of its ports has a name', async () => {
    const addresses = await agentAddresses();
    const name = `${names.agent}.svc-system.svc`;
    await until('their addresses', () => dns.lookUp(name), {
      good: (found) => JSON.stringify(found) === JSON.stringify(addresses),
    });
    const found = await dns.services(`_scrape._tcp.${name}.cluster.local`);
    expect(found.map(({ port }) => port)).toEqual(addresses.map(() => ports.scrape));
    expect((await Promise.all(found.map(({ name: one }) => dns.lookUp(one)))).flat().sort()).toEqual(addresses);
  }, 120_000);

  test.each([
    [names.query, names.queryTls],
    [names.controller, names.controllerTls],
  ])('every name in the certificate of %s leads to its Service', async (name, secret) => {
    const { spec } = await service('svc-system', name);
    // The operator's certificate is also for its webhook, whose Service exists only with admission webhooks on.
    const found = (await certified(secret)).filter((one) => one.split('.')[0] === name);
    expect(found).toEqual(expect.arrayContaining([`${name}.svc-system.svc`, `${name}.svc-system.svc.cluster.local`]));
    expect(await Promise.all(found.map((one) => dns.lookUp(one)))).toEqual(found.map(() => [spec.clusterIP]));
  });

  test('the URL in the status of a minter leads to a port of its Service', async () => {
    await apply(aMinter());
    const path = '/apis/svc.dev/v1alpha1/namespaces/agents/minterdeployments/minter';
    const { status } = await until('the URL', () => cluster.api.request<{ status?: { url?: string } }>('GET', path), {
      good: (minter) => minter.status?.url !== undefined,
    });
    const { hostname, port } = new URL(status!.url!);
    const { spec } = await until('its Service', () => service('agents', 'minter'));
    await until('its address', () => dns.lookUp(hostname), { good: ([ip]) => ip === spec.clusterIP });
    expect(spec.ports.map((one) => String(one.port))).toContain(port);
  });

  describe('of a receiver that an agent exports to', () => {
    let agent: AgentProcess;
    let controller: TlsClient;
    let port: number;
    let n = 0;
    const startMs = Date.now();
    /** Two addresses of the first node that no pod has. */
    const address = (which: number): string => cluster.nodes[0]!.ip.replace(/\d+$/, String(250 + which));
    const point = (): Promise<void> => {
      const times = { startTimeUnixNano: `${startMs}000000`, timeUnixNano: `${Date.now()}000000` };
      const sum = { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ asInt: String(++n), ...times }] };
      return agent.otlp('metrics', { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'orders', sum }] }] }] });
    };
    const startReceiver = async (which: number): Promise<Peer> => {
      const flags = [`--web.listen-address=${address(which)}:${port}`];
      const receiver = await startPeer({ dir: join(dir, 'receiver'), flags });
      peers.push(receiver);
      return receiver;
    };
    const serve = (which: number): Promise<string> =>
      apply(
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'receiver', namespace: 'shop' },
          spec: { clusterIP: 'None', ports: [{ name: 'http', port }] },
        },
        {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: { name: 'receiver', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'receiver' } },
          addressType: 'IPv4',
          endpoints: [{ addresses: [address(which)], conditions: { ready: true } }],
          ports: [{ name: 'http', port }],
        },
      );
    const exportTo = (host: string): Promise<void> => {
      const endpoint = `http://${host}:${port}/api/v1/write`;
      return agent.push(controller, {
        exports: [{ policy: 'p', name: 'x', type: 'RemoteWrite', endpoint, labels: {} }],
      });
    };
    const exported = async () => (await agent.status(controller)).exports![0]!;
    /** Waits until the receiver has all values that were sent. */
    const allAt = (receiver: Peer): Promise<unknown> =>
      until(
        `all ${n} at the receiver`,
        async () => {
          const rows = await receiver.samples('orders[15m]');
          return new Set(rows.flatMap(({ values }) => values.map(([, value]) => value)));
        },
        { good: (found) => found.size === n, timeoutMs: 60_000 },
      );

    beforeAll(async () => {
      [port] = (await freePorts(1)) as [number];
      controller = await (await makeIdentities(dir)).client('svc-controller');
      agent = await AgentProcess.start(dir, {}, {}, dns.asPodOf('svc-system'));
    }, 60_000);
    afterAll(async () => {
      await agent?.end('SIGKILL');
      controller?.close();
    });

    test('the name leads to the receiver, also after it has moved, with nothing lost', async () => {
      await serve(0);
      const first = await startReceiver(0);
      await exportTo('receiver.shop');
      for (let i = 0; i < 5; i++) await point();
      await allAt(first);
      await first.stop();
      await point();
      await until('the failure is reported', exported, { good: ({ state }) => state === 'Failing' });
      const second = await startReceiver(1);
      await serve(1);
      await point();
      await allAt(second);
      expect(await exported()).toMatchObject({ state: 'Sending', refused: 0 });
    }, 180_000);

    test('a name that does not exist is reported, and the export goes on once the name exists', async () => {
      await exportTo('later.shop.svc');
      await point();
      const { message } = await until('the failure', exported, { good: ({ state }) => state === 'Failing' });
      expect(message).toMatch(/later\.shop\.svc/);
      expect(message).toMatch(/ENOTFOUND/);
      const spec = { type: 'ExternalName', externalName: 'receiver.shop.svc.cluster.local' };
      await apply({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'later', namespace: 'shop' }, spec });
      await until('it is sent', exported, { good: ({ state }) => state === 'Sending', timeoutMs: 60_000 });
    }, 120_000);

    test('an export to a Service whose external name resolves to a metadata address is refused', async () => {
      const spec = { type: 'ExternalName', externalName: 'metadata.example' };
      await apply({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'trap', namespace: 'shop' }, spec });
      await until('the name', () => dns.lookUp('trap.shop.svc'), { good: ([ip]) => ip === metadataAddress });
      await exportTo('trap.shop.svc');
      await point();
      const { message } = await until('the refusal', exported, { good: ({ state }) => state === 'NotAllowed' });
      expect(message).toContain(
        `trap.shop.svc resolves to ${metadataAddress}, a loopback, link-local or metadata address`,
      );
    }, 60_000);
  });
});
