import { fairPlaces, Gate, type Places } from './gate.ts';

/** A gate, and the order in which it lets in the work of users. */
function scene(limit: number, placesOf?: (limit: number) => Places) {
  const gate = new Gate(limit, placesOf);
  const order: string[] = [];
  const leaves = new Map<string, () => void>();
  const settled = (): Promise<void> => new Promise((done) => setImmediate(done));
  return {
    gate,
    order,
    settled,
    ask: (name: string, user = name[0]!, signal = new AbortController().signal): Promise<void> =>
      gate.enter(signal, user).then((leave) => {
        order.push(name);
        leaves.set(name, leave);
      }),
    leave: async (name: string): Promise<void> => {
      leaves.get(name)!();
      await settled();
    },
  };
}

test('work of one user runs in the order it came, up to the limit of the gate at a time', async () => {
  const { gate, ask, order, leave, settled } = scene(2);
  for (const name of ['a1', 'a2', 'a3', 'a4']) void ask(name);
  await settled();
  expect([order, gate.running]).toEqual([['a1', 'a2'], 2]);
  await leave('a2');
  await leave('a2');
  expect([order, gate.running]).toEqual([['a1', 'a2', 'a3'], 2]);
  for (const name of ['a1', 'a3']) await leave(name);
  await leave('a4');
  expect(gate.running).toBe(0);
});

test('a user who comes after many requests of another gets the next free place, and both have equally many from then on', async () => {
  const { ask, order, leave, settled } = scene(2);
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2']) void ask(name);
  await settled();
  await leave('a1');
  expect(order.at(-1)).toBe('b1');
  await leave('a2');
  expect(order.at(-1)).toBe('a3');
  await leave('b1');
  expect(order.at(-1)).toBe('b2');
});

test('users with equally many running requests are served in turn', async () => {
  const { ask, order, leave, settled } = scene(1);
  for (const name of ['x0', 'a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void ask(name);
  await settled();
  for (let i = 0; i < 6; i++) await leave(order.at(-1)!);
  expect(order).toEqual(['x0', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('a request that is aborted while it waits leaves the queue, and uses no turn of its user', async () => {
  const { gate, ask, order, leave, settled } = scene(1);
  void ask('a1');
  const gone = new AbortController();
  const given = ask('b1', 'b', gone.signal);
  void ask('c1');
  await settled();
  gone.abort(new Error('went away'));
  await expect(given).rejects.toThrow('went away');
  await expect(ask('b2', 'b', gone.signal)).rejects.toThrow('went away');
  await leave('a1');
  expect(order).toEqual(['a1', 'c1']);
  await leave('c1');
  expect(gate.running).toBe(0);
});

test('where places are shared fairly, one user gets half of them, and another gets the rest', async () => {
  const { gate, ask, order, leave, settled } = scene(4, fairPlaces);
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'b3']) void ask(name);
  await settled();
  expect([order, gate.running]).toEqual([['a1', 'a2', 'b1', 'b2'], 4]);
  await leave('a1');
  expect([order.at(-1), gate.running]).toEqual(['a3', 4]);
});

test('five users with twenty endless pieces of work each do not keep a sixth out, nor seven more', async () => {
  const { ask, order, settled } = scene(20, fairPlaces);
  const asked: Promise<void>[] = [];
  for (const user of ['a', 'b', 'c', 'd', 'e']) for (let i = 0; i < 20; i++) asked.push(ask(`${user}${i}`));
  await settled();
  for (const user of ['f', 'g', 'h', 'i', 'j', 'k', 'l', 'm']) {
    void ask(`${user}0`);
    await settled();
    expect(order.at(-1)).toBe(`${user}0`);
  }
  // Each of the five has at least its share of the limit. No more than twice the limit runs in all.
  const of = (user: string): number => order.filter((name) => name.startsWith(user)).length;
  expect(['a', 'b', 'c', 'd', 'e'].map(of)).toEqual([10, 10, 5, 4, 3]);
  expect(order).toHaveLength(40);
  void ask('n0');
  await settled();
  expect(order).toHaveLength(40);
});

test('work beyond the limit ends before a user with running work gets another place', async () => {
  const { gate, ask, order, leave, settled } = scene(2, fairPlaces);
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) void ask(name);
  await settled();
  expect([order, gate.running]).toEqual([['a1', 'a2', 'b1', 'c1'], 4]);
  for (const name of ['b1', 'c1']) await leave(name);
  expect([order.length, gate.running]).toEqual([4, 2]);
  await leave('a1');
  expect([order.at(-1), gate.running]).toEqual(['a3', 2]);
});

test('when the last work of a user ends, all others whose shares become larger are let in at once', async () => {
  const { ask, order, leave, settled } = scene(12, () => ({ beyond: 12 }));
  const many = Array.from({ length: 12 }, (_, i) => `a${i}`);
  for (const name of [...many, 'b0', 'c0', 'd0', 'c1', 'd1', 'c2', 'd2']) void ask(name);
  await settled();
  // A user's share is limit / (users + 1), rounded down: two if there are four users, three if there are three.
  expect(order).toEqual([...many, 'b0', 'c0', 'd0', 'c1', 'd1']);
  await leave('b0');
  expect(order.slice(17)).toEqual(['c2', 'd2']);
});

test('a larger limit admits waiting work, and a smaller one lets running work end', async () => {
  const { gate, ask, order, leave, settled } = scene(1);
  for (const name of ['a1', 'a2', 'a3', 'a4']) void ask(name);
  await settled();
  gate.resize(3);
  await settled();
  expect(order).toEqual(['a1', 'a2', 'a3']);
  gate.resize(1);
  await leave('a1');
  await leave('a2');
  expect(order).toHaveLength(3);
  await leave('a3');
  expect(order.at(-1)).toBe('a4');
});

test('a user can be limited to some places, however many are free', async () => {
  const { ask, order, settled } = scene(10, () => ({ perUser: 2 }));
  for (const name of ['a1', 'a2', 'a3', 'b1']) void ask(name);
  await settled();
  expect(order).toEqual(['a1', 'a2', 'b1']);
});
