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

test('nothing is known at first: the instrument may live, the config is no further than written', () => {
  const view = afterFile(unknownInstrument, 1_000, false, 0);
  expect(runsOldFile(view)).toBe(false);
  expect(phase(view, 10)).toBe('Written');
});

test('an instrument that started after the file runs it', () => {
  const view = afterProbe(afterFile(unknownInstrument, 1_000, false, 0), 1_500, 10);
  expect(runsFile(view)).toBe(true);
  expect(phase(view, 10)).toBe('Running');
});

test('an instrument that started before the file must restart, and runs it when it did', () => {
  let view = afterProbe(afterFile(unknownInstrument, 1_000, false, 0), 1_500, 10);
  view = afterFile(view, 5_000, true, 20);
  expect(runsOldFile(view)).toBe(true);
  expect(phase(view, 30)).toBe('Written');
  view = afterProbe(view, null, 1_000);
  expect(runsOldFile(view)).toBe(false);
  expect(phase(view, 1_000)).toBe('Written');
  view = afterProbe(view, 9_000, 2_000);
  expect(phase(view, 2_000)).toBe('Running');
  expect(view.restarts).toBe(1);
});

test('the same start read twice, with the jitter of a probe, is no restart', () => {
  let view = afterProbe(unknownInstrument, 1_500, 0);
  view = afterProbe(view, 1_503, 1);
  view = afterProbe(view, 1_497, 2);
  expect(view.restarts).toBe(0);
  expect(view.startMs).toBe(1_500);
});

test('a new file that nobody runs in time fails, with a reason that tells which of both it is', () => {
  const silent = afterFile(unknownInstrument, 1_000, true, 0);
  expect(phaseOf(silent, { deadlineMs: 90_000, monoMs: 90_000 })).toMatchObject({ reason: 'InstrumentNotRunning' });
  const old = afterProbe(silent, 500, 10);
  expect(phaseOf(old, { deadlineMs: 90_000, monoMs: 90_000 })).toMatchObject({ reason: 'InstrumentNotRestarted' });
});

test('a second file starts the wait afresh, and running at last mends a failure', () => {
  let view = afterFile(unknownInstrument, 1_000, true, 0);
  view = afterFile(view, 2_000, true, 80_000);
  expect(phase(view, 100_000)).toBe('Written');
  expect(phase(view, 170_000)).toBe('Failed');
  expect(phase(afterProbe(view, 3_000, 171_000), 171_000)).toBe('Running');
});

test('an instrument that stops answering for long fails the config it ran', () => {
  let view = afterProbe(afterFile(unknownInstrument, 1_000, false, 0), 1_500, 10);
  view = afterProbe(view, null, 20);
  expect(phase(view, 30)).toBe('Written');
  expect(phase(view, 90_020)).toBe('Failed');
});
