import type { UserInfo } from '../kube/reviews.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { startQueryStage, type QueryStage } from '../testing/query/query-stage.ts';
import { until } from '../testing/until.ts';
import { buildStreamedRead } from '../tsdb/index.ts';

/** A token is the name of its user; each user may query. */
const reviews = {
  reviewToken: (token: string): Promise<UserInfo> => Promise.resolve({ username: token, groups: [] }),
  mayAccessPath: () => Promise.resolve(true),
};

let stage: QueryStage;
const now = Date.now();
// The clock stands still. Otherwise time limits would end queries and others would begin during the measurement, more
// often on a busy machine.
const clock = new FakeClock(now);
beforeAll(async () => {
  stage = await startQueryStage({ nodes: ['node-1', 'node-2'], reviews, flags: { loopbackExempt: 'false' }, clock });
  for (const node of ['node-1', 'node-2']) {
    for (let i = 0; i < 40; i++) {
      for (let t = 60; t >= 0; t--) {
        const labels = { __name__: 'x', i: `${i}`, k8s_node_name: node };
        stage.cluster.append(node, labels, now - t * 30_000, t + i);
      }
    }
  }
});
afterAll(() => stage.close());

const ask = (
  user: string,
  query: string,
  step: string,
  more: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): ReturnType<QueryStage['ask']> =>
  stage.ask(
    '/api/v1/query_range',
    { query, start: `${now / 1000 - 1800}`, end: `${now / 1000}`, step },
    { ...more, headers: { authorization: `Bearer ${user}`, ...more.headers } },
  );

/** Ends only a test that hangs; it is long because a busy machine gives the test little CPU time. */
const hangsMs = 240_000;

/**
 * CPU time of this thread for one small query, in ms: the median of `count` runs. Client, query server and agents share
 * the thread, so on an idle machine this is the latency. On a busy machine it excludes the work of other processes.
 */
async function latency(count: number): Promise<number> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) {
    const started = process.threadCpuUsage();
    const { status } = await ask('f', 'sum by (i) (rate(x[5m]) * rate(x[10m]))', '15s');
    const { user, system } = process.threadCpuUsage(started);
    all.push((user + system) / 1000);
    expect(status).toBe(200);
  }
  return all.sort((a, b) => a - b)[count >> 1]!;
}

test.each([
  ['agents compute', {}],
  ['the query server computes', { 'x-svc-pushdown': 'off' }],
])(
  'while five users run endless queries, which %s, another user has at most twice the latency of an idle server',
  async (_, headers) => {
    const { runner } = stage.server;
    await latency(8);
    const idle = await latency(11);
    const stop = new AbortController();
    const { signal } = stop;
    const endless = async (user: string, i: number): Promise<void> => {
      // One such query takes minutes.
      const query = `sum by (i) (quantile_over_time(0.5, x[20m:1s])) + ${i}`;
      while (!signal.aborted) await ask(user, query, '1s', { headers, signal }).catch(() => {});
    };
    const others = ['a', 'b', 'c', 'd', 'e'].flatMap((user) => Array.from({ length: 4 }, (_, i) => endless(user, i)));
    try {
      while (runner.running < 20) await new Promise((done) => setImmediate(done));
      await latency(3);
      // Other work of the machine may disturb one measurement.
      let loaded = Infinity;
      for (let i = 0; i < 3 && loaded > 2 * idle; i++) loaded = await latency(11);
      expect(runner.running).toBeGreaterThanOrEqual(20);
      expect(loaded).toBeLessThanOrEqual(2 * idle);
    } finally {
      stop.abort();
      await Promise.all(others);
    }
  },
  hangsMs,
);

test('one user’s long remote reads leave places for others, and those that wait have the time limit of a query', async () => {
  const { body, headers } = buildStreamedRead([
    { startMs: now - 60_000, endMs: now, matchers: [{ type: '=', name: '__name__', value: 'x' }] },
  ]);
  const stop = new AbortController();
  const { signal } = stop;
  const read = (user: string, path = '/api/v1/read'): ReturnType<QueryStage['ask']> =>
    stage.ask(path, {}, { body, signal, headers: { ...headers, authorization: `Bearer ${user}` } });
  let held = 0;
  for (const agent of stage.cluster.agents) agent.misbehave = () => void held++;
  const several = (): Promise<unknown>[] => Array.from({ length: 5 }, () => read('a').catch(() => {}));
  const long = several();
  try {
    await until('five reads ask both agents', () => held === 10);
    const timers = clock.pending;
    long.push(...several());
    await until('five more wait', () => clock.pending === timers + 5);
    const limited = read('a', '/api/v1/read?timeout=1s');
    long.push(limited.catch(() => {}));
    await until('one more waits', () => clock.pending === timers + 6);
    await clock.advance(1_000);
    expect(await limited).toMatchObject({ status: 503, text: 'remote read timed out while it waited for others\n' });
    for (const agent of stage.cluster.agents) agent.misbehave = undefined;
    expect((await read('b')).status).toBe(200);
  } finally {
    stop.abort();
    await Promise.all(long);
  }
});
