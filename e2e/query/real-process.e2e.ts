import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { systemClock } from '../../src/base/clock.ts';
import { issueLeaf } from '../../src/net/ca.ts';
import { names, objectLabels, platformDefaults, renderPlatform } from '../../src/render/index.ts';
import { startAgentCluster } from '../../src/testing/query/agent-cluster.ts';
import type { AgentCluster } from '../../src/testing/query/agent-cluster.ts';
import { askApi } from '../../src/testing/query/api-client.ts';
import type { ApiAnswer, ApiParams } from '../../src/testing/query/api-client.ts';
import { installCrds } from '../api/install.ts';
import { startCluster } from '../cluster/cluster.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { until } from '../../src/testing/until.ts';
import { startQueryProcess, writeTls } from './query-process.ts';
import type { QueryProcess } from './query-process.ts';

/** `svc query` as a process with the rights that it has in a cluster, and a real API server that checks its users. */

const now = Math.floor(Date.now() / 1000) * 1000;
const at = String(now / 1000);
const nodes = ['node-1', 'node-2'];
const tokens: Record<string, string> = {};
let dir: string;
let cluster: Cluster;
let agents: AgentCluster;
let query: QueryProcess;

const start = async (): Promise<QueryProcess> =>
  startQueryProcess({
    dir,
    kubeconfig: await cluster.kubeconfigFor(`system:serviceaccount:svc-system:${names.query}`, [
      ...['system:serviceaccounts', 'system:serviceaccounts:svc-system', 'system:authenticated'],
    ]),
    flags: ['--tenancy=true', '--loopback-exempt=false', `--agent-read-port=${agents.port}`],
  });
const ask = (user: string, path: string, params: ApiParams = {}): Promise<ApiAnswer> =>
  askApi({ port: query.port, ca: agents.ca.cert }, path, params, {
    headers: { authorization: `Bearer ${tokens[user]}` },
  });
const namespacesOf = async (user: string): Promise<string[]> =>
  (await ask(user, '/api/v1/label/k8s_namespace_name/values')).json.data as string[];
const apply = (...items: object[]): Promise<string> =>
  cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });

/** Creates an agent's pod at the API server: it runs on a node, at the address of a simulated agent. */
async function podOf(node: string, address: string): Promise<void> {
  const labels = objectLabels('agent');
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `agent-${node}`, namespace: 'svc-system', labels } };
  await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
  await until('the pod is created', async () =>
    apply({ ...pod, spec: { nodeName: node, containers: [{ name: 'agent', image: 'agent' }] } }),
  );
  const status = { phase: 'Running', podIP: address, podIPs: [{ ip: address }] };
  const patch = ['patch', 'pod', pod.metadata.name, '-n', 'svc-system', '--subresource=status', '--type=merge'];
  await cluster.kubectl([...patch, '-p', JSON.stringify({ status })]);
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'svc-query-'));
  agents = await startAgentCluster(nodes, systemClock);
  for (const node of nodes) {
    agents.append(node, { __name__: 'svc_agent_up' }, now, 1);
    for (const namespace of ['shop', 'bank', 'zoo']) {
      const labels = { __name__: 'requests_total', k8s_namespace_name: namespace, [`only_${namespace}`]: 'x' };
      agents.append(node, labels, now, 1);
    }
    const ends = { k8s_src_namespace: 'bank', k8s_dst_namespace: 'shop' };
    agents.append(node, { __name__: 'ebpf_network_flow_bytes', ...ends }, now, 10);
  }
  cluster = await startCluster({ nodes: 0 });
  await installCrds(cluster);
  const kinds = ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding'];
  await apply(
    ...['svc-system', 'shop', 'bank', 'zoo'].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    })),
  );
  await apply(...renderPlatform(platformDefaults).filter(({ kind }) => kinds.includes(kind)));
  for (const { node, address } of agents.agents) await podOf(node, address);
  for (const user of ['admin', 'shopper', 'nobody', 'stranger']) {
    await cluster.kubectl(['-n', 'shop', 'create', 'serviceaccount', user]);
    tokens[user] = (await cluster.kubectl(['-n', 'shop', 'create', 'token', user])).trim();
    if (user === 'stranger') continue;
    await cluster.kubectl([
      ...['create', 'clusterrolebinding', `${user}-promql`, `--clusterrole=${names.promqlReader}`],
      `--serviceaccount=shop:${user}`,
    ]);
  }
  await cluster.kubectl(['create', 'clusterrolebinding', 'a', '--clusterrole=view', '--serviceaccount=shop:admin']);
  await cluster.kubectl([
    ...['-n', 'shop', 'create', 'rolebinding', 's', '--clusterrole=view', '--serviceaccount=shop:shopper'],
  ]);
  writeTls(dir, agents.tls.current);
  query = await start();
}, 120_000);
afterAll(async () => {
  await query?.kill();
  await agents?.close();
  await cluster?.stop();
  rmSync(dir, { recursive: true, force: true });
}, 60_000);

test('users see the namespaces whose pods they may read, and without the role get no answer', async () => {
  expect(await namespacesOf('admin')).toEqual(['bank', 'shop', 'zoo']);
  expect(await namespacesOf('shopper')).toEqual(['shop']);
  expect(await namespacesOf('nobody')).toEqual([]);
  const refused = await ask('stranger', '/api/v1/query', { query: '1' });
  expect([refused.status, refused.json.errorType]).toEqual([403, 'forbidden']);
  const unknown = await askApi({ port: query.port, ca: agents.ca.cert }, '/api/v1/query', { query: '1' });
  expect([unknown.status, unknown.headers['www-authenticate']]).toEqual([401, 'Bearer']);
});

test('no path and no query shows another namespace', async () => {
  const all = '{__name__=~".+"}';
  const everything = { 'match[]': all, query: all, time: at, start: String(now / 1000 - 60), end: at, step: '60' };
  const queries = ['query', 'query_range', 'query_exemplars', 'series', 'labels', 'label/only_zoo/values'];
  const paths = [...queries, 'metadata', 'status/tsdb', 'targets'].map((path) => `/api/v1/${path}`);
  for (const path of [...paths, '/federate']) {
    const answer = await ask('shopper', path, everything);
    expect([path, answer.status]).toEqual([path, 200]);
    expect([path, answer.text.match(/zoo|only_bank|svc_agent_up/)]).toEqual([path, null]);
    // An empty answer would pass the check above, so these must have data of the caller's own namespace.
    if (/query(_range)?$|series|labels|federate/.test(path))
      expect([path, answer.text]).toEqual([path, expect.stringContaining('shop')]);
  }
  for (const reach of ['requests_total{k8s_namespace_name="zoo"}', 'requests_total{only_zoo="x"} @ end()']) {
    expect((await ask('shopper', '/api/v1/query', { query: reach, time: at })).json.data).toMatchObject({ result: [] });
  }
  const sum = await ask('shopper', '/api/v1/query', { query: 'sum(ebpf_network_flow_bytes)', time: at });
  expect(sum.json.data).toMatchObject({ result: [{ value: [now / 1000, '20'] }] });
});

test('a new right takes effect within seconds', async () => {
  const binding = ['-n', 'bank', 'create', 'rolebinding', 's', '--clusterrole=view', '--serviceaccount=shop:shopper'];
  await cluster.kubectl(binding);
  await until('both namespaces', async () => (await namespacesOf('shopper')).join() === 'bank,shop');
});

test('a policy limits the queries of users who may read a namespace that it covers, without a restart', async () => {
  const limited = (name: string, spec: object): Promise<string> =>
    apply({ apiVersion: 'svc.dev/v1alpha1', kind: 'ClusterTrafficPolicy', metadata: { name }, spec });
  const flagsOf = async (user: string): Promise<Record<string, string>> =>
    (await ask(user, '/api/v1/status/flags')).json.data as Record<string, string>;
  await expect(limited('wrong', { query: { timeout: '1d' } })).rejects.toThrow('spec.query.timeout');
  await expect(limited('wrong', { query: { maxConcurrency: 0 } })).rejects.toThrow('spec.query.maxConcurrency');
  await limited('all', { query: { timeout: '30s', maxSeries: 1_000 } });
  const selector = { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } };
  await limited('shop', { priority: 1, namespaceSelector: selector, query: { maxSeries: 1, maxConcurrency: 2 } });
  await until('both hold', async () => (await flagsOf('shopper'))['query.max-series'] === '1');
  expect(await flagsOf('shopper')).toMatchObject({ 'query.timeout': '30s', 'query.max-concurrency': '2' });
  expect(await flagsOf('admin')).toMatchObject({ 'query.timeout': '30s', 'query.max-series': '1000' });
  const params = { query: 'requests_total', time: at };
  const refused = await ask('shopper', '/api/v1/query', params);
  expect([refused.status, refused.json.error]).toEqual([422, expect.stringContaining('at most 1 are allowed')]);
  expect((await ask('admin', '/api/v1/query', params)).status).toBe(200);
  await cluster.kubectl(['delete', 'clustertrafficpolicy', 'shop', 'all']);
  await until('none holds', async () => !('query.max-series' in (await flagsOf('shopper'))));
  expect((await ask('shopper', '/api/v1/query', params)).status).toBe(200);
});

test('a new certificate is served over both protocols without a restart, and open connections stay', async () => {
  const session = connectHttp2(`https://localhost:${query.port}`, { ca: agents.ca.cert });
  const overHttp2 = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': '/-/healthy' });
      stream.once('response', (headers) => resolve(Number(headers[':status']))).once('error', reject);
      stream.resume().end();
    });
  const served = (protocol: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', servername: 'localhost', port: query.port, ca: agents.ca.cert };
      const socket = connect({ ...options, ALPNProtocols: [protocol] }, () => {
        resolve(`${socket.alpnProtocol} ${socket.getPeerX509Certificate()!.serialNumber}`);
        socket.end();
      }).once('error', reject);
    });
  expect(await overHttp2()).toBe(200);
  const leaf = await issueLeaf(
    agents.ca,
    { commonName: 'svc-query', dnsNames: ['svc-query', 'localhost'], ipAddresses: ['127.0.0.1'] },
    { now: Date.now() },
  );
  const { serialNumber } = new X509Certificate(leaf.cert);
  writeTls(dir, { ...leaf, ca: agents.ca.cert });
  await until('the new certificate', async () => (await served('h2')) === `h2 ${serialNumber}`);
  expect(await served('http/1.1')).toBe(`http/1.1 ${serialNumber}`);
  expect(await overHttp2()).toBe(200);
  session.close();
  expect(await namespacesOf('admin')).toContain('zoo');
});

test('queries that ran when the process was killed are logged at its next start', async () => {
  agents.agents[0]!.misbehave = () => {};
  const cut = ask('admin', '/api/v1/query', { query: 'sum(rate(requests_total[1h]))' }).then(
    () => 'answered',
    () => 'cut',
  );
  const file = join(dir, 'queries.active');
  await until('the query is in the file', async () => readFileSync(file, 'utf8').includes('sum(rate('));
  await query.kill();
  expect(await cut).toBe('cut');
  agents.agents[0]!.misbehave = undefined;
  query = await start();
  const told = query.log().filter(({ msg }) => msg === 'this query was running when the process ended');
  expect(told).toEqual([
    expect.objectContaining({
      level: 'warn',
      query: 'sum(rate(requests_total[1h]))',
      user: 'system:serviceaccount:shop:admin',
    }),
  ]);
  expect(await namespacesOf('admin')).toContain('zoo');
  // Queries that ended are in the query log, with their user.
  expect(readFileSync(join(dir, 'queries.log'), 'utf8')).toContain('"user":"system:serviceaccount:shop:shopper"');
});
