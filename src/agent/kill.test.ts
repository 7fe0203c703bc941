import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/logger.ts';
import { readSamples } from '../testing/tsdb/read-samples.ts';
import { openStore } from '../tsdb/index.ts';

/** A real agent process, killed the moment it has answered. */
const svc = fileURLToPath(new URL('../bin/svc.ts', import.meta.url));
let dir: string;
const running: ChildProcess[] = [];
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'agent-kill-'))));
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** Starts an agent on free ports; resolves with that of OTLP, read from its own log. */
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
  const child = spawn(process.execPath, [svc, 'agent', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  running.push(child);
  const ports = new Map<string, number>();
  let text = '';
  for await (const chunk of child.stderr as AsyncIterable<Buffer>) {
    text += chunk.toString();
    for (const line of text.split('\n').slice(0, -1)) {
      const entry = JSON.parse(line) as { msg: string; listener?: string; port?: number };
      if (entry.msg === 'listening') ports.set(entry.listener!, entry.port!);
      if (entry.msg === 'agent started') {
        child.stderr!.resume();
        return { child, otlp: ports.get('otlp-http')! };
      }
    }
  }
  throw new Error(`the agent ended: ${text}`);
}

const exited = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => child.once('exit', resolve));

test('kill -9 right after the answer loses nothing of what was answered', async () => {
  const { child, otlp } = await startAgent();
  const timeUnixNano = `${Date.now()}000000`;
  const point = { asInt: '41', timeUnixNano, startTimeUnixNano: timeUnixNano };
  const metric = { name: 'orders.placed', sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [point] } };
  const answer = await fetch(`http://127.0.0.1:${otlp}/v1/metrics`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] }),
  });
  child.kill('SIGKILL');
  expect(answer.status).toBe(200);
  await exited(child);
  const store = await openStore({ dir: join(dir, 'store'), clock: systemClock, logger: silentLogger });
  const found = [...readSamples(store, [{ type: '=', name: '__name__', value: 'orders_placed' }]).values()];
  await store.close();
  const bits = Buffer.alloc(8);
  bits.writeDoubleBE(41);
  expect(found.map((samples) => [...samples.values()])).toEqual([[bits.toString('hex')]]);
}, 30_000);
