import { defaultPoolBytes, MemoryPool, type MemoryPart } from './memory-pool.ts';

const settled = (): Promise<void> => new Promise((done) => setImmediate(done));
const never = new AbortController().signal;

/** Takes memory. Throws when there is none, which ends the work; the pool may then run the work again. */
function take(part: MemoryPart, bytes: number): void {
  const shortage = part.take(bytes);
  if (shortage !== null) throw new Error(shortage.message);
}

/** Starts work of `user` that takes `first` bytes, then more at each call of `grow`, and ends when `end` is called. */
function work(pool: MemoryPool, user: string, first: number) {
  const account = pool.open(user);
  let runs = 0;
  let has = false;
  let grow: (bytes: number) => void = () => {};
  let end: () => void = () => {};
  const done = account
    .run(never, async ({ signal, part }) => {
      runs++;
      const memory = part();
      take(memory, first);
      has = true;
      await new Promise<void>((resolve, reject) => {
        grow = (bytes) => {
          const shortage = memory.take(bytes);
          if (shortage !== null) reject(new Error(shortage.message));
        };
        end = resolve;
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    })
    .finally(() => account.close());
  done.catch(() => {});
  return { done, grow: (bytes: number) => grow(bytes), end: () => end(), runs: () => runs, has: () => has };
}

test('work that needs more than the whole pool is refused at once, with its size and the limit', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 10 });
  const account = pool.open('a');
  const run = account.run(never, async ({ part }) => take(part(), 111));
  await expect(run).rejects.toThrow('would hold 111 bytes of memory, all queries together may hold 100');
  expect(pool.heldBytes).toBe(0);
});

test('work that finds no memory gives back what it has, waits until there is enough, and runs again', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  const first = work(pool, 'a', 60);
  const second = work(pool, 'a', 30);
  second.grow(30);
  await settled();
  expect([first.runs(), second.runs(), pool.heldBytes]).toEqual([1, 1, 60]);
  first.end();
  await settled();
  // The memory that `second` needed before is reserved for it.
  expect([second.runs(), pool.heldBytes]).toEqual([2, 60]);
  second.end();
  await Promise.all([first.done, second.done]);
  expect(pool.heldBytes).toBe(0);
});

test('work that waits is charged no memory: twenty growing pieces of work all end, within the limit', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  let most = 0;
  const one = async (user: string): Promise<void> => {
    const account = pool.open(user);
    await account.run(never, async ({ part }) => {
      const memory = part();
      for (let i = 0; i < 9; i++) {
        take(memory, 10);
        most = Math.max(most, pool.heldBytes);
        await settled();
      }
    });
    account.close();
  };
  await Promise.all(Array.from({ length: 20 }, () => one('a')));
  // One piece takes 90 bytes at most, so several ran at the same time, and some had to restart.
  expect(most).toBe(100);
  expect(pool.restarts).toBeGreaterThan(0);
  expect(pool.heldBytes).toBe(0);
});

test('work may take up to `freeBytes` without charge, however full the pool is', () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 10 });
  work(pool, 'a', 110);
  const small = work(pool, 'b', 10);
  expect([small.has(), pool.heldBytes]).toEqual([true, 100]);
  // One byte more is not free.
  const larger = work(pool, 'a', 11);
  expect([larger.has(), pool.heldBytes]).toEqual([false, 100]);
});

test('work of the user who holds most memory stops for work of others, and restarts when there is room', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  const [large, larger] = [work(pool, 'a', 40), work(pool, 'a', 50)];
  const other = work(pool, 'b', 30);
  await settled();
  expect([large.runs(), larger.runs(), other.runs(), pool.heldBytes]).toEqual([1, 1, 1, 70]);
  other.end();
  await settled();
  expect([larger.runs(), pool.heldBytes]).toEqual([2, 90]);
  for (const { end } of [large, larger]) end();
  await Promise.all([large.done, larger.done, other.done]);
  expect(pool.heldBytes).toBe(0);
});

test('work of one user does not stop for another user who would then hold more memory than the first', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  const small = work(pool, 'a', 40);
  const large = work(pool, 'b', 70);
  await settled();
  expect([small.runs(), large.runs(), pool.heldBytes]).toEqual([1, 1, 40]);
});

test('an answer that its client still reads is ended to make room, but only once', () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  let ends = 0;
  const account = pool.open('a', () => ends++);
  return account
    .run(never, ({ part }) => Promise.resolve(take(part(), 90)))
    .then(() => {
      work(pool, 'b', 20);
      work(pool, 'c', 20);
      expect([ends, pool.heldBytes]).toEqual([1, 130]);
      account.close();
      expect(pool.heldBytes).toBe(40);
    });
});

test('what an account holds of its own is not counted twice when its next work waits', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  const account = pool.open('a');
  await account.run(never, ({ part }) => Promise.resolve(take(part(), 40)));
  const other = work(pool, 'b', 40);
  let runs = 0;
  const second = account.run(never, ({ part }) => Promise.resolve(void (runs++, take(part(), 30))));
  await settled();
  expect([runs, pool.heldBytes]).toEqual([1, 80]);
  other.end();
  await second;
  expect([runs, pool.heldBytes]).toEqual([2, 70]);
});

test('work that waits needs what it wanted itself, not twice what earlier work of its account needed', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  const account = pool.open('a');
  const other = work(pool, 'b', 50);
  const first = account.run(never, ({ part }) => Promise.resolve(take(part(), 60)));
  await settled();
  other.end();
  await first;
  const [small, large] = [work(pool, 'b', 10), work(pool, 'b', 20)];
  const second = account.run(never, ({ part }) => Promise.resolve(take(part(), 15)));
  await settled();
  large.end();
  await second;
  expect([pool.restarts, pool.heldBytes]).toEqual([2, 85]);
  small.end();
});

/** An account that holds `first` bytes of its first work, while a second work wants `more`. */
async function holding(pool: MemoryPool, user: string, first: number, more: number) {
  const account = pool.open(user);
  await account.run(never, ({ part }) => Promise.resolve(take(part(), first)));
  const second = (): Promise<void> => account.run(never, ({ part }) => Promise.resolve(take(part(), more)));
  return { account, second };
}

test('of accounts that wait for each other’s earlier results, the one that holds most is refused', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  const large = await holding(pool, 'a', 50, 10);
  const small = await holding(pool, 'b', 45, 15);
  const running = work(pool, 'c', 5);
  const refused = expect(large.second()).rejects.toMatchObject({
    code: 'ERR_QUERY_MEMORY',
    message: 'all queries together hold 100 of 100 bytes of memory, and this one needs 10 more',
  });
  const granted = small.second();
  await settled();
  // Both wait for the running work, which may not be enough.
  expect(pool.restarts).toBe(2);
  running.end();
  await refused;
  expect(pool.heldBytes).toBe(95);
  large.account.close();
  await granted;
  expect(pool.heldBytes).toBe(60);
});

test('an account whose own result fills the pool goes first when no other could be admitted', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  const { account, second } = await holding(pool, 'a', 50, 30);
  const running = work(pool, 'b', 30);
  const granted = second();
  const other = work(pool, 'c', 60);
  await settled();
  running.end();
  await granted;
  expect(other.runs()).toBe(1);
  account.close();
  await settled();
  expect(other.runs()).toBe(2);
});

test('accounts are not refused while work of one of them still runs, but when it has ended', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  const large = await holding(pool, 'a', 50, 10);
  const small = await holding(pool, 'b', 45, 15);
  let end: () => void = () => {};
  const beside = small.account.run(never, () => new Promise<void>((resolve) => (end = resolve)));
  let refused: unknown;
  const outcome = large.second().catch((error: unknown) => (refused = error));
  const granted = small.second();
  await settled();
  expect([pool.restarts, refused]).toEqual([2, undefined]);
  end();
  await Promise.all([beside, outcome]);
  expect(refused).toMatchObject({ code: 'ERR_QUERY_MEMORY' });
  large.account.close();
  await granted;
});

test('a request that is aborted leaves the queue, and the request behind it runs', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  const first = work(pool, 'a', 60);
  const gone = new AbortController();
  const waiting = pool.open('a').run(gone.signal, ({ part }) => Promise.resolve(take(part(), 90)));
  const behind = work(pool, 'a', 50);
  await settled();
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  first.end();
  await settled();
  expect(behind.runs()).toBe(2);
});

test('work that goes on after its request has ended is charged no memory', async () => {
  const pool = new MemoryPool({ limitBytes: 100, freeBytes: 0 });
  const account = pool.open('a');
  let goOn: () => void = () => {};
  const run = account.run(never, async ({ part }) => {
    const memory = part();
    take(memory, 40);
    await new Promise<void>((resolve) => (goOn = resolve));
    take(memory, 40);
  });
  account.close();
  goOn();
  await run;
  expect(pool.heldBytes).toBe(0);
});

test('the limit is half of the container’s memory, or of the given bytes where the container is unlimited', () => {
  expect(defaultPoolBytes(2 ** 31, 4_000)).toBe(2 ** 30);
  expect([0, undefined, 2 ** 63].map((bytes) => defaultPoolBytes(bytes, 4_000))).toEqual([2_000, 2_000, 2_000]);
});
