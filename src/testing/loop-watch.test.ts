import { LoopWatch, shareOfLongSlices } from './loop-watch.ts';

const turn = (): Promise<void> => new Promise((done) => setTimeout(done, 5));

function compute(ms: number): void {
  const from = process.threadCpuUsage();
  for (;;) {
    const { user, system } = process.threadCpuUsage(from);
    if (user + system >= ms * 1000) return;
  }
}

test('reports the longest time that the event loop was blocked, and forgets it after the report', async () => {
  const watch = new LoopWatch();
  watch.start();
  // Delays are measured from the second firing of the timer on.
  for (let i = 0; i < 5; i++) await turn();
  compute(40);
  await turn();
  compute(10);
  await turn();
  const held = watch.report();
  expect(held.longestCpuMs).toBeGreaterThanOrEqual(40);
  expect(held.longestMs).toBeGreaterThanOrEqual(30);
  expect(held.residentBytes).toBeGreaterThan(1e6);
  compute(5);
  await turn();
  expect(watch.report().longestCpuMs).toBeLessThan(40);
  watch.stop();
});

test('the share of long slices is their part of the processor time of all reports; idle slices do not count', () => {
  const many = [100_000, 90, 5];
  const long = Object.assign(new Array<number>(81).fill(0), { 80: 5 });
  expect(shareOfLongSlices([many, long], 50)).toBe(0.8);
  expect(shareOfLongSlices([many, long], 80)).toBe(0.8);
  expect(shareOfLongSlices([many, long], 81)).toBe(0);
  expect(shareOfLongSlices([many, long], 2)).toBe(0.82);
  expect(shareOfLongSlices([], 50)).toBe(0);
});
