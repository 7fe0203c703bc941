import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentIdentity } from '../../api/agents/agent-certificate.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { readSettings } from '../../base/settings.ts';
import { CertificateClient } from '../../capture/index.ts';
import { createCa, issueLeaf, signLeaf, type KeyPairPem } from '../../net/ca.ts';
import { readCertificateRequest } from '../../net/certificate-request.ts';
import { TlsClient } from '../../net/tls-client.ts';
import { fixedTls } from '../../net/tls-material.ts';
import { agentSettingTable } from '../settings.ts';
import { type AgentPorts, runAgent } from '../run-agent.ts';

const names = agentIdentity('node-1', 'svc-system', false);
const { signal } = new AbortController();
let dir: string;
let ca: KeyPairPem;
let strict: TlsClient;
let trusting: TlsClient;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'agent-'));
  ca = await createCa({ commonName: 'svc-ca', now: Date.now() });
  mkdirSync(join(dir, 'tls'));
  writeFileSync(join(dir, 'tls/ca.crt'), ca.cert);
  writeFileSync(join(dir, 'tls/token'), 'the-token');
  const leaf = await issueLeaf(ca, { commonName: 'svc-controller', dnsNames: [] }, { now: Date.now() });
  const tls = fixedTls({ ...leaf, ca: ca.cert });
  [strict, trusting] = [new TlsClient(tls), new TlsClient(tls, undefined, { anyServer: true })];
});
afterEach(() => {
  strict.close();
  trusting.close();
  rmSync(dir, { recursive: true });
});

async function start(): Promise<{ ports: AgentPorts; stop: () => Promise<void> }> {
  const ports = ['scrapePort', 'remoteReadPort', 'spanStreamPort', 'captureConfigPort', 'otlpGrpcPort', 'otlpHttpPort'];
  const flags = {
    ...{ nodeName: 'node-1', dataDir: join(dir, 'data'), instrumentConfig: join(dir, 'config.yaml') },
    ...{ tlsDir: join(dir, 'tls'), bindAddress: '127.0.0.1', kernelCheck: 'false' },
    ...Object.fromEntries(ports.map((name) => [name, '0'])),
  };
  const settings = readSettings(agentSettingTable, { flags, env: {}, prefix: 'SVC_' });
  const abort = new AbortController();
  const deps = { logger: silentLogger, clock: systemClock, signal: abort.signal, kube: null };
  const { promise, resolve, reject } = Promise.withResolvers<AgentPorts>();
  const running = runAgent(settings, { ...deps, probe: () => Promise.resolve(null), onReady: resolve });
  running.catch(reject);
  return { ports: await promise, stop: async () => (abort.abort(), running) };
}

const scraped = async (port: number, path: string): Promise<[number, string]> => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return [answer.status, await answer.text()];
};
const status = (port: number) =>
  strict.request({
    ...{ host: '127.0.0.1', port, ...names, method: 'GET', path: '/v1/status', deadlineMs: 5_000, maxBytes: 100_000 },
  });

test('an agent without a certificate is scraped but not ready; with one it answers as its node, also after a restart', async () => {
  const agent = await start();
  const { scrape, captureConfig } = agent.ports;
  expect(await scraped(scrape, '/readyz')).toEqual([503, 'waiting for a certificate from the operator\n']);
  expect((await scraped(scrape, '/metrics'))[1]).toMatch(/^svc_cert_expiry_timestamp_seconds(\{.*\})? 0$/m);
  await expect(status(captureConfig)).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });

  const operator = new CertificateClient(trusting, { host: '127.0.0.1', port: captureConfig, ...names });
  const offer = await operator.offer(signal);
  expect(offer).toMatchObject({ node: 'node-1', token: 'the-token' });
  const leaf = { commonName: 'svc-agent', dnsNames: [names.servername], usage: 'server' as const };
  const key = await readCertificateRequest(offer.request);
  const certificate = await signLeaf(ca, key, leaf, { now: Date.now(), days: 30 });
  await operator.deliver(certificate, signal);
  expect((await scraped(scrape, '/readyz'))[0]).toBe(200);
  expect((await status(captureConfig)).status).toBe(200);
  await expect(operator.deliver(certificate, signal)).rejects.toThrow('agent answered 400');
  await agent.stop();

  // No operator delivers a certificate this time.
  const again = await start();
  expect((await scraped(again.ports.scrape, '/readyz'))[0]).toBe(200);
  expect((await status(again.ports.captureConfig)).status).toBe(200);
  await again.stop();
});

test('a body without a certificate gets 400 with the faulty field, a body that is too large gets 413', async () => {
  const agent = await start();
  const put = async (body: string) => {
    const target = { host: '127.0.0.1', port: agent.ports.captureConfig, servername: names.servername };
    const answer = await trusting.request({
      ...{ ...target, method: 'PUT', path: '/v1/certificate', body, deadlineMs: 5_000, maxBytes: 10_000 },
    });
    return `${answer.status} ${answer.body.toString()}`;
  };
  expect(await put('nonsense')).toMatch(/^400 .*body is not JSON/);
  expect(await put('{}')).toMatch(/^400 .*certificate \/certificate/);
  expect(await put(JSON.stringify({ certificate: 'x' }))).toMatch(/^400 .*no request is pending/);
  expect(await put(JSON.stringify({ certificate: 'x'.repeat(10_000) }))).toMatch(/^400 .*certificate \/certificate/);
  expect(await put(JSON.stringify({ certificate: 'x'.repeat(60_000) }))).toMatch(/^413 /);
  await agent.stop();
});
