import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { RE2JS } from 're2js';
import { silentLogger } from '../../base/logger.ts';
import { requestTarget } from '../../base/request-target.ts';
import type { Pacing } from '../../base/turns/turns.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { labelsFromObject } from '../../tsdb/index.ts';
import { ExemplarRing } from '../exemplars/exemplar-ring.ts';
import { detailsRoutes } from './details-server.ts';

const path = '/api/v1/query_exemplars';
const clock = new FakeClock();
let server: Server;

async function serve(exemplars: Pick<ExemplarRing, 'select'>): Promise<void> {
  const routes = detailsRoutes({
    exemplars: exemplars as ExemplarRing,
    families: () => [],
    partition: { label: 'k8s_node_name', value: 'n1' },
    clock,
    logger: silentLogger,
  });
  const route = routes.find((one) => one.path === path)!;
  server = createServer((req, res) => void route.serve(req, res, requestTarget(req))).listen(0, '127.0.0.1');
  await once(server, 'listening');
}
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

interface Answer {
  readonly status: string;
  readonly data?: { readonly seriesLabels: Record<string, string>; readonly exemplars: readonly object[] }[];
  readonly error?: string;
}

const address = (params: Record<string, string>): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}?${new URLSearchParams(params)}`;

async function ask(params: Record<string, string>): Promise<[status: number, answer: Answer]> {
  const answer = await fetch(address(params));
  return [answer.status, (await answer.json()) as Answer];
}

test.each(['start', 'end'])('a %s that is not a number of seconds is refused, not silently ignored', async (name) => {
  await serve(new ExemplarRing());
  const told = async (value: string): Promise<unknown[]> => {
    const [status, { error }] = await ask({ query: 'x', [name]: value });
    return [status, error];
  };
  expect(await told('1700000000.5')).toEqual([200, undefined]);
  expect(await told('2023-11-14T22:13:20Z')).toEqual([400, `${name}: must be a number of seconds`]);
});

test('equal regular expressions are evaluated once for each value, and other work runs meanwhile', async () => {
  const ring = new ExemplarRing();
  const count = 300;
  for (let i = 0; i < count; i++) {
    const labels = labelsFromObject({ __name__: 'x', path: `/${i}` });
    ring.add({ labels }, { timeNs: i * 1e9, value: i, traceId: `t${i}`, spanId: i % 2 === 0 ? '' : `s${i}` });
  }
  await serve(ring);
  const selector = `x{${Array(5).fill('path=~"(?:.*[a-m].{0,600})?.*"').join(',')}}`;
  const slow = (): boolean => {
    const started = performance.now();
    while (performance.now() - started < 1);
    return true;
  };
  const exact = jest.spyOn(RE2JS.prototype, 'testExact').mockImplementation(slow);
  let rounds = 0;
  let done = false;
  const turn = (): void => {
    rounds++;
    if (!done) setImmediate(turn);
  };
  try {
    const asked = ask({ query: `${selector} or ${selector}` });
    await until('the first value is matched', () => exact.mock.calls.length > 0);
    setImmediate(turn);
    const [status, { data, error }] = await asked;
    done = true;
    expect([status, error]).toEqual([200, undefined]);
    expect(data).toHaveLength(count);
    expect(data![1]).toEqual({
      seriesLabels: { __name__: 'x', k8s_node_name: 'n1', path: '/1' },
      exemplars: [{ labels: { trace_id: 't1', span_id: 's1' }, value: '1', timestamp: 1 }],
    });
    // The empty text is the one of series without the label.
    expect(exact.mock.calls.length).toBe(count + 1);
    // The values take 300 ms, and a slice ten.
    expect(rounds).toBeGreaterThan(10);
  } finally {
    done = true;
    exact.mockRestore();
  }
});

/** Exemplars that take for ever, and how many requests for them run. */
function endless() {
  const state = { running: 0 };
  const select = async (...args: Parameters<ExemplarRing['select']>): Promise<never> => {
    const pacing: Pacing = args[4];
    state.running++;
    try {
      for (;;) await pacing.turn();
    } finally {
      state.running--;
    }
  };
  return { state, select };
}

test('a request that takes too long is answered with 503, and takes no more time', async () => {
  const { state, select } = endless();
  await serve({ select });
  const asked = ask({ query: 'x' });
  await until('it runs', () => state.running === 1);
  await clock.advance(60_000);
  expect(await asked).toEqual([503, { status: 'error', errorType: 'timeout', error: 'not done within 60000 ms' }]);
  expect(state.running).toBe(0);
});

test('a few requests run at a time, and one whose client disconnects makes room for the next', async () => {
  const { state, select } = endless();
  await serve({ select });
  let reached = 0;
  server.on('request', () => reached++);
  const clients = Array.from({ length: 6 }, () => request(address({ query: 'x' })).on('error', () => {}));
  for (const client of clients) client.end();
  await until('all arrive', () => reached === 6);
  await until('some run', () => state.running > 0);
  const atOnce = state.running;
  expect(atOnce).toBe(2);
  for (const [i, client] of clients.entries()) {
    client.destroy();
    const left = clients.length - 1 - i;
    await until('its place is free, or taken by the next', () => state.running === Math.min(left, atOnce));
  }
});
