import { X509Certificate } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../base/logger.ts';
import { caBundle } from '../../net/ca-rotation.ts';
import { createCa, issueLeaf, signLeaf, type KeyPairPem } from '../../net/ca.ts';
import { readCertificateRequest } from '../../net/certificate-request.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { NodeCertificate } from './node-certificate.ts';

const clock = new FakeClock();
const names = { commonName: 'svc-agent', dnsNames: ['node-1.svc-agent.svc-system.svc'], usage: 'server' as const };
let dir: string;
let ca: KeyPairPem;
let log: string;
let stop: AbortController;

beforeAll(async () => {
  ca = await createCa({ commonName: 'svc-ca', now: clock.now() });
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'certificate-'));
  mkdirSync(join(dir, 'tls'));
  writeFileSync(join(dir, 'tls/ca.crt'), ca.cert);
  writeFileSync(join(dir, 'tls/token'), 'the-token\n');
  log = '';
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  chmodSync(join(dir), 0o700);
  rmSync(dir, { recursive: true });
});

const open = () =>
  NodeCertificate.open({
    ...{ dir: join(dir, 'tls'), dataDir: join(dir, 'data'), node: 'node-1', clock, signal: stop.signal },
    ...{ logger: createLogger({ write: (line) => void (log += line) }), pollMs: 1_000 },
  });
const kept = (): string => join(dir, 'data/certificate.pem');

/** Signs the certificate request of an offer, as the operator does. */
async function certified(certificate: NodeCertificate, authority = ca): Promise<string> {
  const { request } = await certificate.offer();
  return signLeaf(authority, await readCertificateRequest(request), names, { now: clock.now(), days: 30 });
}

test('before its first certificate an agent serves an untrusted one, and offers its request and token', async () => {
  const certificate = await open();
  expect(certificate.isIssued).toBe(false);
  const standIn = new X509Certificate(certificate.current.cert);
  expect(standIn.verify(new X509Certificate(ca.cert).publicKey)).toBe(false);
  const offer = await certificate.offer();
  expect(offer).toEqual({ node: 'node-1', request: expect.stringContaining('REQUEST') as string, token: 'the-token' });
  // The request has the same key, however often it is read, until the certificate for that key comes.
  expect(await certificate.offer()).toEqual(offer);
});

test('an installed certificate is in force immediately, and after a restart', async () => {
  const certificate = await open();
  const seen: string[] = [];
  certificate.onChange(({ cert }) => seen.push(cert));
  const issued = await certified(certificate);
  await certificate.install(issued);
  expect(certificate).toMatchObject({ isIssued: true, generation: 2, current: { cert: issued } });
  expect(seen).toEqual([issued]);
  expect((await certificate.offer()).certificate).toBe(issued);
  const again = await open();
  expect(again).toMatchObject({ isIssued: true, current: { cert: issued, key: certificate.current.key } });
});

test('only the agent’s own user can read the key on disk, and the log has neither key nor token', async () => {
  const certificate = await open();
  await certificate.install(await certified(certificate));
  expect(statSync(kept()).mode & 0o777).toBe(0o600);
  expect(log).toContain('certificate installed');
  expect(log).not.toMatch(/PRIVATE KEY|the-token/);
});

test('each renewal has a new key', async () => {
  const certificate = await open();
  await certificate.install(await certified(certificate));
  const { key } = certificate.current;
  await certificate.install(await certified(certificate));
  expect(certificate.current.key).not.toBe(key);
  expect(certificate.generation).toBe(3);
});

test.each<[string, (certificate: NodeCertificate) => Promise<string>, RegExp]>([
  ['that is not PEM', () => Promise.resolve('nonsense'), /no certificate in PEM/],
  ['for another key', async () => (await issueLeaf(ca, names, { now: clock.now() })).cert, /not for the key/],
  [
    'of another authority of the same name',
    async (certificate) => certified(certificate, await createCa({ commonName: 'svc-ca', now: clock.now() })),
    /does not trust/,
  ],
])('a certificate %s does not come into force', async (_what, make, reason) => {
  const certificate = await open();
  const wrong = await make(certificate);
  await certificate.offer();
  await expect(certificate.install(wrong)).rejects.toMatchObject({
    code: 'ERR_INPUT_INVALID',
    message: expect.stringMatching(reason) as string,
  });
  expect(certificate).toMatchObject({ isIssued: false, generation: 1 });
});

test('a certificate that was not requested, or that comes twice, is refused', async () => {
  const certificate = await open();
  const unasked = (await issueLeaf(ca, names, { now: clock.now() })).cert;
  await expect(certificate.install(unasked)).rejects.toThrow('no request is pending');
  const issued = await certified(certificate);
  await certificate.install(issued);
  await expect(certificate.install(issued)).rejects.toThrow('no request is pending');
  expect(certificate.current.cert).toBe(issued);
});

test.each([
  ['damaged', (text: string) => text.replace(/[A-Z]/g, 'x')],
  ['truncated', (text: string) => text.slice(0, 300)],
  ['empty', () => ''],
])('a %s certificate file is ignored, and the agent requests a new one', async (_what, harm) => {
  const certificate = await open();
  await certificate.install(await certified(certificate));
  writeFileSync(kept(), harm(readFileSync(kept(), 'utf8')));
  expect((await open()).isIssued).toBe(false);
  expect(log).toContain('kept certificate cannot be used');
});

test('a certificate comes into force even where the disk cannot be written', async () => {
  // A file where the folder should be: no write succeeds, not even as root.
  writeFileSync(join(dir, 'data'), '');
  const certificate = await open();
  await certificate.install(await certified(certificate));
  expect(certificate.isIssued).toBe(true);
  expect(log).toContain('certificate not kept');
});

test('new authorities are trusted without a restart, also for later certificates', async () => {
  const certificate = await open();
  await certificate.install(await certified(certificate));
  const pair = await createCa({ commonName: 'svc-ca', now: clock.now() });
  const both = caBundle({ signer: ca, next: { pair, since: 0 } });
  writeFileSync(join(dir, 'tls/ca.crt'), both);
  const changed = new Promise<void>((resolve) => certificate.onChange(() => resolve()));
  await clock.advance(1_000);
  await changed;
  expect(certificate.current.ca).toBe(both);
  await certificate.install(await certified(certificate, pair));
  expect(certificate.generation).toBe(4);
});

test('authorities that cannot be read at the start are an error; later the last good ones stay in force', async () => {
  const certificate = await open();
  writeFileSync(join(dir, 'tls/ca.crt'), '');
  await expect(open()).rejects.toMatchObject({ code: 'ERR_TLS_MATERIAL' });
  await clock.advance(1_000);
  await until('the failed reload', () => log.includes('authorities not reloaded'));
  expect(certificate.current.ca).toBe(ca.cert);
});
