import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/logger.ts';
import { crashSeries, crashTime, crashValue } from '../testing/tsdb/crash-writer.ts';
import { bitsHex, readSamples } from '../testing/tsdb/read-samples.ts';
import { highBits, lowBits } from './chunk/index.ts';
import { labelsKey, openStore } from './index.ts';

const writer = fileURLToPath(new URL('../testing/tsdb/crash-writer.ts', import.meta.url));
/** The long form runs with SVC_CRASH_ROUNDS=200. */
const rounds = Number(process.env.SVC_CRASH_ROUNDS ?? 5);

/** Runs the writer until it has acknowledged something, kills it `afterLines` lines later, and gives the last number acknowledged. */
async function writeUntilKilled(dir: string, first: number, afterLines: number): Promise<number> {
  const child = spawn(process.execPath, [writer, dir, String(first)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (data: Buffer) => {
    text += data.toString();
    if (text.split('\n').length > afterLines) child.kill('SIGKILL');
  });
  await once(child, 'close');
  const whole = text.slice(0, text.lastIndexOf('\n')).split('\n').filter(Boolean);
  if (child.signalCode !== 'SIGKILL' || whole.length === 0)
    throw new Error(`writer ended by itself: ${child.exitCode}`);
  return Number(whole.at(-1));
}

test(`kill -9 under load, ${rounds} times in a row: every acknowledged sample is there and no other value`, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-crash-'));
  try {
    let first = 0;
    let acked = -1;
    for (let round = 0; round < rounds; round++) {
      acked = await writeUntilKilled(dir, first, 1 + ((round * 37) % 60));
      // The clock stands where the writer's stood, so nothing is moved or removed by opening.
      const clock = { ...systemClock, now: () => crashTime(acked) };
      const store = await openStore({ dir, clock, logger: silentLogger, retentionMs: 1e12 });
      const found = readSamples(store);
      let newest = 0;
      for (const [s, labels] of crashSeries.entries()) {
        const samples = found.get(labelsKey(labels))!;
        for (let n = 0; n <= acked; n++) {
          if (samples.get(crashTime(n)) !== hex(crashValue(s, n)))
            throw new Error(`lost or wrong: series ${s}, sample ${n}`);
        }
        for (const [t, bits] of samples) {
          const n = (t - crashTime(0)) / 30_000;
          if (bits !== hex(crashValue(s, n))) throw new Error(`wrong: series ${s} at ${t}`);
          newest = Math.max(newest, n);
        }
      }
      expect(store.stats().replay.orphanSamples).toBe(0);
      await store.close();
      first = newest + 1;
    }
    expect(acked).toBeGreaterThan(rounds);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}, 600_000);

function hex(value: number): string {
  return bitsHex(highBits(value), lowBits(value));
}
