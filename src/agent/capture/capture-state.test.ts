import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../base/logger.ts';
import { type CaptureConfig, captureHash, zeroConfig } from '../../capture/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { instrumentFileHash, orderPath } from '../supervisor/state.ts';
import { CaptureState } from './capture-state.ts';
import type { RunningInstrument } from './instrument-probe.ts';
import { loadRunning, saveRunning } from './last-good.ts';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'capture-'));
  file = join(dir, 'config.yaml');
});
afterEach(() => rmSync(dir, { recursive: true }));

const seed = zeroConfig({ node: 'n1', ports: '80', instrumentVersion: 'v0.10.0' });
const other: CaptureConfig = { ...seed, instrument: { ...seed.instrument, yaml: `${seed.instrument.yaml}# other\n` } };

function setUp(): {
  state: CaptureState;
  clock: FakeClock;
  health: { is: RunningInstrument | null };
  applied: CaptureConfig[];
} {
  const clock = new FakeClock(Date.now());
  const health: { is: RunningInstrument | null } = { is: null };
  const applied: CaptureConfig[] = [];
  const state = new CaptureState({
    node: 'n1',
    dataDir: dir,
    instrumentFile: file,
    probe: () => Promise.resolve(health.is),
    clock,
    logger: silentLogger,
    onConfig: (config) => void applied.push(config),
    counts: () => ({ monitors: [], totals: { series: 0, samplesAppended: 0, rejected: 0 } }),
  });
  return { state, clock, health, applied };
}

const never = new AbortController().signal;
/** An instrument that was started with the file of a config. */
const running = ({ instrument }: CaptureConfig, startMs: number): RunningInstrument => ({
  file: instrumentFileHash(instrument.yaml),
  startMs,
  pid: startMs,
  stoppedMs: startMs - 2_000,
});
/** What the supervisor is ordered to run. */
const ordered = (): string => readFileSync(orderPath(file), 'utf8');
const hashOf = ({ instrument }: CaptureConfig): string => instrumentFileHash(instrument.yaml);

test('a pushed config goes through Written to Running once the instrument was started with its file', async () => {
  const { state, clock, health, applied } = setUp();
  const ack = await state.apply(seed, 'push');
  expect(ack).toEqual({ node: 'n1', hash: captureHash(seed), phase: 'Written' });
  expect(readFileSync(file, 'utf8')).toBe(seed.instrument.yaml);
  expect(ordered()).toBe(hashOf(seed));
  expect(statSync(join(dir, 'capture-config.json')).mode & 0o777).toBe(0o640);
  expect(applied).toEqual([seed]);
  health.is = running(seed, 5_000);
  state.start();
  await clock.advance(1_000);
  expect(state.ack).toMatchObject({ phase: 'Running', instrumentStart: new Date(5_000).toISOString() });
  state.stop();
});

test('a file written while the instrument starts with the previous one is not Running', async () => {
  const { state, clock, health } = setUp();
  await state.apply(seed, 'seed');
  state.start();
  await state.apply(other, 'push');
  // The health server answers for the first time now, long after both files came. The instrument read the older file.
  health.is = running(seed, Date.now() + 60_000);
  await clock.advance(1_000);
  expect(state.ack).toMatchObject({ phase: 'Written' });
  expect(state.awaitsRestart).toBe(true);
  health.is = running(other, Date.now() + 70_000);
  await clock.advance(1_000);
  expect(state.ack).toMatchObject({ phase: 'Running' });
  state.stop();
});

test('an agent next to an instrument with an old file does not report the new file as running', async () => {
  await setUp().state.apply(other, 'push');
  const { state, clock, health } = setUp();
  health.is = running(seed, Date.now() + 60_000);
  await state.apply(other, 'disk');
  state.start();
  await clock.advance(1_000);
  expect(state.ack).toMatchObject({ hash: captureHash(other), phase: 'Written' });
  expect(ordered()).toBe(hashOf(other));
  state.stop();
});

test('a changed file of the instrument orders a restart; an equal file does not', async () => {
  const { state, clock, health } = setUp();
  await state.apply(seed, 'seed');
  health.is = running(seed, 1_000);
  state.start();
  await clock.advance(1_000);
  expect(state.awaitsRestart).toBe(false);
  const rulesOnly = { ...seed, generations: { 'TrafficMonitor/shop/m': 2 } };
  const before = [statSync(file).ino, statSync(orderPath(file)).ino];
  expect(await state.apply(rulesOnly, 'push')).toMatchObject({ phase: 'Running', hash: captureHash(rulesOnly) });
  expect([statSync(file).ino, statSync(orderPath(file)).ino]).toEqual(before);
  expect(await state.apply(other, 'push')).toMatchObject({ phase: 'Written' });
  expect(state.awaitsRestart).toBe(true);
  expect(ordered()).toBe(hashOf(other));
  health.is = running(other, clock.now());
  await clock.advance(1_000);
  expect(state.awaitsRestart).toBe(false);
  expect(state.status()).toMatchObject({
    ack: { phase: 'Running' },
    instrument: { up: true, restarts: 1, gapMs: 3_000 },
  });
  state.stop();
});

test('a file on hold is written, but no restart is ordered until the same config comes without the hold', async () => {
  const { state, clock, health } = setUp();
  await state.apply(seed, 'push');
  health.is = running(seed, 1_000);
  state.start();
  await clock.advance(1_000);
  expect(await state.apply(other, 'push', 'hold')).toMatchObject({ phase: 'Written' });
  expect(readFileSync(file, 'utf8')).toBe(other.instrument.yaml);
  expect(ordered()).toBe(hashOf(seed));
  await clock.advance(600_000);
  expect(state.ack).toMatchObject({ phase: 'Written' });
  expect(state.awaitsRestart).toBe(false);
  await state.apply(other, 'push', 'now');
  expect(ordered()).toBe(hashOf(other));
  expect(state.awaitsRestart).toBe(true);
  await clock.advance(91_000);
  expect(state.ack).toMatchObject({ phase: 'Failed', reason: 'InstrumentNotRestarted' });
  state.stop();
});

test('a restarted agent knows the running config and whether the new file is on hold, until that runs', async () => {
  const { state, clock, health } = setUp();
  const older: CaptureConfig = { ...seed, generations: { 'TrafficMonitor/shop/m': 1 } };
  await state.apply(older, 'push');
  health.is = running(older, 60_000);
  state.start();
  await clock.advance(1_000);
  const ran = captureHash(older);
  expect(state.status().instrument).toEqual({
    up: true,
    restarts: 0,
    start: new Date(60_000).toISOString(),
    runs: ran,
  });
  await state.apply(other, 'push', 'hold');
  state.stop();

  const next = setUp();
  next.health.is = health.is;
  await next.state.apply(other, 'disk');
  next.state.start();
  await next.clock.advance(1_000);
  expect(next.state.ack).toMatchObject({ hash: captureHash(other), phase: 'Written' });
  expect(ordered()).toBe(hashOf(seed));
  expect(next.state.status().instrument.restarting).toBeUndefined();
  expect(next.state.status().instrument.runs).toBe(ran);
  expect(next.state.runningConfig).toEqual(older);

  await next.state.apply(other, 'push', 'now');
  expect(ordered()).toBe(hashOf(other));
  expect(next.state.status().instrument.restarting).toBe(true);
  next.state.stop();

  const last = setUp();
  last.health.is = health.is;
  await last.state.apply(other, 'disk');
  last.state.start();
  await last.clock.advance(1_000);
  expect(last.state.awaitsRestart).toBe(true);
  last.health.is = running(other, 90_000);
  await last.clock.advance(1_000);
  expect(last.state.status().instrument).toMatchObject({ runs: captureHash(other) });
  expect(last.state.status().instrument.restarting).toBeUndefined();
  await last.state.apply(other, 'push');
  expect(existsSync(join(dir, 'capture-running.json'))).toBe(false);
  last.state.stop();
});

test('a config that the instrument does not take up in time is Failed with a reason', async () => {
  const { state, clock } = setUp();
  await state.apply(seed, 'push');
  state.start();
  await clock.advance(89_000);
  expect(state.ack).toMatchObject({ phase: 'Written' });
  await clock.advance(2_000);
  expect(state.ack).toMatchObject({ phase: 'Failed', reason: 'InstrumentNotRunning' });
  state.stop();
});

test('a config for another node is refused and nothing changes', async () => {
  const { state, applied } = setUp();
  await expect(state.apply({ ...seed, node: 'n2' }, 'push')).rejects.toMatchObject({ code: 'ERR_INPUT_INVALID' });
  expect(applied).toEqual([]);
  expect(state.pushedConfig).toBeNull();
  expect(readdirSync(dir)).toEqual([]);
});

test('a file that cannot be written gives a Failed ack with the reason WriteFailed', async () => {
  writeFileSync(join(dir, 'plain'), '');
  const blocked = new CaptureState(optionsOf(join(dir, 'plain', 'config.yaml')));
  expect(await blocked.apply(seed, 'push')).toMatchObject({ phase: 'Failed', reason: 'WriteFailed' });
});

test('a config that could not be written is in force once it was pushed again and written', async () => {
  const { state, clock, health, applied } = setUp();
  await state.apply(seed, 'push');
  health.is = running(seed, 1_000);
  state.start();
  await clock.advance(1_000);
  const rulesOnly = { ...seed, generations: { 'TrafficMonitor/shop/m': 2 } };
  const blocked = join(dir, 'capture-config.json.tmp');
  mkdirSync(blocked);
  expect(await state.apply(rulesOnly, 'push')).toMatchObject({ phase: 'Failed', reason: 'WriteFailed' });
  await clock.advance(5_000);
  expect(state.ack).toMatchObject({ hash: captureHash(rulesOnly), reason: 'WriteFailed' });
  rmdirSync(blocked);
  expect(await state.apply(rulesOnly, 'push')).toMatchObject({ phase: 'Running', hash: captureHash(rulesOnly) });
  expect(applied).toEqual([seed, rulesOnly]);
  state.stop();
});

test('a restart that cannot be ordered gives WriteFailed too, and is ordered by the next push', async () => {
  const { state } = setUp();
  await state.apply(seed, 'push');
  await state.apply(other, 'push', 'hold');
  const blocked = `${orderPath(file)}.tmp`;
  mkdirSync(blocked);
  expect(await state.apply(other, 'push', 'now')).toMatchObject({ phase: 'Failed', reason: 'WriteFailed' });
  expect(ordered()).toBe(hashOf(seed));
  rmdirSync(blocked);
  expect(await state.apply(other, 'push', 'now')).toMatchObject({ phase: 'Written', hash: captureHash(other) });
  expect(ordered()).toBe(hashOf(other));
});

function optionsOf(instrumentFile: string): ConstructorParameters<typeof CaptureState>[0] {
  return {
    node: 'n1',
    dataDir: dir,
    instrumentFile,
    probe: () => Promise.resolve(null),
    clock: new FakeClock(),
    logger: silentLogger,
    onConfig: () => {},
    counts: () => ({ monitors: [], totals: { series: 0, samplesAppended: 0, rejected: 0 } }),
  };
}

test('a status poll waits for a change or its timeout; a poll with another revision is answered at once', async () => {
  const { state, clock } = setUp();
  const { revision } = state.status();
  let answered = 0;
  void state.statusAfter(revision, 30_000, never).then(() => answered++);
  await clock.advance(0);
  expect(answered).toBe(0);
  await state.apply(seed, 'push');
  await clock.advance(999);
  // The push was answered with the ack already; polls are answered a second later.
  expect(answered).toBe(0);
  await clock.advance(1);
  expect(answered).toBe(1);
  const unchanged = state.statusAfter(state.status().revision, 2_000, never);
  void unchanged.then(() => answered++);
  await clock.advance(1_999);
  expect(answered).toBe(1);
  await clock.advance(1);
  expect((await unchanged).revision).toBe(state.status().revision);
  expect((await state.statusAfter(999_999, 30_000, never)).node).toBe('n1');
});

test('a record of what the instrument ran, from before a start without a last good config, holds no later config back', async () => {
  await saveRunning(dir, { config: seed, held: true });
  const { state } = setUp();
  await state.apply(seed, 'seed');
  await state.apply(other, 'push');
  state.stop();
  rmSync(orderPath(file));
  await setUp().state.apply(other, 'disk');
  expect(ordered()).toBe(hashOf(other));
});

test('the record that an agent started from is kept until the next config is on disk, however full that is', async () => {
  const record = { config: other, held: false };
  await saveRunning(dir, record);
  const { state } = setUp();
  await state.apply(other, 'seed');
  const blocked = join(dir, 'capture-config.json.tmp');
  mkdirSync(blocked);
  expect(await state.apply(seed, 'push')).toMatchObject({ phase: 'Failed', reason: 'WriteFailed' });
  expect(await loadRunning(dir, 'n1', silentLogger)).toEqual(record);
  rmdirSync(blocked);
  expect(await state.apply(seed, 'push')).toMatchObject({ phase: 'Written' });
  expect(await loadRunning(dir, 'n1', silentLogger)).toBeNull();
});
