import { jest } from '@jest/globals';
import { collectGarbage } from '../testing/heap.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { RecentAnswers } from './recent-answers.ts';

function subject({ most = 10, from }: { most?: number; from?: 'question' | 'answer' } = {}) {
  const clock = new FakeClock();
  const answers = new RecentAnswers<string>({
    ...{ clock, keptMs: 1_000, most, isKept: (answer) => answer !== 'half' },
    ...(from ? { from } : {}),
  });
  return { clock, answers };
}

test('callers that ask while an answer is being found share it', async () => {
  const { answers } = subject();
  const ask = jest.fn(() => Promise.resolve('a'));
  await expect(Promise.all([answers.get('k', ask), answers.get('k', ask)])).resolves.toEqual(['a', 'a']);
  expect(ask).toHaveBeenCalledTimes(1);
});

test('an answer is reused until keptMs after the question', async () => {
  const { answers, clock } = subject();
  await answers.get('k', () => Promise.resolve('first'));
  await clock.advance(999);
  expect(answers.has('k')).toBe(true);
  await expect(answers.get('k', () => Promise.resolve('second'))).resolves.toBe('first');
  await clock.advance(1);
  expect(answers.has('k')).toBe(false);
  await expect(answers.get('k', () => Promise.resolve('second'))).resolves.toBe('second');
});

test('keptMs can count from the answer instead', async () => {
  const { answers, clock } = subject({ from: 'answer' });
  const { promise, resolve } = Promise.withResolvers<string>();
  const asked = answers.get('k', () => promise);
  await clock.advance(5_000);
  expect(answers.has('k')).toBe(true);
  resolve('late');
  await asked;
  await clock.advance(999);
  expect(answers.has('k')).toBe(true);
  await clock.advance(1);
  expect(answers.has('k')).toBe(false);
});

test('a failure, and an answer that is not to be kept, go only to the callers that waited', async () => {
  const { answers } = subject();
  await expect(answers.get('k', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(answers.has('k')).toBe(false);
  await expect(answers.get('k', () => Promise.resolve('half'))).resolves.toBe('half');
  expect(answers.has('k')).toBe(false);
});

test('the oldest answer makes room for a new one', async () => {
  const { answers, clock } = subject({ most: 2 });
  await answers.get('a', () => Promise.resolve('a'));
  await clock.advance(500);
  await answers.get('b', () => Promise.resolve('b'));
  await answers.get('c', () => Promise.resolve('c'));
  expect(['a', 'b', 'c'].map((key) => answers.has(key))).toEqual([false, true, true]);
});

test('expired answers are dropped when a new one is requested, even if there is room', async () => {
  const clock = new FakeClock();
  const answers = new RecentAnswers<object>({ clock, keptMs: 1_000, most: 10 });
  const answer = async (key: string): Promise<WeakRef<object>> =>
    new WeakRef(await answers.get(key, () => Promise.resolve({})));
  const found = [await answer('a'), await answer('b')];
  await clock.advance(500);
  found.push(await answer('c'));
  await clock.advance(500);
  found.push(await answer('d'));
  await collectGarbage();
  expect(found.map((one) => one.deref() !== undefined)).toEqual([false, false, true, true]);
});
