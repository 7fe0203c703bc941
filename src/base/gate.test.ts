import { Gate } from './gate.ts';

/** Puts work of users into a gate and tells in which order it was let in. */
function scene(limit: number, kept = 0) {
  const gate = new Gate(limit, kept);
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

test('work of one user runs in the order it came, as much at a time as the gate lets in', async () => {
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

test('who comes after a crowd of one user gets the next free place, and both have as many from then on', async () => {
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

test('users with as much running are served in turn', async () => {
  const { ask, order, leave, settled } = scene(1);
  for (const name of ['x0', 'a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void ask(name);
  await settled();
  for (let i = 0; i < 6; i++) await leave(order.at(-1)!);
  expect(order).toEqual(['x0', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('who gives up while waiting leaves the line, and his user has no turn for it', async () => {
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

test('one user cannot take the places that are kept for others, and each of those gets one of them', async () => {
  const { gate, ask, order, leave, settled } = scene(4, 2);
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'd1']) void ask(name);
  await settled();
  expect([order, gate.running]).toEqual([['a1', 'a2', 'b1', 'c1'], 4]);
  for (const name of ['b1', 'c1']) await leave(name);
  expect(order.slice(4)).toEqual(['b2', 'd1']);
  for (const name of ['b2', 'd1']) await leave(name);
  expect([order.length, gate.running]).toEqual([6, 2]);
  await leave('a1');
  expect([order.at(-1), gate.running]).toEqual(['a3', 2]);
});
