import { connect } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import { Agent, request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { createApiServer } from './https-server.ts';
import { createCa, issueLeaf, type KeyPairPem } from './ca.ts';
import { closeServer, listen } from './listen.ts';
import type { TlsMaterial } from './tls-material.ts';
import { RotatingTls } from '../testing/rotating-tls.ts';

const now = Date.now();
const identity = async (ca: KeyPairPem): Promise<TlsMaterial> => {
  const leaf = await issueLeaf(ca, { commonName: 'svc-query', dnsNames: ['localhost'] }, { now });
  return { cert: leaf.cert, key: leaf.key, ca: ca.cert };
};

let before: KeyPairPem;
let after: KeyPairPem;
let tls: RotatingTls;
let server: ReturnType<typeof createApiServer>;
let port: number;
/** Answers the slow request. */
let release: () => void;
let begun: () => void;
const slowBegins = (): Promise<void> => new Promise((resolve) => (begun = resolve));

beforeEach(async () => {
  [before, after] = await Promise.all([
    createCa({ commonName: 'svc-ca', now }),
    createCa({ commonName: 'svc-ca-2', now }),
  ]);
  tls = new RotatingTls(await identity(before));
  server = createApiServer(tls, (req, res) => {
    const answer = (): void => void res.end(`${req.httpVersion} ${req.url}`);
    if (req.url !== '/slow') return answer();
    release = answer;
    begun();
  });
  port = await listen('test', server, { host: '127.0.0.1', port: 0 });
});
afterEach(() => closeServer(server, 0));

function http1(path: string, ca: string, agent?: Agent): Promise<{ text: string; issuer: string }> {
  return new Promise((resolve, reject) => {
    const target = { host: '127.0.0.1', servername: 'localhost', port, path, ca };
    const req = request({ ...target, agent: agent ?? false }, (res) => {
      const { issuer } = (res.socket as TLSSocket).getPeerCertificate();
      let text = '';
      res.setEncoding('utf8').on('data', (part: string) => (text += part));
      res.on('end', () => resolve({ text, issuer: String(issuer.CN) }));
    });
    req.on('error', reject).end();
  });
}

const session = (ca: string): Promise<ClientHttp2Session> =>
  new Promise((resolve, reject) => {
    const made = connect(`https://localhost:${port}`, { ca, host: '127.0.0.1' } as object);
    made.on('connect', () => resolve(made)).on('error', reject);
  });

function http2(client: ClientHttp2Session, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const stream = client.request({ ':path': path });
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
    stream.on('end', () => resolve(text)).on('error', reject);
  });
}

test('new HTTP/1.1 and HTTP/2 connections get the new certificate, and open connections continue', async () => {
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const open = await session(before.cert);
  expect(await http1('/a', before.cert, kept)).toEqual({ text: '1.1 /a', issuer: 'svc-ca' });
  expect(await http2(open, '/a')).toBe('2.0 /a');

  tls.rotate(await identity(after));

  expect(await http1('/b', after.cert)).toEqual({ text: '1.1 /b', issuer: 'svc-ca-2' });
  const fresh = await session(after.cert);
  expect(await http2(fresh, '/b')).toBe('2.0 /b');
  // The old connections were made with the old certificate, and still work.
  expect(await http1('/c', before.cert, kept)).toEqual({ text: '1.1 /c', issuer: 'svc-ca' });
  expect(await http2(open, '/c')).toBe('2.0 /c');
  await expect(http1('/d', before.cert)).rejects.toThrow(/certificate/);
  kept.destroy();
  open.close();
  fresh.close();
});

test('a request under way while the certificate changes is answered', async () => {
  const open = await session(before.cert);
  let begins = slowBegins();
  const one = http1('/slow', before.cert);
  await begins;
  const releaseFirst = release;
  begins = slowBegins();
  const two = http2(open, '/slow');
  await begins;
  tls.rotate(await identity(after));
  releaseFirst();
  release();
  expect([(await one).text, await two]).toEqual(['1.1 /slow', '2.0 /slow']);
  open.close();
});

test('no part of an answer waits for an acknowledgement (TCP_NODELAY)', () => {
  // Only the option of Node's listener can be checked: on a connection, only the timing would show it.
  expect(server).toMatchObject({ noDelay: true });
});
