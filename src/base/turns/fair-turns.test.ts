import { FairTurns, sharedSliceMs, sliceMs, type OwnTurns } from './fair-turns.ts';

/** Work that computes in slices of a given length, on a thread whose clock advances only during slices. */
function scene({ creditMs = 100, shortMs = 0 } = {}) {
  let now = 0;
  const deferred: (() => void)[] = [];
  const turns = new FairTurns({ monotonic: () => now, defer: (run) => deferred.push(run), creditMs, shortMs });
  const log: string[] = [];
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 8; i++) await Promise.resolve();
  };
  /** Computes this many slices, or until stopped. `name` is the user's letter and a number. */
  const work = (
    name: string,
    sliceMs: number,
    slices = Infinity,
    signal?: AbortSignal,
  ): { own: OwnTurns; end: Promise<number> } => {
    const own = turns.begin(name[0]!, signal);
    const run = async (): Promise<number> => {
      await own.next();
      for (let i = 0; i < slices && signal?.aborted !== true; i++) {
        log.push(name);
        now += sliceMs;
        if (i < slices - 1) await own.next();
      }
      own.end();
      return now;
    };
    return { own, end: run() };
  };
  /** Runs this many turns of the event loop, or until nothing waits. */
  const go = async (loops: number): Promise<void> => {
    for (let i = 0; i < loops; i++) {
      await settled();
      deferred.shift()?.();
    }
    await settled();
  };
  const share = (name: string): number => log.filter((one) => one.startsWith(name)).length / log.length;
  return { work, go, log, share, now: () => now, turns };
}

test('users who are busy all the time get equal shares, however much work each has and however long its slices are', async () => {
  const { work, go, log } = scene();
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) work(name, 10);
  work('b1', 10);
  work('c1', 30);
  await go(2_000);
  const time = (name: string): number => log.filter((one) => one[0] === name).length * (name === 'c' ? 30 : 10);
  const all = time('a') + time('b') + time('c');
  for (const name of ['a', 'b', 'c']) expect(time(name) / all).toBeCloseTo(1 / 3, 1);
});

test('a user who was idle goes before five who are always busy, after at most one of their slices', async () => {
  const { work, go, log, now } = scene();
  for (const name of ['a1', 'a2', 'b1', 'c1', 'd1', 'e1', 'e2']) work(name, 10);
  await go(200);
  const [asked, before] = [now(), log.length];
  const question = work('f1', 10, 5);
  await go(40);
  // One slice of another user may be running when the question comes; the five slices of the question follow.
  expect((await question.end) - asked).toBeLessThanOrEqual(60);
  expect(log.slice(before, before + 6).filter((name) => name !== 'f1').length).toBeLessThanOrEqual(1);
});

test('short questions in a row are each done soon, even if all come from one user', async () => {
  const { work, go, now } = scene({ shortMs: 50 });
  for (const name of ['a1', 'b1', 'c1', 'd1', 'e1']) work(name, 10);
  await go(200);
  for (let i = 0; i < 100; i++) {
    const asked = now();
    const question = work('f1', 10, 3);
    await go(12);
    expect((await question.end) - asked).toBeLessThanOrEqual(50);
  }
});

test('a user who ends and begins work again and again gets no more than an equal share', async () => {
  const { work, go, share } = scene();
  work('a1', 10);
  work('b1', 10);
  const again = async (): Promise<void> => {
    for (;;) await work('c1', 10, 3).end;
  };
  void again();
  await go(2_000);
  expect(share('c')).toBeLessThan(0.36);
  expect(share('c')).toBeGreaterThan(0.3);
});

test('new work that does not end goes first only until its credit is used up', async () => {
  const { work, go, log } = scene({ creditMs: 100 });
  work('a1', 10);
  await go(100);
  const before = log.length;
  work('b1', 10);
  await go(80);
  const since = log.slice(before);
  expect(since.slice(1, 10)).toEqual(Array(9).fill('b1'));
  expect(since.slice(20).filter((name) => name === 'a1').length).toBeGreaterThan(5);
});

test('a user whose work waits for something else than turns saves up no more than the credit', async () => {
  const { work, go, log, turns } = scene({ creditMs: 100 });
  turns.begin('b');
  work('a1', 10);
  await go(400);
  const before = log.length;
  work('b1', 10);
  await go(200);
  const since = log.slice(before + 20);
  expect(since.filter((name) => name === 'a1').length / since.length).toBeCloseTo(1 / 2, 1);
});

test('a new user goes before one who was busy earlier only until the credit is used up, even if nobody was busy between', async () => {
  const { work, go, log } = scene({ creditMs: 100 });
  work('a1', 10, 200);
  await go(500);
  work('b1', 10);
  await go(20);
  const before = log.length;
  work('a2', 10);
  await go(200);
  const since = log.slice(before + 20);
  expect(since.filter((name) => name === 'a2').length / since.length).toBeCloseTo(1 / 2, 1);
});

test('long work gets a fifth of the time, while short questions come without end', async () => {
  const { work, go, share } = scene({ shortMs: 50 });
  work('a1', 10);
  const again = async (): Promise<void> => {
    for (;;) await work('b1', 10, 3).end;
  };
  void again();
  await go(2_000);
  expect(share('a')).toBeGreaterThan(0.19);
  expect(share('a')).toBeLessThan(0.25);
});

test('slices are shorter while several users have work', async () => {
  let now = 0;
  const turns = new FairTurns({ monotonic: () => now });
  const own = turns.begin('a');
  await own.next();
  now += sharedSliceMs;
  expect(own.due()).toBe(false);
  const other = turns.begin('b');
  expect(own.due()).toBe(true);
  other.end();
  expect(own.due()).toBe(false);
  now += sliceMs;
  expect(own.due()).toBe(true);
});

test('of the work of one user, the piece that has computed least goes first', async () => {
  const { work, go, log } = scene();
  work('a1', 10);
  await go(40);
  const before = log.length;
  work('a2', 10, 3);
  await go(12);
  expect(log.slice(before, before + 4).filter((name) => name === 'a2')).toHaveLength(3);
});

test('work whose signal aborts waits for no turn, and work that has ended takes none', async () => {
  const { work, go, log, turns } = scene();
  work('a1', 10);
  const stop = new AbortController();
  const stopped = work('b1', 10, Infinity, stop.signal);
  await go(10);
  stop.abort();
  await stopped.end;
  await stopped.own.next();
  const ended = turns.begin('c');
  const waiting = ended.next();
  ended.end();
  ended.end();
  await Promise.all([waiting, ended.next()]);
  // From here on every turn goes to a1, the only one with work.
  const before = log.length;
  await go(20);
  expect(new Set(log.slice(before))).toEqual(new Set(['a1']));
  expect(log.length - before).toBeGreaterThanOrEqual(10);
});

test('on the event loop of the process, a question is done after a few slices of five endless users', async () => {
  let now = 0;
  const turns = new FairTurns({ monotonic: () => now });
  const stop = new AbortController();
  let others = 0;
  const endless = async (name: string): Promise<void> => {
    const own = turns.begin(name, stop.signal);
    while (!stop.signal.aborted) {
      await own.next();
      now++;
      others++;
    }
    own.end();
  };
  const all = ['a', 'b', 'c', 'd', 'e'].map(endless);
  while (others < 50) await new Promise((done) => setImmediate(done));
  const before = others;
  const own = turns.begin('f');
  for (let i = 0; i < 20; i++) {
    await own.next();
    now++;
  }
  own.end();
  expect(others - before).toBeLessThanOrEqual(1 + 20 / 4);
  stop.abort();
  await Promise.all(all);
});

test('one piece of work may wait for several turns at a time, and gets them all', async () => {
  const { go, turns } = scene();
  const own = turns.begin('a');
  const done: number[] = [];
  for (const i of [1, 2, 3]) void own.next().then(() => done.push(i));
  await go(20);
  expect(done).toEqual([1, 2, 3]);
  const stop = new AbortController();
  const stopped = turns.begin('b', stop.signal);
  for (const i of [4, 5]) void stopped.next().then(() => done.push(i));
  stop.abort();
  await go(2);
  expect(done.slice(3).sort()).toEqual([4, 5]);
  own.end();
  stopped.end();
});
