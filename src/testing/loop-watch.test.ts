import { LoopWatch, percentileOfSlices } from './loop-watch.ts';

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

test('a percentile of delays covers all reports, and is the upper bound of the slice that it lies in', () => {
  const many = [0, 990, 5];
  const long = Object.assign(new Array<number>(81).fill(0), { 80: 5 });
  expect(percentileOfSlices([many, long], 0.999)).toBe(81);
  expect(percentileOfSlices([many, long], 0.993)).toBe(3);
  expect(percentileOfSlices([many, long], 0.9)).toBe(2);
  expect(percentileOfSlices([], 0.999)).toBe(0);
});
