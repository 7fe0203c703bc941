import { Random } from '../../testing/promql/random.ts';
import { FairQueues, type Held } from './fair-queues.ts';

test('the oldest item of the heaviest account is dropped first, even if another account has an older one', () => {
  const queues = new FairQueues<string>();
  queues.add('quiet', 'q1', 1);
  for (const item of ['n1', 'n2', 'n3']) queues.add('noisy', item, 1);
  const gone: string[] = [];
  while (queues.weight > 2) {
    const oldest = queues.oldestOfHeaviest()!;
    gone.push(oldest.item);
    queues.remove(oldest);
  }
  expect(gone).toEqual(['n1', 'n2']);
});

test('an item that grows keeps its place and counts with its new weight', () => {
  const queues = new FairQueues<string>();
  const first = queues.add('a', 'a1', 1);
  queues.add('a', 'a2', 1);
  queues.add('b', 'b1', 3);
  queues.grow(first, 5);
  expect([queues.weight, queues.oldestOfHeaviest()!.item]).toEqual([10, 'a1']);
  queues.remove(first);
  queues.remove(first);
  expect([queues.weight, queues.oldestOfHeaviest()!.item]).toEqual([4, 'b1']);
});

test('after any sequence of calls the queues hold what a plain list holds', () => {
  const random = new Random(20_240_601);
  const queues = new FairQueues<number>();
  let plain: Held<number>[] = [];
  for (let i = 0; i < 5_000; i++) {
    if (plain.length === 0 || random.below(5) < 3)
      plain.push(queues.add(`n${random.below(4)}`, i, 1 + random.below(9)));
    else {
      const at = random.below(plain.length);
      queues.remove(plain[at]!);
      plain = plain.toSpliced(at, 1);
    }
    const sums = new Map<string, number>();
    for (const { account, weight } of plain) sums.set(account, (sums.get(account) ?? 0) + weight);
    const total = [...sums.values()].reduce((sum, weight) => sum + weight, 0);
    const oldest = queues.oldestOfHeaviest();
    const most = Math.max(...sums.values());
    const expected = plain.find(({ account }) => account === oldest?.account);
    if (queues.weight !== total || oldest !== expected || (oldest && sums.get(oldest.account) !== most)) {
      throw new Error(`differs from the plain list after ${i} calls`);
    }
  }
  expect(queues.weight).toBeGreaterThan(0);
});
