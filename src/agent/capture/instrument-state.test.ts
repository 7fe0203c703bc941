import type { RunningInstrument } from './instrument-probe.ts';
import {
  afterFile,
  afterProbe,
  type InstrumentView,
  phaseOf,
  runsFile,
  runsOldFile,
  unknownInstrument,
} from './instrument-state.ts';

const phase = (view: InstrumentView, monoMs: number): string => phaseOf(view, { deadlineMs: 90_000, monoMs }).phase;
const running = (file: string, startMs: number, stoppedMs: number | null = null): RunningInstrument => ({
  file,
  startMs,
  stoppedMs,
  pid: startMs,
});
const probed = (
  view: InstrumentView,
  process: RunningInstrument | null,
  monoMs: number,
  wallMs = monoMs,
): InstrumentView => afterProbe(view, process, { monoMs, wallMs });

test('before the first probe a config is Written', () => {
  const view = afterFile(unknownInstrument, 'a', false, 0);
  expect(runsOldFile(view)).toBe(false);
  expect(phase(view, 10)).toBe('Written');
});

test('an instrument that was started with the file runs it', () => {
  const view = probed(afterFile(unknownInstrument, 'a', false, 0), running('a', 1_500), 10);
  expect(runsFile(view)).toBe(true);
  expect(phase(view, 10)).toBe('Running');
});

test('an instrument started with an older file does not run the new one, however late its health server is up', () => {
  let view = afterFile(unknownInstrument, 'b', true, 0);
  // The instrument read `a`, looked up metadata for half a minute and answers for the first time now.
  view = probed(view, running('a', 29_000), 30_000);
  expect(runsOldFile(view)).toBe(true);
  expect(phase(view, 30_000)).toBe('Written');
  view = probed(view, null, 31_000);
  expect(runsOldFile(view)).toBe(false);
  expect(phase(view, 31_000)).toBe('Written');
  view = probed(view, running('b', 32_000), 33_000);
  expect(phase(view, 33_000)).toBe('Running');
  expect(view.restarts).toBe(1);
});

test('the same process seen again is not a restart', () => {
  let view = probed(unknownInstrument, running('a', 1_500), 0);
  view = probed(view, null, 1);
  view = probed(view, running('a', 1_500), 2);
  expect(view.restarts).toBe(0);
  expect(view.gapMs).toBeNull();
});

test('the gap of a restart runs from the stop order, or after a crash from the new start, to the next answer', () => {
  let view = probed(unknownInstrument, running('a', 1_000), 2_000);
  view = probed(view, running('b', 12_000, 10_000), 15_000);
  expect(view.gapMs).toBe(5_000);
  view = probed(view, running('b', 30_000), 33_000);
  expect(view.gapMs).toBe(3_000);
});

test('a new file that does not run in time fails; the reason: the instrument is silent, or runs an older file', () => {
  const silent = afterFile(unknownInstrument, 'b', true, 0);
  expect(phase(silent, 89_999)).toBe('Written');
  expect(phaseOf(silent, { deadlineMs: 90_000, monoMs: 90_000 })).toMatchObject({ reason: 'InstrumentNotRunning' });
  const old = probed(silent, running('a', 500), 10);
  expect(phaseOf(old, { deadlineMs: 90_000, monoMs: 90_000 })).toMatchObject({ reason: 'InstrumentNotRestarted' });
});

test('the message of a failure says how long the file has not run, not how long the instrument was silent', () => {
  let view = probed(afterFile(unknownInstrument, 'b', true, 0), running('a', 500), 10);
  const message = (monoMs: number): string | undefined => phaseOf(view, { deadlineMs: 90_000, monoMs }).message;
  expect(message(90_000)).toBe('the instrument has not run its file for 90 s: it still runs an older one');
  // The instrument answered until a second ago.
  view = probed(view, null, 89_000);
  expect(message(90_000)).toBe('the instrument has not run its file for 90 s: its health socket does not answer');
});

test('a second file restarts the deadline, and a failed config that runs at last is Running', () => {
  let view = afterFile(unknownInstrument, 'a', true, 0);
  view = afterFile(view, 'b', true, 80_000);
  expect(phase(view, 100_000)).toBe('Written');
  expect(phase(view, 170_000)).toBe('Failed');
  expect(phase(probed(view, running('b', 171_000), 171_000), 171_000)).toBe('Running');
});

test('the config of an instrument that stops answering for long counts as failed', () => {
  let view = probed(afterFile(unknownInstrument, 'a', false, 0), running('a', 1_500), 10);
  view = probed(view, null, 20);
  expect(phase(view, 30)).toBe('Written');
  expect(phase(view, 90_020)).toBe('Failed');
});
