import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/logger.ts';
import { compileCacheDir } from '../testing/cache-dir.ts';
import { readSamples } from '../testing/tsdb/read-samples.ts';
import { until } from '../testing/until.ts';
import { openStore } from '../tsdb/index.ts';

/** Tests with a real agent process: samples that it acknowledged are on disk after SIGKILL and SIGTERM. */
const svc = fileURLToPath(new URL('../bin/svc.ts', import.meta.url));
let dir: string;
const running: ChildProcess[] = [];
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'agent-kill-'))));
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** Starts an agent on free ports; resolves with its OTLP port, which its log names. */
async function startAgent(): Promise<{ child: ChildProcess; otlp: number }> {
  const flags = {
    'node-name': 'n1',
    'data-dir': dir,
    'instrument-config': join(dir, 'instrument', 'config.yaml'),
    'instrument-health-socket': join(dir, 'none.sock'),
    'bind-address': '127.0.0.1',
    'tls-dir': '',
    'otlp-http-port': '0',
    'otlp-grpc-port': '0',
    'scrape-port': '0',
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCacheDir };
  const child = spawn(process.execPath, [svc, 'agent', ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  running.push(child);
  let text = '';
  child.stderr!.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const entries = (): { msg: string; listener?: string; port?: number }[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { msg: string });
  await until('the start of the agent', () => {
    if (child.exitCode !== null) throw new Error(`the agent ended: ${text}`);
    return entries().some(({ msg }) => msg === 'agent started');
  });
  return { child, otlp: entries().find(({ listener }) => listener === 'otlp-http')!.port! };
}

const exited = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => child.once('exit', resolve));

/** Sends the value of a counter that started at `startMs`. False when no agent accepts it. */
function send(otlp: number, value: number, startMs = 1): Promise<boolean> {
  const timeUnixNano = `${Date.now()}000000`;
  const point = { asInt: String(value), timeUnixNano, startTimeUnixNano: `${startMs}000000` };
  const metric = { name: 'orders.placed', sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [point] } };
  return fetch(`http://127.0.0.1:${otlp}/v1/metrics`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] }),
  }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** The counter's values that are on disk. */
async function stored(): Promise<number[]> {
  const store = await openStore({ dir: join(dir, 'store'), clock: systemClock, logger: silentLogger });
  const found = [...readSamples(store, [{ type: '=', name: '__name__', value: 'orders_placed' }]).values()];
  await store.close();
  return found.flatMap((samples) => [...samples.values()].map((hex) => Buffer.from(hex, 'hex').readDoubleBE()));
}

test('kill -9 right after an answer loses no acknowledged sample', async () => {
  const { child, otlp } = await startAgent();
  const taken = await send(otlp, 41);
  child.kill('SIGKILL');
  expect(taken).toBe(true);
  await exited(child);
  expect(await stored()).toEqual([41]);
}, 30_000);

test('a counter that restarted while no agent ran is stored with a reset, even with the same value', async () => {
  const first = await startAgent();
  expect(await send(first.otlp, 41)).toBe(true);
  first.child.kill('SIGKILL');
  await exited(first.child);
  const restartedMs = Date.now();
  const second = await startAgent();
  expect(await send(second.otlp, 41, restartedMs)).toBe(true);
  second.child.kill('SIGKILL');
  await exited(second.child);
  expect(await stored()).toEqual([41, 0, 41]);
}, 30_000);

test('SIGTERM during requests: what was answered is on disk, and the agent exits with 0 within the grace period', async () => {
  const { child, otlp } = await startAgent();
  const answered: number[] = [];
  const ended = exited(child);
  const sending = (async () => {
    for (let value = 1; await send(otlp, value); value++) answered.push(value);
  })();
  await until('the first answer', () => answered.length > 0);
  const from = performance.now();
  child.kill('SIGTERM');
  await ended;
  const graceMs = performance.now() - from;
  await sending;
  expect({ code: child.exitCode, signal: child.signalCode }).toEqual({ code: 0, signal: null });
  expect(graceMs).toBeLessThan(15_000);
  expect(await stored()).toEqual(expect.arrayContaining(answered));
}, 30_000);
