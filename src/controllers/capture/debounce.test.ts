import { FakeClock } from '../../testing/fake-clock.ts';
import { Debounce } from './debounce.ts';

function aDebounce() {
  const clock = new FakeClock();
  let runs = 0;
  const debounce = new Debounce(clock, { quietMs: 100, maxMs: 500 }, () => runs++);
  return { clock, debounce, runs: () => runs };
}

test('calls close together are one run, once it has been quiet', async () => {
  const { clock, debounce, runs } = aDebounce();
  for (let i = 0; i < 3; i++) {
    debounce.call();
    await clock.advance(60);
  }
  expect(runs()).toBe(0);
  await clock.advance(40);
  expect(runs()).toBe(1);
});

test('calls that never cease do not put it off beyond the longest wait', async () => {
  const { clock, debounce, runs } = aDebounce();
  for (let at = 0; at < 1_000; at += 50) {
    debounce.call();
    await clock.advance(50);
  }
  expect(runs()).toBe(2);
});

test('a run that is due can be forgotten', async () => {
  const { clock, debounce, runs } = aDebounce();
  debounce.call();
  debounce.cancel();
  await clock.advance(1_000);
  expect(runs()).toBe(0);
});
