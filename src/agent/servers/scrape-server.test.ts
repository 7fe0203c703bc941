import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { silentLogger } from '../../base/logger.ts';
import { until } from '../../testing/until.ts';
import { createScrapeServer } from './scrape-server.ts';

const chunkBytes = 128 * 1024;
const chunks = 40;

/** A page whose chunks share one memory: each is overwritten before the next one is handed out. */
async function* lentPage(ended: () => void): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(chunkBytes);
  try {
    for (let i = 0; i < chunks; i++) {
      memory.fill(0x61 + (i % 26));
      yield memory;
      memory.fill(0x21);
      await Promise.resolve();
    }
  } finally {
    ended();
  }
}

const whole = Buffer.concat(Array.from({ length: chunks }, (_, i) => Buffer.alloc(chunkBytes, 0x61 + (i % 26))));

async function scrape<T>(
  page: () => AsyncIterable<Uint8Array>,
  encoding: string,
  read: (answer: IncomingMessage) => Promise<T>,
  logger = silentLogger,
): Promise<T> {
  const auth = { decide: () => Promise.resolve({ allowed: true } as const) };
  const server = createScrapeServer({ exposition: page, auth, notReady: () => null, logger });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const request = get({ port, path: '/metrics', headers: { 'accept-encoding': encoding }, agent: false });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    return await read(answer);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

test.each([
  ['identity', (bytes: Buffer) => bytes],
  ['gzip', gunzipSync],
  ['zstd', zstdDecompressSync],
])(
  'a chunk that the page overwrites after it was taken arrives unchanged, encoded as %s',
  async (encoding, decoded) => {
    const bytes = await scrape(() => lentPage(() => {}), encoding, buffer);
    expect(decoded(bytes).equals(whole)).toBe(true);
  },
);

test.each(['identity', 'gzip', 'zstd'])('writing a page in %s ends when its scraper disconnects', async (encoding) => {
  let isLeft = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield* lentPage(() => (isLeft = true));
  }
  await scrape(endless, encoding, async (answer) => {
    await once(answer, 'readable');
    answer.destroy();
    await until('the page is left', () => isLeft);
  });
});

test.each(['identity', 'gzip', 'zstd'])(
  'a page in %s that fails is cut off, and the fault is logged',
  async (encoding) => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(chunkBytes);
      await Promise.resolve();
      throw new Error('no such family');
    }
    const errors: unknown[] = [];
    const logger = {
      ...silentLogger,
      error: (message: string, fields: unknown) => void errors.push([message, fields]),
    };
    await expect(scrape(failing, encoding, buffer, logger)).rejects.toThrow('aborted');
    expect(errors).toEqual([['scrape failed', { error: 'no such family' }]]);
  },
);
