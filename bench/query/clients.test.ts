import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { manyClients } from './clients.ts';

/** The figures of a short run against a server that answers as `answer` says, by the number of the request. */
async function figures(answer: (n: number) => [status: number, body: string]): Promise<Record<string, number>> {
  let n = 0;
  const server = createServer((_req, res) => {
    const [status, body] = answer(n++);
    res.writeHead(status).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cost = { rss: 2 ** 20, cpuMs: 0, bytes: 0 };
  const printed: { name: string; ours: number }[] = [];
  try {
    await manyClients({
      clients: 2,
      seconds: 0,
      over: () => n >= 12,
      port: (server.address() as AddressInfo).port,
      server: { cost: () => Promise.resolve(cost) },
      fleet: { cost: () => Promise.resolve(cost) },
      complain: () => {},
      print: (name, _unit, ours) => void printed.push({ name, ours }),
    });
    return Object.fromEntries(printed.map(({ name, ours }) => [name, ours]));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const whole = '{"degraded":false}';

test('a run without an error reports none', async () => {
  const found = await figures(() => [200, whole]);
  expect(found['clients/2/errors']).toBe(0);
  expect(found['clients/2/answers']).toBeGreaterThan(0);
});

test.each<[string, [number, string]]>([
  ['a refusal', [503, 'no']],
  ['a degraded answer', [200, '{"degraded":true}']],
])('%s is counted as an error, is no answer, and the run goes on', async (_what, bad) => {
  let refused = 0;
  const found = await figures((n) => {
    if (n >= 3) return [200, whole];
    refused++;
    return bad;
  });
  expect(refused).toBe(3);
  expect(found['clients/2/errors']).toBe(3);
  expect(found['clients/2/answers']).toBeGreaterThan(0);
});
