import { FakeClock } from '../../testing/fake-clock.ts';
import { DepartedNodes } from './departed-nodes.ts';

const agents = (...nodes: string[]) =>
  nodes.map((node) => ({ node, address: '10.0.0.1', absence: undefined, nodeReady: true }));

test('a node that left is known for as long as a window looks back', async () => {
  const clock = new FakeClock();
  const departed = new DepartedNodes(clock);
  departed.note(agents('a', 'b', 'c'));
  await clock.advance(10_000);
  departed.note(agents('b'));
  expect(departed.within(60_000)).toEqual(['a', 'c']);
  await clock.advance(60_000);
  departed.note(agents('b'));
  expect([departed.within(60_000), departed.within(60_001)]).toEqual([
    ['a', 'c'],
    ['a', 'c'],
  ]);
  await clock.advance(1);
  expect([departed.within(60_000), departed.within(300_000)]).toEqual([[], ['a', 'c']]);
});

test('a node that came back has not left, and one that never had an agent has nothing that could be lacking', () => {
  const departed = new DepartedNodes(new FakeClock());
  const never = { node: 'n', address: undefined, absence: 'no agent pod', nodeReady: false };
  departed.note([...agents('a'), never]);
  departed.note([]);
  departed.note(agents('a'));
  expect(departed.within(60_000)).toEqual([]);
});

test('one whose agent went before it still had one', () => {
  const departed = new DepartedNodes(new FakeClock());
  departed.note(agents('a'));
  departed.note([{ node: 'a', address: undefined, absence: 'no agent pod', nodeReady: false }]);
  departed.note([]);
  expect(departed.within(60_000)).toEqual(['a']);
});
