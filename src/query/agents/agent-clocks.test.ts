import { AgentClocks } from './agent-clocks.ts';

/** The measured offset of an agent whose clock is off by `offMs`, after an answer that took 200 ms. */
function offsetOf(offMs: number): number | null {
  let now = 1_700_000_000_900;
  const clocks = new AgentClocks({ now: () => now });
  const answered = clocks.ask('node-1');
  const saidMs = now + 100 + offMs;
  now += 200;
  answered(new Date(saidMs).toUTCString());
  return clocks.offsetMs('node-1');
}

test.each([
  ['a right clock has the offset 0, at whichever point of a second it is read', [0, 1, 99, 500, -300, -900], [0, 0]],
  ['the offset of a clock that is ahead is measured to about a second', [5_000, 5_499, 5_999], [3_900, 5_999]],
  ['the offset of a clock that is behind is measured to about a second', [-5_000, -5_499, -5_999], [-5_999, -3_800]],
])('%s', (_sentence, offsets, [least, most]) => {
  for (const offset of offsets) {
    expect(offsetOf(offset)).toBeGreaterThanOrEqual(least!);
    expect(offsetOf(offset)).toBeLessThanOrEqual(most!);
  }
});

test('an answer without a date changes nothing, and an agent that never answered has no offset', () => {
  const clocks = new AgentClocks({ now: () => 0 });
  clocks.ask('node-1')(undefined);
  clocks.ask('node-1')('soon');
  expect(clocks.offsetMs('node-1')).toBeNull();
});
