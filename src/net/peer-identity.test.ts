import type { Server } from 'node:https';
import { agentIdentity, agentServerName, hasSharedCertificate } from '../api/agents/agent-certificate.ts';
import { agentTls } from '../testing/agent-tls.ts';
import { createCa, issueLeaf, type KeyPairPem } from './ca.ts';
import { createTlsServer } from './https-server.ts';
import { closeServer, listen } from './listen.ts';
import { TlsClient } from './tls-client.ts';
import { fixedTls, type TlsMaterial } from './tls-material.ts';

const namespace = 'svc-system';
let ca: KeyPairPem;
let server: Server;
let client: TlsClient;
let served = 0;

beforeAll(async () => {
  ca = await createCa({ commonName: 'svc-ca', now: Date.now() });
  const leaf = await issueLeaf(ca, { commonName: 'svc-query', dnsNames: [] }, { now: Date.now() });
  client = new TlsClient(fixedTls({ ...leaf, ca: ca.cert }));
});
afterEach(async () => {
  client.close();
  await closeServer(server, 0);
});

/** Starts an agent that shows this certificate. Returns its port. */
async function agent(material: TlsMaterial, clientNames = ['svc-query']): Promise<number> {
  served = 0;
  server = createTlsServer(fixedTls(material), (_req, res) => (served++, res.end('data')), { clientNames });
  return listen('test', server, { host: '127.0.0.1', port: 0 });
}

const ask = (port: number, node: string, isShared = false, as = client) =>
  as.request({
    ...{ host: '127.0.0.1', port, method: 'GET', path: '/', deadlineMs: 5_000, maxBytes: 100 },
    ...agentIdentity(node, namespace, isShared),
  });

/** The certificate that all agents of earlier versions have. */
async function sharedTls(): Promise<TlsMaterial> {
  const dnsNames = ['svc-agent', 'svc-agent.svc-system', 'svc-agent.svc-system.svc'];
  return { ...(await issueLeaf(ca, { commonName: 'svc-agent', dnsNames }, { now: Date.now() })), ca: ca.cert };
}

test('an agent with the certificate of the requested node is read', async () => {
  const port = await agent(await agentTls(ca, 'node-a'));
  expect((await ask(port, 'node-a')).body.toString()).toBe('data');
});

test.each([
  ['node-b', false],
  ['node-b', true],
  ['a', false],
  ['node-a.svc-agent', true],
])(
  'a request for node %s refuses the certificate of node-a (shared certificate allowed: %s) and sends nothing',
  async (node, isShared) => {
    const port = await agent(await agentTls(ca, 'node-a'));
    await expect(ask(port, node, isShared)).rejects.toMatchObject({
      code: 'ERR_PEER_IDENTITY',
      message: expect.stringContaining(
        `the certificate is of ${agentServerName('node-a', namespace)}, not of ${agentServerName(node, namespace)}`,
      ) as string,
    });
    expect(served).toBe(0);
  },
);

test('neither a kept connection nor a resumed session serves a request for another node', async () => {
  const port = await agent(await agentTls(ca, 'node-a'));
  await ask(port, 'node-a');
  await ask(port, 'node-a');
  await expect(ask(port, 'node-b')).rejects.toMatchObject({ code: 'ERR_PEER_IDENTITY' });
  expect(served).toBe(2);
});

test('the shared certificate is accepted only for a pod that has it', async () => {
  const port = await agent(await sharedTls());
  await expect(ask(port, 'node-a')).rejects.toMatchObject({ code: 'ERR_PEER_IDENTITY' });
  expect((await ask(port, 'node-a', true)).status).toBe(200);
  // The pod at this address was replaced: the connection to the old pod is not used.
  await expect(ask(port, 'node-a')).rejects.toMatchObject({ code: 'ERR_PEER_IDENTITY' });
});

test('a standard client that does not know nodes can use the name of the Service', async () => {
  const port = await agent(await agentTls(ca, 'node-a'));
  const target = { host: '127.0.0.1', port, method: 'GET', path: '/', deadlineMs: 5_000, maxBytes: 100 };
  expect((await client.request({ ...target, servername: 'svc-agent.svc-system.svc' })).status).toBe(200);
});

test('the certificate of a node is not accepted as a client certificate by other nodes', async () => {
  const port = await agent(await agentTls(ca, 'node-b'), ['svc-query', 'svc-agent']);
  const thief = new TlsClient(fixedTls(await agentTls(ca, 'node-a')));
  await expect(ask(port, 'node-b', false, thief)).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
  expect(served).toBe(0);
  thief.close();
});

test('a node name that makes the server name too long is replaced by its digest', async () => {
  const long = `${'a'.repeat(120)}.${'b'.repeat(120)}`;
  expect(agentServerName(long, namespace)).toMatch(/^sha256-[0-9a-f]{40}\.svc-agent\.svc-system\.svc$/);
  const port = await agent(await agentTls(ca, long));
  expect((await ask(port, long)).status).toBe(200);
  await expect(ask(port, `${long}c`)).rejects.toMatchObject({ code: 'ERR_PEER_IDENTITY' });
});

test('a pod has the shared certificate if and only if it mounts the Secret of that certificate', () => {
  const volume = (secretName: string) => ({ volumes: [{}, { secret: { secretName } }] });
  expect(hasSharedCertificate(volume('svc-agent-tls'))).toBe(true);
  expect([undefined, {}, volume('other')].some((spec) => hasSharedCertificate(spec))).toBe(false);
});
