import { once } from 'node:events';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { connect as connectTcp, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../base/clock.ts';
import { OperatorError } from '../../../base/errors.ts';
import { ApiError, type RestClient } from '../../../kube/index.ts';
import { createCa, issueLeaf } from '../../../net/ca.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import type { CommonFlags } from '../flags.ts';
import { connectQueryServer } from './connect.ts';
import type { QueryServer } from './query-server.ts';

/** A server with a certificate for the names of svc-query, and a cluster that publishes its authority. */
let server: Server;
let port: number;
let ca: string;
let asked: IncomingMessage[];
let answer: (req: IncomingMessage, res: ServerResponse) => void;
let opened: QueryServer[];

const pod = (name: string, ready: boolean): object => ({
  metadata: { name },
  status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});
const cluster = (parts: Partial<Record<keyof RestClient, unknown>> = {}): RestClient =>
  ({
    list: async () => ({ items: [pod('svc-query-0', false), pod('svc-query-1', true), pod('svc-query-2', true)] }),
    get: async () => ({ data: { 'ca.crt': ca } }),
    portForward: async () => connectTcp(port, '127.0.0.1'),
    bearerToken: async () => 'token-of-the-kubeconfig',
    ...parts,
  }) as unknown as RestClient;
const forbidden = (): Promise<never> =>
  Promise.reject(new ApiError('ERR_API_FORBIDDEN', 'list pods: 403 no', { status: 403, reason: 'Forbidden' }));

async function open(flags: Partial<CommonFlags>, kube = cluster(), clock = systemClock): Promise<QueryServer> {
  const all: CommonFlags = {
    allNamespaces: false,
    operatorNamespace: 'svc-system',
    insecureSkipTlsVerify: false,
    ...flags,
  };
  const signal = new AbortController().signal;
  const connected = await connectQueryServer(all, { kube: async () => kube, clock, signal });
  opened.push(connected);
  return connected;
}
const direct = (): { server: string } => ({ server: `https://127.0.0.1:${port}` });

beforeAll(async () => {
  const authority = await createCa({ commonName: 'test', now: Date.now(), days: 1 });
  ca = authority.cert;
  const names = { commonName: 'q', dnsNames: ['svc-query.svc-system.svc'], ipAddresses: ['127.0.0.1'] };
  const { cert, key } = await issueLeaf(authority, names, { now: Date.now(), days: 1 });
  server = createServer({ cert, key }, (req, res) => {
    asked.push(req);
    answer(req, res);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
  opened = [];
  answer = (_req, res) => void res.end('fine');
});
afterEach(() => {
  for (const one of opened) one.close();
  server.closeAllConnections();
});

test('by default a ready pod is reached through the API server: certificate checked, no token sent', async () => {
  const connected = await open({});
  expect((await connected.request({ path: '/x' })).text).toBe('fine');
  expect(connected.target).toBe('pod svc-system/svc-query-1');
  expect(asked[0]!.headers).toMatchObject({ host: 'svc-query.svc-system.svc' });
  expect(asked[0]!.headers.authorization).toBeUndefined();
  const other = (await createCa({ commonName: 'other', now: Date.now(), days: 1 })).cert;
  const misled = await open({}, cluster({ get: async () => ({ data: { 'ca.crt': other } }) }));
  await expect(misled.request({ path: '/x' })).rejects.toThrow('not trusted here');
  expect(asked).toHaveLength(1);
});

test('when a listed pod is deleted before the connection, the next pod is used', async () => {
  const tried: string[] = [];
  const kube = cluster({
    portForward: async ({ name }: { name: string }) => {
      tried.push(name);
      if (tried.length === 1) throw new OperatorError('ERR_API_NOT_FOUND', 'gone');
      return connectTcp(port, '127.0.0.1');
    },
  });
  expect((await (await open({}, kube)).request({ path: '/x' })).status).toBe(200);
  expect(tried).toEqual(['svc-query-1', 'svc-query-2']);
});

test.each([
  ['no pod', { list: async () => ({ items: [] }) }, /is the operator installed\?/, 'kubectl get pods -n svc-system'],
  ['none ready', { list: async () => ({ items: [pod('a', false)] }) }, /none of the 1 pods/, 'kubectl svc status'],
  ['pods may not be listed', { list: forbidden }, /403/, 'needed: the right to list pods in namespace svc-system'],
])('%s: the error has a hint', async (_, parts, message, hint) => {
  const failed = open({}, cluster(parts));
  await expect(failed).rejects.toThrow(message);
  await expect(failed).rejects.toMatchObject({ hints: expect.arrayContaining([hint]) });
});

test('the error of a forbidden port-forward names the missing right', async () => {
  const connected = await open({}, cluster({ portForward: forbidden }));
  await expect(connected.request({ path: '/x' })).rejects.toMatchObject({
    code: 'ERR_API_FORBIDDEN',
    hints: expect.arrayContaining([expect.stringContaining('get and create pods/portforward')]),
  });
});

test('without the right to read the CA, a port-forward is trusted, but the address of --server is not', async () => {
  const kube = cluster({ get: forbidden });
  expect((await (await open({}, kube)).request({ path: '/x' })).text).toBe('fine');
  await expect((await open(direct(), kube)).request({ path: '/x' })).rejects.toMatchObject({
    message: expect.stringContaining('not trusted here'),
    hints: expect.arrayContaining([expect.stringContaining('--certificate-authority')]),
  });
});

test('where the operator runs in another namespace, the command that saves its CA looks there', async () => {
  const connected = await open({ ...direct(), operatorNamespace: 'monitoring' }, cluster({ get: forbidden }));
  const hints = expect.arrayContaining([expect.stringMatching(/^kubectl -n monitoring get configmap svc-ca-bundle /)]);
  await expect(connected.request({ path: '/x' })).rejects.toMatchObject({ hints });
});

test('the address of --server gets the token of the flag, else of the kubeconfig; unverified, none', async () => {
  await (await open({ ...direct(), token: 'mine' })).request({ path: '/x' });
  await (await open(direct())).request({ path: '/x' });
  await (await open({ ...direct(), insecureSkipTlsVerify: true })).request({ path: '/x' });
  const tokens = asked.map(({ headers }) => headers.authorization);
  expect(tokens).toEqual(['Bearer mine', 'Bearer token-of-the-kubeconfig', undefined]);
});

test('a refused token of the kubeconfig is read again, and the call is repeated once with another one', async () => {
  let given = 'old';
  const kube = cluster({ bearerToken: async () => given, tokenRefused: () => void (given = 'new') });
  answer = ({ headers }, res) => void res.writeHead(headers.authorization === 'Bearer new' ? 200 : 401).end('no');
  const connected = await open(direct(), kube);
  expect((await connected.request({ path: '/x', body: 'all' })).status).toBe(200);
  await connected.request({ path: '/x' });
  expect(asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new', 'Bearer new']);
  given = 'old';
  expect((await (await open(direct(), kube)).stream({ path: '/x' })).status).toBe(200);
  answer = (_req, res) => void res.writeHead(401).end('no');
  given = 'old';
  asked = [];
  // The second refusal is the error, and the same token again is not shown twice.
  await expect((await open(direct(), kube)).stream({ path: '/x' })).rejects.toMatchObject({ status: 401 });
  await expect((await open(direct(), kube)).stream({ path: '/x' })).rejects.toMatchObject({ status: 401 });
  expect(asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new', 'Bearer new']);
});

test('a refused token of the flag is not replaced by that of the kubeconfig', async () => {
  answer = (_req, res) => void res.writeHead(401).end('no');
  const connected = await open({ ...direct(), token: 'mine' }, cluster({ tokenRefused: () => {} }));
  await expect(connected.request({ path: '/x' })).rejects.toMatchObject({ status: 401 });
  expect(asked).toHaveLength(1);
});

test('the CA can come from a file, and a file that cannot be read is an error', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-connect-'));
  writeFileSync(join(dir, 'ca.crt'), ca);
  const withFile = await open({ ...direct(), certificateAuthority: join(dir, 'ca.crt') }, cluster({ get: forbidden }));
  expect((await withFile.request({ path: '/x' })).status).toBe(200);
  await expect(open({ ...direct(), certificateAuthority: join(dir, 'none') })).rejects.toThrow('ENOENT');
  rmSync(dir, { recursive: true });
});

test('--server with a password is wrong usage, and the password is not repeated', async () => {
  const opened = open({ server: 'https://anna:s3cret@svc-query.example' });
  await expect(opened).rejects.toThrow(/^--server must not hold a user or a password$/);
});

test.each([
  ['http://127.0.0.1', 'an address such as'],
  ['svc-query', 'an address such as'],
])('--server %s is wrong usage', async (address, message) => {
  await expect(open({ server: address })).rejects.toThrow(message);
});

test.each([
  ['https://127.0.0.1:1', 'nothing listens there'],
  ['https://nowhere.invalid', 'no such host'],
])('a request to --server %s fails with "%s"', async (address, message) => {
  await expect((await open({ server: address })).request({ path: '/' })).rejects.toThrow(message);
});

test('a name that the certificate does not have is an error with a hint at --tls-server-name', async () => {
  const connected = await open({ ...direct(), tlsServerName: 'other.example' });
  await expect(connected.request({ path: '/' })).rejects.toMatchObject({
    hints: [expect.stringContaining('--tls-server-name')],
  });
});

test('an answer that does not come, or is too large, ends the call', async () => {
  const clock = new FakeClock();
  const connected = await open(direct(), cluster(), clock);
  answer = () => void clock.advance(5_000);
  await expect(connected.request({ path: '/', deadlineMs: 5_000 })).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
  answer = (_req, res) => void res.end('x'.repeat(3_000_000));
  await expect(connected.request({ path: '/', maxBytes: 2 ** 20 })).rejects.toThrow('larger than 1 MiB');
});

test('a stream is handed out as it comes, until the signal ends it; a refusal is an error', async () => {
  const abort = new AbortController();
  answer = (_req, res) => void res.write('first\n');
  const connected = await open(direct());
  const { body } = await connected.stream({ path: '/', signal: abort.signal });
  const seen: string[] = [];
  for await (const chunk of body) {
    seen.push(chunk.toString());
    abort.abort();
  }
  expect(seen).toEqual(['first\n']);
  answer = (_req, res) => void res.writeHead(403).end('{"error":"user x may not"}');
  await expect(connected.stream({ path: '/' })).rejects.toMatchObject({
    message: expect.stringContaining('403 user x may not'),
    hints: [expect.stringContaining('svc-promql-reader')],
  });
});

test('a stream ends if its signal aborts before the first byte is read', async () => {
  answer = (_req, res) => void res.write('first');
  const stop = new AbortController();
  const { body } = await (await open(direct())).stream({ path: '/x', signal: stop.signal });
  stop.abort();
  const read: Buffer[] = [];
  for await (const chunk of body) read.push(chunk);
  expect(read).toEqual([]);
});
