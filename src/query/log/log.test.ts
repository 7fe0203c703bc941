import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../base/logger.ts';
import type { Logger } from '../../base/logger.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { openActiveQueries } from './active-queries.ts';
import { openQueryLog } from './query-log.ts';

const request = { method: 'GET', path: '/q', clientIP: '::1', user: 'u' };
let dir: string;
let lines: string[];
let logger: Logger;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svc-query-log-'));
  lines = [];
  logger = createLogger({ write: (line) => void lines.push(line) });
});
afterEach(() => rmSync(dir, { recursive: true }));

test('every query is one line: text, times, user, duration, samples, status, and whether it was degraded', async () => {
  const path = join(dir, 'queries.log');
  const stage = await startQueryStage({ nodes: ['node-1'], flags: { queryLogFile: path } });
  try {
    stage.cluster.append('node-1', { __name__: 'x' }, Date.now(), 1);
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    await stage.ask('/api/v1/query', { query: 'x' }, { headers: { traceparent } });
    await stage.ask('/api/v1/query_range', { query: 'x(', start: '0', end: '60', step: '15' });
    stage.cluster.agents[0]!.misbehave = (_q, r) => r.destroy();
    await stage.ask('/api/v1/query', { query: 'sum(x)', time: '60' });
  } finally {
    await stage.close();
  }
  const logged = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(logged).toMatchObject([
    {
      params: { query: 'x', step: 0 },
      httpRequest: { method: 'GET', path: '/api/v1/query', clientIP: '127.0.0.1', user: '', status: 200 },
      stats: { timings: { execTotalTime: expect.any(Number) }, samples: { samplesDecoded: 1 } },
      spanID: 'b'.repeat(16),
      traceID: 'a'.repeat(32),
      degraded: false,
    },
    {
      params: { query: 'x(', start: '1970-01-01T00:00:00.000Z', end: '1970-01-01T00:01:00.000Z', step: 15 },
      httpRequest: { status: 400 },
      error: expect.stringMatching(/^bad_data: invalid parameter "query"/),
    },
    { degraded: true, missingNodes: ['node-1'], params: { start: '1970-01-01T00:01:00.000Z' } },
  ]);
});

test('a caller over IPv4 has its IPv4 address in the log of a server that listens on IPv6', async () => {
  const path = join(dir, 'queries.log');
  const stage = await startQueryStage({ nodes: [], flags: { queryLogFile: path, bindAddress: '::' } });
  try {
    await stage.ask('/api/v1/query', { query: '1' });
  } finally {
    await stage.close();
  }
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ httpRequest: { clientIP: '127.0.0.1' } });
});

test('a query that waits for a place is no active one, and if its time ends there, the log calls that waiting', async () => {
  const [path, activeQueriesFile] = [join(dir, 'queries.log'), join(dir, 'queries.active')];
  const clock = new FakeClock();
  const flags = { queryLogFile: path, activeQueriesFile, maxConcurrency: '1' };
  const stage = await startQueryStage({ nodes: ['node-1'], flags, clock });
  const agent = stage.cluster.agents[0]!;
  let end: (() => void) | undefined;
  try {
    agent.misbehave = (_req, res) => {
      end = () => res.destroy();
      agent.misbehave = undefined;
    };
    const first = stage.ask('/api/v1/query', { query: 'first' });
    await until('the agent is asked', () => end !== undefined);
    const timers = clock.pending;
    const second = stage.ask('/api/v1/query', { query: 'second', timeout: '2s' });
    await until('the second waits', () => clock.pending === timers + 1);
    const active = readFileSync(activeQueriesFile, 'utf8');
    expect([active.includes('first'), active.includes('second')]).toEqual([true, false]);
    await clock.advance(2_000);
    expect((await second).status).toBe(503);
    end!();
    expect((await first).status).toBe(200);
    expect(readFileSync(activeQueriesFile, 'utf8').trim()).toBe('');
  } finally {
    end?.();
    await stage.close();
  }
  const logged = readFileSync(path, 'utf8').trimEnd().split('\n');
  expect(logged.map((line) => JSON.parse(line) as object)).toMatchObject([
    { params: { query: 'second' }, stats: { timings: { execQueueTime: 2, queryPreparationTime: 0 } } },
    { params: { query: 'first' }, stats: { timings: { execQueueTime: 0, queryPreparationTime: 2 } } },
  ]);
});

test('the numbers of samples in a log line are named for what they count', async () => {
  const path = join(dir, 'queries.log');
  const stage = await startQueryStage({ nodes: ['node-1'], flags: { queryLogFile: path } });
  const minute = 60_000;
  const now = Date.now();
  try {
    for (let t = now - 30 * minute; t <= now; t += minute) stage.cluster.append('node-1', { __name__: 'x' }, t, 1);
    const window = { start: String((now - 2 * minute) / 1_000), end: String(now / 1_000), step: '60' };
    for (const more of [{}, { stats: 'true' }, { query: 'abs(x[10m])' }]) {
      await stage.ask('/api/v1/query_range', { ...window, query: 'count_over_time(x[10m])', ...more });
    }
  } finally {
    await stage.close();
  }
  const logged = readFileSync(path, 'utf8').trimEnd().split('\n');
  const counts = logged.map((line) => (JSON.parse(line) as { stats: { samples?: object } }).stats.samples);
  const decoded = { samplesDecoded: 12, peakSamples: expect.any(Number) };
  expect(counts).toEqual([decoded, { ...decoded, totalQueryableSamples: 30, samplesRead: 12 }, undefined]);
});

test.each(['x', 'é'])('the log is rotated at its size cap, and one old file is kept: with queries of %s', (letter) => {
  const path = join(dir, 'queries.log');
  const log = openQueryLog(path, { maxBytes: 2_000, clock: new FakeClock(), logger });
  const note = {
    query: letter.repeat(300),
    start: 0,
    end: 0,
    step: 0,
    request,
    status: 200,
    seconds: { queue: 0, evaluation: 1 },
  };
  for (let i = 0; i < 50; i++) log.write({ ...note, query: `${note.query}${i}`, missingNodes: [] });
  expect(readdirSync(dir).toSorted()).toEqual(['queries.log', 'queries.log.1']);
  expect(readFileSync(path, 'utf8')).toContain(`${letter}49`);
  expect(statSync(path).size).toBeLessThanOrEqual(2_000);
  expect(statSync(`${path}.1`).size).toBeLessThanOrEqual(2_000);
});

test('a log that cannot be written is reported once and does not fail a query', () => {
  const log = openQueryLog(join(dir, 'absent', 'queries.log'), { maxBytes: 2_000, clock: new FakeClock(), logger });
  const note = {
    query: 'x',
    start: 0,
    end: 0,
    step: 0,
    request,
    status: 200,
    seconds: { queue: 0, evaluation: 1 },
    missingNodes: [],
  };
  log.write(note);
  log.write(note);
  expect(lines).toHaveLength(1);
});

test('the queries that ran when the process died are logged at the next start, and no others', () => {
  const path = join(dir, 'queries.active');
  const before = openActiveQueries(path, 3, logger);
  const ended = before.enter({ query: 'ended', user: 'a', startedAt: 0 });
  before.enter({ query: 'sum(heavy)', user: 'b', startedAt: 1_000 });
  before.enter({ query: `long ${'é'.repeat(2_000)}`, user: 'c', startedAt: 0 });
  ended();
  expect(lines).toEqual([]);
  // The file is opened again without a close, as after a crash.
  openActiveQueries(path, 3, logger).close();
  const told = lines.map((line) => JSON.parse(line) as { query: string; user: string; startedAt: string });
  expect(told.map(({ user }) => user).sort()).toEqual(['b', 'c']);
  expect(told.find(({ user }) => user === 'b')).toMatchObject({
    msg: 'this query was running when the process ended',
    query: 'sum(heavy)',
    startedAt: '1970-01-01T00:00:01.000Z',
  });
  expect(told.find(({ user }) => user === 'c')!.query).toMatch(/^long é+$/);
  lines.length = 0;
  openActiveQueries(path, 3, logger).close();
  expect(lines).toEqual([]);
  before.close();
});

test.each([0, 1, 2])('a full disk at write %i ends the record of active queries, but fails no query', (failing) => {
  let writes = 0;
  const write = (...args: unknown[]): number => {
    if (writes++ >= failing) throw new Error('ENOSPC: no space left on device, write');
    return (writeSync as (...args: unknown[]) => number)(...args);
  };
  const active = openActiveQueries(join(dir, 'queries.active'), 1, logger, write);
  const query = { query: 'up', user: 'anna', startedAt: 0 };
  active.enter(query)();
  active.enter(query)();
  active.close();
  expect(lines).toEqual([expect.stringContaining('ENOSPC')]);
  expect(writes).toBe(failing + 1);
});

test('slots for active queries are reused, and a query without a free slot runs unrecorded', () => {
  const path = join(dir, 'queries.active');
  const active = openActiveQueries(path, 1, logger);
  const note = { query: 'x', user: '', startedAt: 0 };
  const first = active.enter(note);
  active.enter({ ...note, query: 'without a slot' })();
  first();
  active.enter({ ...note, query: 'in the same slot' });
  expect(statSync(path).size).toBe(1_000);
  expect(readFileSync(path, 'utf8')).toContain('in the same slot');
  active.close();
});
