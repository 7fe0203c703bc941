import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { createCa, issueLeaf } from '../../net/ca.ts';
import { createApiServer } from '../../net/https-server.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { RotatingTls } from '../../testing/rotating-tls.ts';
import { createHttpStore } from './http-store.ts';

const now = Date.now();
const queries = [
  { startMs: now - 60_000, endMs: now, matchers: [{ type: '=' as const, name: '__name__', value: 'x' }], hints: {} },
];
const read = () => ({ deadlineMs: 5_000, budget: { left: 1e6 }, signal: new AbortController().signal });
let dir: string;
let server: Server;
afterEach(async () => {
  await closeServer(server, 0);
  rmSync(dir, { recursive: true });
});

test('each request to a store trusts the authorities that the file has then, and the last good ones while it cannot be read', async () => {
  dir = mkdtempSync(join(tmpdir(), 'store-ca-'));
  const caFile = join(dir, 'ca.crt');
  const names = { commonName: 'store', dnsNames: [], ipAddresses: ['127.0.0.1'] };
  const [first, second] = await Promise.all(
    ['a', 'b'].map(async (commonName) => {
      const ca = await createCa({ commonName, now });
      return { ...(await issueLeaf(ca, names, { now })), ca: ca.cert };
    }),
  );
  const tls = new RotatingTls(first!);
  server = createApiServer(tls, (_req, res) => {
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ status: 'success', data: { resultType: 'matrix', result: [] } }));
  });
  const port = await listen('store', server, { host: '127.0.0.1', port: 0 });
  const options = { api: 'query', tokenFile: '', tenant: '', clock: systemClock } as const;
  const store = createHttpStore({ ...options, url: `https://127.0.0.1:${port}`, caFile });
  /** Reads on a new connection, with this file. */
  const readWith = async (content: string): Promise<unknown> => {
    server.closeAllConnections();
    writeFileSync(caFile, content);
    return store.read(queries, read());
  };
  expect(await readWith(first!.ca)).toEqual([[]]);
  tls.rotate(second!);
  await expect(readWith(first!.ca)).rejects.toMatchObject({ reason: 'unreachable' });
  expect(await readWith(second!.ca)).toEqual([[]]);
  expect(await readWith(second!.ca.replace('MII', '!!!'))).toEqual([[]]);
  // An issuer without an authority of its own leaves the key out, or empty: the system's authorities apply.
  await expect(readWith('')).rejects.toMatchObject({ reason: 'unreachable' });
  expect(await readWith(first!.ca + second!.ca)).toEqual([[]]);
  rmSync(caFile);
  server.closeAllConnections();
  await expect(store.read(queries, read())).rejects.toMatchObject({ reason: 'unreachable' });
});
