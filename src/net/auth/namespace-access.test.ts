import { sleep } from '../../base/clock.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { NamespaceAccess, type NamespaceAccessOptions } from './namespace-access.ts';

type Review = NamespaceAccessOptions['reviews']['mayReadPods'];

const user = { username: 'a' };

/** A user without the right to all namespaces, of which there are `count`. */
function stage(count: number, mayReadPods: Review) {
  const clock = new FakeClock();
  const names = Array.from({ length: count }, (_, i) => `ns-${i}`);
  const access = new NamespaceAccess({
    clock,
    namespaces: { synced: true, names: () => names },
    reviews: { mayReadPods },
  });
  /** Asks now. The returned function says what came of it, and when. */
  const ask = (): (() => unknown) => {
    let answer: unknown;
    access.visible(user).then(
      (visible) => (answer = { at: clock.monotonic(), visible: [...(visible ?? [])] }),
      (error: unknown) => (answer = { at: clock.monotonic(), error: String(error) }),
    );
    return () => answer;
  };
  return { access, clock, ask };
}

test('after one review fails, no review follows the 16 that run at the same time', async () => {
  const asked: string[] = [];
  const answer = Promise.withResolvers<boolean>();
  const { access } = stage(100, async (_user, namespace) => {
    if (namespace === undefined) return false;
    asked.push(namespace);
    if (namespace === 'ns-0') throw new Error('the API server is away');
    return answer.promise;
  });
  await expect(access.visible(user)).rejects.toThrow('the API server is away');
  answer.resolve(true);
  await new Promise((done) => setImmediate(done));
  expect(asked).toHaveLength(16);
});

test('a request whose time is over does not end the reviews that another request waits for', async () => {
  const { clock, ask } = stage(1, async (_user, namespace, signal) => {
    await sleep(clock, 9_000, signal);
    return namespace !== undefined;
  });
  const first = ask();
  await clock.advance(9_500);
  const second = ask();
  await clock.advance(20_000);
  expect(first()).toEqual({ at: 10_000, error: 'TimeoutError: not done within 10000 ms' });
  expect(second()).toEqual({ at: 18_000, visible: ['ns-0'] });
  expect(clock.pending).toBe(0);
});

test('a review that goes on after its request has failed has a limit, and so have the requests that join it', async () => {
  let away = true;
  const { clock, ask } = stage(2, async (_user, namespace, signal) => {
    if (namespace === 'ns-1') await sleep(clock, 1e9, signal);
    if (namespace === 'ns-0' && away) throw new Error('the API server is away');
    return namespace !== undefined;
  });
  const first = ask();
  await clock.advance(5_000);
  expect(first()).toEqual({ at: 0, error: 'Error: the API server is away' });
  away = false;
  const second = ask();
  await clock.advance(60_000);
  expect(second()).toEqual({ at: 10_000, error: 'TimeoutError: not done within 10000 ms' });
  expect(clock.pending).toBe(0);
});
