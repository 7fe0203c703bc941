import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import type { TLSSocket } from 'node:tls';
import { join } from 'node:path';
import { createLogger } from '../../base/logger.ts';
import { createCa, issueLeaf } from '../../net/ca.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { readTlsDirectory, watchTlsDirectory } from '../../net/tls-material.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { createPublicServer } from './server.ts';

let dir: string;
beforeEach(async () => (dir = await mkdtemp(join(tmpdir(), 'identity-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

async function write(commonName: string): Promise<void> {
  const now = Date.now();
  const ca = await createCa({ commonName: 'test', now });
  const leaf = await issueLeaf(ca, { commonName, dnsNames: ['localhost'] }, { now });
  await writeFile(join(dir, 'tls.crt'), leaf.cert);
  await writeFile(join(dir, 'tls.key'), leaf.key);
}

test('serves TLS with the mounted certificate and key, and with rotated ones; a broken pair is ignored', async () => {
  await write('first');
  const clock = new FakeClock();
  const stop = new AbortController();
  const warned: string[] = [];
  const logger = createLogger({ level: 'warn', write: (line) => void warned.push(line) });
  const tls = await watchTlsDirectory(dir, { clock, logger, signal: stop.signal }, { hasCa: false });
  const server = createPublicServer((_req, res) => res.end('ok'), tls);
  const port = await listen('minter', server, { host: '127.0.0.1', port: 0 });
  const peer = (): Promise<string> =>
    new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, agent: false, rejectUnauthorized: false }, (res) => {
        const { subject } = (res.socket as TLSSocket).getPeerCertificate();
        res.resume().on('end', () => resolve(String(subject.CN)));
      })
        .on('error', reject)
        .end();
    });
  expect(await peer()).toBe('first');
  await write('second');
  await clock.advance(5_000);
  await until('the second identity', peer, { good: (name) => name === 'second' });
  await writeFile(join(dir, 'tls.key'), 'broken');
  await clock.advance(5_000);
  await until('the look at the broken pair', () => warned.length > 0);
  expect(await peer()).toBe('second');
  stop.abort();
  await closeServer(server, 100);
});

test('without a certificate and key in the directory the start fails', async () => {
  await expect(readTlsDirectory(dir, { hasCa: false })).rejects.toMatchObject({
    code: 'ERR_TLS_MATERIAL',
    message: expect.stringContaining(`cannot read ${dir}/tls.crt`),
  });
});
