import { X509Certificate } from 'node:crypto';
import type { Server } from 'node:https';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentIdentity } from '../../api/agents/agent-certificate.ts';
import type { KubeObject } from '../../api/meta.ts';
import { NodeCertificate } from '../../agent/certificate/node-certificate.ts';
import { certificateRoute } from '../../agent/servers/certificate-server.ts';
import { routed } from '../../agent/servers/routes.ts';
import { createLogger, silentLogger } from '../../base/logger.ts';
import { coreResources, type KubeClient } from '../../kube/index.ts';
import { createCa, issueLeaf, type KeyPairPem } from '../../net/ca.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { TlsClient } from '../../net/tls-client.ts';
import { fixedTls } from '../../net/tls-material.ts';
import { Manager } from '../../runtime/index.ts';
import { names, objectLabels } from '../../render/index.ts';
import { agentTls } from '../../testing/agent-tls.ts';
import { FakeApiServer } from '../../testing/fake-api-server/index.ts';
import { ShiftedClock } from '../../testing/shifted-clock.ts';
import { until } from '../../testing/until.ts';
import { setupAgentCertificates, type AgentCertificateSettings } from './setup.ts';
import { WaitingAgents } from './waiting.ts';

const namespace = 'svc-system';
const day = 86_400_000;
const { pods, secrets } = coreResources;

/** The part of an agent that handles its certificate, over real TLS. Its token is the name of its pod's node. */
interface Agent {
  readonly node: string;
  readonly host: string;
  readonly certificate: NodeCertificate;
}

let dir: string;
let ca: KeyPairPem;
let api: FakeApiServer;
let client: KubeClient;
let clock: ShiftedClock;
let manager: Manager;
let port: number;
let issuedFor: string[];
let reviews: string[];
const servers: Server[] = [];
const stop = new AbortController();
let ended: Promise<void>;
let leads: AbortController;
let waiting: WaitingAgents;
let lines: string[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'agents-'));
  [clock, port, issuedFor, reviews, lines, leads] = [new ShiftedClock(), 0, [], [], [], new AbortController()];
  ca = await createCa({ commonName: names.ca, now: Date.now() });
  api = await FakeApiServer.start();
  const leaf = await issueLeaf(ca, { commonName: names.controller, dnsNames: [] }, { now: Date.now() });
  putSecret(names.controllerTls, { 'tls.crt': leaf.cert, 'tls.key': leaf.key, 'ca.crt': ca.cert });
  putSecret(names.ca, { 'ca.crt': ca.cert, 'ca.key': ca.key });
});
afterEach(async () => {
  leads.abort();
  await ended;
  await client.close();
  await Promise.all(servers.splice(0).map((server) => closeServer(server, 0)));
  await api.stop();
  rmSync(dir, { recursive: true });
});
afterAll(() => stop.abort());

function putSecret(name: string, data: Record<string, string>): void {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  const metadata = { namespace, name, labels: objectLabels('controller') };
  api.put(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, data: Object.fromEntries(encoded) } as KubeObject);
}

function putPod(node: string, host: string, volumes: object[] = []): void {
  const metadata = { namespace, name: `svc-agent-${node}`, labels: objectLabels('agent') };
  const spec = { nodeName: node, containers: [{ name: 'agent' }], volumes };
  api.put(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec } as KubeObject);
  api.putStatus(pods, namespace, metadata.name, { phase: 'Running', podIP: host });
}

async function startAgent(node: string, host: string, token = node): Promise<Agent> {
  const own = join(dir, `${node}-${host}`);
  mkdirSync(join(own, 'tls'), { recursive: true });
  writeFileSync(join(own, 'tls/ca.crt'), ca.cert);
  writeFileSync(join(own, 'tls/token'), token);
  const certificate = await NodeCertificate.open({
    ...{ dir: join(own, 'tls'), dataDir: join(own, 'data'), node, clock, logger: silentLogger, signal: stop.signal },
    pollMs: 50,
  });
  const handler = routed([certificateRoute(certificate, silentLogger)]);
  const server = createTlsServer(certificate, handler, { clientNames: [names.controller] });
  servers.push(server);
  port = await listen('capture-config', server, { host, port });
  return { node, host, certificate };
}

/**
 * Starts the controller as leader. A token is valid while the API server has the agent's pod of that node, unless the
 * server itself is to review it. `timeoutMs` is the time limit of a reconcile.
 */
function lead({ timeoutMs, reviewsByServer = false }: { timeoutMs?: number; reviewsByServer?: boolean } = {}): void {
  client = api.client(clock);
  const logger = createLogger({ write: (line) => void lines.push(line) });
  manager = new Manager({ client, clock, logger, component: 'svc-controller', instance: 'test' });
  waiting = new WaitingAgents();
  const add = manager.addController.bind(manager);
  if (timeoutMs) manager.addController = (spec) => add({ ...spec, timeoutMs });
  const review: AgentCertificateSettings['review'] = (token) => {
    reviews.push(token);
    const pod = api.storage.find(pods, namespace, `svc-agent-${token}`);
    if (!pod) return Promise.resolve(undefined);
    const extra = {
      'authentication.kubernetes.io/pod-name': [pod.metadata.name!],
      'authentication.kubernetes.io/pod-uid': [pod.metadata.uid!],
      'authentication.kubernetes.io/node-name': [token],
    };
    return Promise.resolve({ username: `system:serviceaccount:${namespace}:svc-agent`, extra });
  };
  setupAgentCertificates(manager, {
    namespace,
    waiting,
    agentPort: port,
    onIssued: (node) => issuedFor.push(node),
    ...(reviewsByServer ? {} : { review }),
  });
  ended = manager.run(leads.signal);
}

async function changeLeader(laterMs: number): Promise<void> {
  leads.abort();
  await ended;
  await client.close();
  clock.shift(laterMs);
  leads = new AbortController();
  lead();
}

const metric = async (line: string): Promise<string | undefined> =>
  new RegExp(`^svc_controller_agent_certificates${line} (\\S+)$`, 'm').exec(await manager.metricsText())?.[1];
const serial = ({ certificate }: Agent): string => new X509Certificate(certificate.current.cert).serialNumber;

test('each agent gets a certificate of its own node over TLS, and clients reach it only as that node', async () => {
  const agents: Agent[] = [];
  for (const [i, node] of ['node-1', 'node-2', 'node-3'].entries()) {
    agents.push(await startAgent(node, `127.0.0.${i + 1}`));
  }
  for (const { node, host } of agents) putPod(node, host);
  lead();
  await until('a certificate for each', () => issuedFor.length === 3);
  expect(new Set(agents.map(serial)).size).toBe(3);
  expect(new Set(agents.map(({ certificate }) => certificate.current.key)).size).toBe(3);
  expect(issuedFor.toSorted()).toEqual(['node-1', 'node-2', 'node-3']);
  const leaf = await issueLeaf(ca, { commonName: names.controller, dnsNames: [] }, { now: Date.now() });
  const caller = new TlsClient(fixedTls({ ...leaf, ca: ca.cert }));
  const ask = ({ host }: Agent, node: string) =>
    caller.request({
      ...{ host, port, method: 'GET', path: '/x', deadlineMs: 5_000, maxBytes: 100 },
      ...agentIdentity(node, namespace, false),
    });
  for (const agent of agents) {
    for (const { node } of agents) {
      if (node === agent.node) expect((await ask(agent, node)).status).toBe(404);
      else await expect(ask(agent, node)).rejects.toMatchObject({ code: 'ERR_PEER_IDENTITY' });
    }
  }
  caller.close();
  expect(await metric('\\{certificate="own"\\}')).toBe('3');
  expect(await metric('_issued_total')).toBe('3');
});

test('a process at the address of another node’s agent gets no certificate, and an Event says so', async () => {
  const right = await startAgent('node-1', '127.0.0.1');
  // The key and token of node-2, at the address of node-1, under the name of node-1.
  const thief = await startAgent('node-1', '127.0.0.2', 'node-2');
  putPod('node-2', '127.0.0.3');
  putPod('node-1', thief.host);
  lead();
  await until('the refusal', async () => Number(await metric('_refused_total\\{reason="OtherPod"\\}')) > 0);
  expect(thief.certificate.isIssued).toBe(false);
  await until('the Event', () =>
    api.storage.list(coreResources.events).some((e) => e['reason'] === 'CertificateRefused'),
  );
  putPod('node-1', right.host);
  await until('the certificate of the right one', () => right.certificate.isIssued);
  expect(thief.certificate.isIssued).toBe(false);
});

test('an agent without a certificate for a minute is listed with the reason until it has one', async () => {
  await startAgent('node-0', '127.0.0.9');
  putPod('node-1', '127.0.0.1');
  lead();
  await until('the agent that waits', () => clock.shift(2_000) === undefined && waiting.summary !== '');
  expect(waiting.summary).toBe(`node-1 (pod svc-agent-node-1): it does not answer on port ${port}`);
  const missing = () => api.storage.list(coreResources.events).filter((e) => e['reason'] === 'CertificateMissing');
  await until('the Event', () => missing().length > 0);
  const agent = await startAgent('node-1', '127.0.0.1');
  await until('the certificate', () => agent.certificate.isIssued && waiting.summary === '');
});

test('a ready agent that does not answer a new leader counts as certified, not as one that waits', async () => {
  await startAgent('node-0', '127.0.0.9');
  putPod('node-1', '127.0.0.1');
  const containerStatuses = [{ name: 'agent', ready: true }];
  api.putStatus(pods, namespace, 'svc-agent-node-1', { phase: 'Running', podIP: '127.0.0.1', containerStatuses });
  putPod('node-2', '127.0.0.2');
  lead();
  await until('the other agent', () => clock.shift(2_000) === undefined && waiting.summary !== '');
  expect(waiting.summary).toMatch(/^node-2 .*[0-9]$/);
});

test('an agent whose token the API server does not accept gets no certificate', async () => {
  const agent = await startAgent('node-1', '127.0.0.1', 'stale');
  putPod('node-1', agent.host);
  lead();
  await until('the refusal', async () => Number(await metric('_refused_total\\{reason="TokenInvalid"\\}')) > 0);
  expect(agent.certificate.isIssued).toBe(false);
});

test('a refused offer is a failure that was foreseen, not a bug of the operator', async () => {
  const agent = await startAgent('node-1', '127.0.0.1', 'stale');
  putPod('node-1', agent.host);
  lead();
  const failure = () => lines.find((line) => line.includes('reconcile failed'));
  await until('the line of the failed reconcile', failure);
  expect(JSON.parse(failure()!)).toMatchObject({ level: 'warn', code: 'ERR_INPUT_INVALID' });
  expect(failure()).not.toContain('"stack"');
  expect(await manager.metricsText()).toContain(
    'controller_runtime_reconcile_panics_total{controller="agent-certificates"} 0',
  );
});

test('an agent whose token the API server does not review in time is listed as waiting', async () => {
  const agent = await startAgent('node-1', '127.0.0.1');
  putPod('node-1', agent.host);
  const asked = { verb: 'create', plural: 'tokenreviews' } as const;
  api.script(asked, { do: 'hold', until: new Promise(() => {}) }, Infinity);
  lead({ timeoutMs: 500, reviewsByServer: true });
  await until('the review', () => api.seen(asked).length > 0);
  const waits = () => clock.shift(2_000) === undefined && /create TokenReview.*took longer/.test(waiting.summary);
  await until('the agent that waits', waits);
});

test('an agent that does not answer yet is asked again until it does', async () => {
  await startAgent('node-0', '127.0.0.9');
  putPod('node-1', '127.0.0.1');
  lead();
  const tries =
    /controller_runtime_reconcile_total\{controller="agent-certificates",result="(requeue_after|error)"\} [1-9]/;
  await until('a first try', async () => tries.test(await manager.metricsText()));
  const agent = await startAgent('node-1', '127.0.0.1');
  await until('the certificate', () => agent.certificate.isIssued);
});

test('a certificate in use is kept without a token review, and renewed in time with a new key', async () => {
  const agent = await startAgent('node-1', '127.0.0.1');
  putPod('node-1', agent.host);
  lead();
  await until('the first', () => agent.certificate.isIssued);
  const [first, key] = [serial(agent), agent.certificate.current.key];
  // A new leader looks at every agent.
  await changeLeader(16 * day);
  await until('the look', async () => (await metric('\\{certificate="own"\\}')) === '1');
  expect(serial(agent)).toBe(first);
  expect(reviews).toHaveLength(1);
  await changeLeader(4 * day + day / 10);
  await until('the renewal', () => serial(agent) !== first);
  expect(agent.certificate.current.key).not.toBe(key);
  expect(reviews).toHaveLength(2);
});

test('an agent that lost its certificate gets another one after its restart', async () => {
  const agent = await startAgent('node-1', '127.0.0.1');
  putPod('node-1', agent.host);
  lead();
  await until('the first', () => issuedFor.length === 1);
  await closeServer(servers.pop()!, 0);
  rmSync(join(dir, 'node-1-127.0.0.1'), { recursive: true });
  const again = await startAgent('node-1', '127.0.0.1');
  const restarted = [{ name: 'agent', restartCount: 1 }];
  const status = { phase: 'Running', podIP: agent.host, containerStatuses: restarted };
  api.putStatus(pods, namespace, 'svc-agent-node-1', status);
  await until('another', () => again.certificate.isIssued);
});

test('every agent gets another certificate when another authority signs', async () => {
  const agents = [await startAgent('node-1', '127.0.0.1'), await startAgent('node-2', '127.0.0.2')];
  for (const { node, host } of agents) putPod(node, host);
  lead();
  await until('the first', () => agents.every(({ certificate }) => certificate.isIssued));
  const next = await createCa({ commonName: names.ca, now: Date.now() });
  for (const { node, host } of agents) writeFileSync(join(dir, `${node}-${host}/tls/ca.crt`), next.cert + ca.cert);
  await until('trust in the next authority', () =>
    agents.every(({ certificate }) => certificate.current.ca.startsWith(next.cert)),
  );
  putSecret(names.ca, { 'ca.crt': next.cert, 'ca.key': next.key, 'previous.crt': ca.cert });
  const { publicKey } = new X509Certificate(next.cert);
  await until('one of the next authority for each', () => issuedFor.length === 4);
  for (const { certificate } of agents)
    expect(new X509Certificate(certificate.current.cert).verify(publicKey)).toBe(true);
});

test('pods with a certificate from a Secret that all agents share are counted and left alone', async () => {
  const agent = await startAgent('node-1', '127.0.0.1');
  putPod('node-1', agent.host, [{ name: 'tls', secret: { secretName: 'svc-agent-tls' } }]);
  const own = await startAgent('node-2', '127.0.0.2');
  putPod('node-2', own.host);
  lead();
  await until('the certificate of the other', () => own.certificate.isIssued);
  await until('idleness', () => manager.idle);
  expect(agent.certificate.isIssued).toBe(false);
  expect(await metric('\\{certificate="shared"\\}')).toBe('1');
  expect(await metric('\\{certificate="own"\\}')).toBe('1');
});

test('an agent shows its certificate request neither to a query server nor to another agent', async () => {
  const agent = await startAgent('node-1', '127.0.0.1');
  lead();
  const leaf = await issueLeaf(ca, { commonName: names.query, dnsNames: [] }, { now: Date.now() });
  const other = new TlsClient(fixedTls({ ...leaf, ca: ca.cert }), undefined, { anyServer: true });
  const answer = await other.request({
    ...{ host: agent.host, port, servername: 'x', method: 'GET', path: '/v1/certificate' },
    ...{ deadlineMs: 5_000, maxBytes: 10_000 },
  });
  expect(answer.status).toBe(403);
  expect(answer.body.toString()).not.toContain('REQUEST');
  other.close();
  const neighbour = new TlsClient(fixedTls(await agentTls(ca, 'node-2')), undefined, { anyServer: true });
  const asked = neighbour.request({
    ...{ host: agent.host, port, servername: 'x', method: 'GET', path: '/v1/certificate' },
    ...{ deadlineMs: 5_000, maxBytes: 10_000 },
  });
  await expect(asked).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
  neighbour.close();
});

test('many waiting agents are summarised in one line, and listeners hear only of changes to that line', () => {
  const agents = new WaitingAgents();
  const seen: string[] = [];
  agents.onChange(() => seen.push(agents.summary));
  const note = (n: number, why = 'away'): boolean => agents.note({ pod: `p${n}`, node: `n${n}`, why });
  expect([1, 2, 3, 4, 5, 6, 7].map((n) => note(n))).not.toContain(false);
  expect([note(7), note(7, 'refused'), seen.length]).toEqual([false, true, 7]);
  expect(agents.summary).toMatch(/^n1 \(pod p1\): away; .*n5 \(pod p5\): away; and 2 more$/);
  for (const n of [1, 2, 3, 4, 5, 6, 7]) agents.forget(`p${n}`);
  expect(agents.summary).toBe('');
});
