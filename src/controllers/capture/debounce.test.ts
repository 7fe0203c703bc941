import { FakeClock } from '../../testing/fake-clock.ts';
import { Debounce } from './debounce.ts';

function aDebounce() {
  const clock = new FakeClock();
  let runs = 0;
  const debounce = new Debounce(clock, { quietMs: 100, maxMs: 500 }, () => runs++);
  return { clock, debounce, runs: () => runs };
}

test('calls in quick succession cause one run, after a quiet time', async () => {
  const { clock, debounce, runs } = aDebounce();
  for (let i = 0; i < 3; i++) {
    debounce.call();
    await clock.advance(60);
  }
  expect(runs()).toBe(0);
  await clock.advance(40);
  expect(runs()).toBe(1);
});

test('calls that never stop do not delay a run beyond the maximum wait', async () => {
  const { clock, debounce, runs } = aDebounce();
  for (let at = 0; at < 1_000; at += 50) {
    debounce.call();
    await clock.advance(50);
  }
  expect(runs()).toBe(2);
});

test('a pending run can be cancelled', async () => {
  const { clock, debounce, runs } = aDebounce();
  debounce.call();
  debounce.cancel();
  await clock.advance(1_000);
  expect(runs()).toBe(0);
});
