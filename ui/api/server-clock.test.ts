import { jest } from '@jest/globals';
import { ServerClock } from './server-clock.ts';

const now = Date.parse('2026-11-22T09:00:00.500Z');
const hourMs = 3_600_000;
const answer = (date?: string): Response => new Response('', { headers: date === undefined ? {} : { date } });

let browserNow: number;
let clock: ServerClock;
const learnClock = (response: Response, tookMs = 0): void => clock.learn(response, browserNow - tookMs);

beforeEach(() => {
  browserNow = now;
  clock = new ServerClock(() => browserNow);
});

test('before an answer says otherwise, the clock of the browser counts', () => {
  expect([clock.isKnown, clock.now(), clock.browserAhead]).toEqual([false, now, 0]);
  // Slow as it is, nothing else is known.
  learnClock(answer('Sun, 22 Nov 2026 08:00:00 GMT'), 60_000);
  expect([clock.isKnown, clock.now(), clock.browserAhead]).toEqual([true, now - hourMs, hourMs]);
});

test.each([
  ['Sun, 22 Nov 2026 08:00:00 GMT', -3_600_000, 3_600_000],
  ['Sun, 22 Nov 2026 09:30:04 GMT', 1_804_000, -1_800_000],
  ['Sun, 22 Nov 2026 09:00:20 GMT', 20_000, 0],
  ['Sun, 22 Nov 2026 09:00:26 GMT', 26_000, 0],
  ['Sun, 22 Nov 2026 09:00:30 GMT', 30_000, -30_000],
  ['Sun, 22 Nov 2026 08:59:59 GMT', 0, 0],
])('an answer of %s puts the clock right by %p ms, and is told as %p ms', (date, ahead, told) => {
  learnClock(answer(date));
  expect([clock.now() - now, clock.browserAhead]).toEqual([ahead, told]);
  // What a proxy answers without the header does not undo it.
  learnClock(answer());
  expect(clock.now() - now).toBe(ahead);
});

test('an answer that was read late changes nothing', () => {
  learnClock(answer('Sun, 22 Nov 2026 09:00:00 GMT'));
  learnClock(answer('Sun, 22 Nov 2026 08:00:00 GMT'), 5_001);
  expect(clock.now()).toBe(now);
  learnClock(answer('Sun, 22 Nov 2026 08:00:00 GMT'), 5_000);
  expect(clock.now()).toBe(now - hourMs);
});

test('a change that the user is told about is heard of once', () => {
  learnClock(answer('Sun, 22 Nov 2026 09:00:00 GMT'));
  const heard = jest.fn();
  const end = clock.onChange(heard);
  for (const second of [0, 1, 20, 0]) learnClock(answer(`Sun, 22 Nov 2026 09:00:${second} GMT`));
  expect(heard).not.toHaveBeenCalled();
  for (const second of [0, 1, 2]) learnClock(answer(`Sun, 22 Nov 2026 08:00:0${second} GMT`));
  expect(heard).toHaveBeenCalledTimes(1);
  end();
  learnClock(answer('Sun, 22 Nov 2026 09:00:00 GMT'));
  expect(heard).toHaveBeenCalledTimes(1);
});

test.each([
  ['between two told values', -34_700, -35_300, 30_000],
  ['where it begins to be told', -29_700, -30_300, 30_000],
])('a difference that scatters around a border, %s, is heard of once', (_, one, other, told) => {
  const second = 'Sun, 22 Nov 2026 09:00:00 GMT';
  learnClock(answer(second));
  const heard = jest.fn();
  const end = clock.onChange(heard);
  for (const ahead of [one, other, one, other, one]) {
    browserNow = now - ahead;
    learnClock(answer(second));
  }
  expect([clock.browserAhead, heard.mock.calls.length]).toEqual([told, 1]);
  end();
});

test('a difference that has really changed is told anew, and so is its end', () => {
  const told = ['00', '29', '31', '29', '28', '27', '29', '36', '37', '44', '47', '34', '33', '27'].map((second) => {
    learnClock(answer(`Sun, 22 Nov 2026 09:00:${second} GMT`));
    return Math.abs(clock.browserAhead) / 1_000;
  });
  expect(told).toEqual([0, 0, 30, 30, 30, 0, 0, 40, 40, 40, 50, 30, 30, 0]);
});
