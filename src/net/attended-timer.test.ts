import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { FakeClock } from '../testing/fake-clock.ts';
import { attendedTimer, eventLoopBusyMs } from './attended-timer.ts';

/** When a deadline of 1 s fires. `latestMs` limits its extension; `busyUntil(t)` is the busy time up to time t. */
async function firedAt(latestMs: number, busyUntil: (elapsed: number) => number): Promise<number> {
  const clock = new FakeClock();
  const started = clock.monotonic();
  const elapsed = (): number => clock.monotonic() - started;
  let fired = -1;
  attendedTimer({ clock, busyMs: () => busyUntil(elapsed()) })(() => (fired = elapsed()), 1_000, latestMs);
  while (fired < 0 && elapsed() < 60_000) await clock.advance(10);
  return fired;
}

test('a deadline is not extended in an idle process', async () => {
  expect(await firedAt(5_000, () => 0)).toBe(1_000);
});

test('a deadline is extended by the busy time of the process', async () => {
  expect(await firedAt(5_000, (elapsed) => Math.min(elapsed, 700))).toBe(1_700);
});

test('a process that is busy half of the time doubles the deadline', async () => {
  expect(await firedAt(5_000, (elapsed) => elapsed / 2)).toBeCloseTo(2_000, -2);
});

test('a deadline in a process that is always busy is extended to its latest time, and no further', async () => {
  expect(await firedAt(5_000, (elapsed) => elapsed)).toBe(5_000);
  expect(await firedAt(500, (elapsed) => elapsed)).toBe(1_000);
});

test.each([
  ['before its time', 500],
  ['after it was extended', 1_500],
])('a deadline that was cancelled %s never fires', async (_when, at) => {
  const clock = new FakeClock();
  let fired = false;
  const cancel = attendedTimer({ clock, busyMs: () => clock.monotonic() })(() => (fired = true), 1_000, 60_000);
  await clock.advance(at);
  cancel();
  cancel();
  await clock.advance(120_000);
  expect([fired, clock.pending]).toEqual([false, 0]);
});

test('the busy time counts what the event loop does, not what it waits for', async () => {
  const before = eventLoopBusyMs();
  const end = performance.now() + 30;
  while (performance.now() < end);
  // The loop counts a turn when it is over.
  await new Promise((done) => setImmediate(done));
  expect(eventLoopBusyMs() - before).toBeGreaterThanOrEqual(25);
  const [waitsFrom, busyThen] = [performance.now(), eventLoopBusyMs()];
  await promisify(execFile)(process.execPath, ['-e', 'setTimeout(() => {}, 200)']);
  expect(eventLoopBusyMs() - busyThen).toBeLessThan((performance.now() - waitsFrom) / 2);
});
