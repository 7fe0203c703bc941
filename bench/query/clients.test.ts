import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runClients, type ClientsRun } from './clients.ts';

/** A short run against a server that answers request number `n` with `answer(n)`. */
async function run(answer: (n: number) => [status: number, body: string]): Promise<ClientsRun> {
  let n = 0;
  const server = createServer((_req, res) => {
    const [status, body] = answer(n++);
    res.writeHead(status).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cost = { rss: 2 ** 20, cpuMs: 0, bytes: 0 };
  try {
    return await runClients({
      clients: 2,
      seconds: 0,
      end: 1_800_000,
      over: () => n >= 12,
      port: (server.address() as AddressInfo).port,
      server: { cost: () => Promise.resolve(cost) },
      fleet: { cost: () => Promise.resolve(cost) },
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const whole = '{"degraded":false}';

test('a run without an error reports none', async () => {
  const { errors, firstError, figures } = await run(() => [200, whole]);
  expect([errors, firstError]).toEqual([0, undefined]);
  expect(figures['answers-per-second']!.value).toBeGreaterThan(0);
  expect(figures['query-rss/highest']).toEqual({ unit: 'MiB', value: 1 });
});

test.each<[string, [number, string], string]>([
  ['a refusal', [503, 'no'], '503 no'],
  ['a degraded answer', [200, '{"degraded":true}'], '"degraded":true'],
])('%s counts as an error, not as an answer, and the run goes on', async (_what, bad, told) => {
  let refused = 0;
  const { errors, firstError, figures } = await run((n) => {
    if (n >= 3) return [200, whole];
    refused++;
    return bad;
  });
  expect(refused).toBe(3);
  expect(errors).toBe(3);
  expect(firstError).toContain(told);
  expect(figures['answers-per-second']!.value).toBeGreaterThan(0);
});
