import { MessageChannel } from 'node:worker_threads';
import { FairTurns, sliceMs } from './fair-turns.ts';
import { Pace } from './turns.ts';

/** Turns with a made-up clock and event loop. `pass` lets time pass; `round` runs one round of the event loop. */
function stage(): { turns: FairTurns; pass: (ms: number) => void; round: () => Promise<void> } {
  let now = 0;
  let next: (() => void)[] = [];
  const turns = new FairTurns({ monotonic: () => now, defer: (run) => void next.push(run) });
  return {
    turns,
    pass: (ms) => void (now += ms),
    round: async () => {
      const runs = next;
      next = [];
      for (const run of runs) run();
      for (let i = 0; i < 10; i++) await Promise.resolve();
    },
  };
}

test('a turn is due before the first slice of work, and when a slice has lasted long enough', async () => {
  const { turns, pass, round } = stage();
  expect(turns.due()).toBe(true);
  const turn = turns.next();
  await round();
  await turn;
  expect(turns.due()).toBe(false);
  pass(sliceMs - 1);
  expect(turns.due()).toBe(false);
  pass(1);
  expect(turns.due()).toBe(true);
});

test('each round of the event loop lets one waiter go on, in the order of their calls of next()', async () => {
  const { turns, round } = stage();
  const order: string[] = [];
  const loop = async (name: string): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await turns.next();
      order.push(name);
    }
  };
  void loop('a');
  void loop('b');
  for (let i = 1; i <= 6; i++) {
    await round();
    expect(order).toHaveLength(i);
  }
  expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
});

test('timers and messages run between the slices of computing work', async () => {
  const turns = new FairTurns();
  let ticks = 0;
  let input = '';
  const timer = setInterval(() => ticks++, 1);
  const { port1, port2 } = new MessageChannel();
  port1.on('message', (text: string) => (input = text));
  port2.postMessage('asked');
  // A busy machine may stop the process for longer than several ticks of the timer, so slices are not counted exactly.
  for (let slice = 0; slice < 200 && (ticks <= 2 || input === ''); slice++) {
    while (!turns.due()) Math.sqrt(ticks);
    await turns.next();
  }
  clearInterval(timer);
  port1.close();
  expect(ticks).toBeGreaterThan(2);
  expect(input).toBe('asked');
});

test('a pace asks only after enough work whether a turn is due, and stops after its signal has aborted', async () => {
  let looks = 0;
  const stop = new AbortController();
  const pace = new Pace(stop.signal, { due: () => ++looks > 1, next: () => Promise.resolve() });
  expect(pace.spend(19_999)).toBe(false);
  expect(looks).toBe(0);
  expect(pace.spend(1)).toBe(false);
  expect(looks).toBe(1);
  expect(pace.spend(20_000)).toBe(true);
  await pace.turn();
  const turn = pace.turn();
  stop.abort(new Error('gone'));
  await expect(turn).rejects.toThrow('gone');
});

test('on the real event loop, too, each of many waiters goes on in a round of its own, in order', async () => {
  const turns = new FairTurns();
  let loops = 0;
  let counting = true;
  const count = (): void => {
    loops++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const seen: [number, number][] = [];
  await Promise.all([0, 1, 2, 3].map((i) => turns.next().then(() => seen.push([i, loops]))));
  counting = false;
  expect(seen.map(([i]) => i)).toEqual([0, 1, 2, 3]);
  expect(new Set(seen.map(([, loop]) => loop)).size).toBe(4);
});
