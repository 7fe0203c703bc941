import { systemClock } from '../../base/clock.ts';
import { askNode } from './ask-node.ts';
import { AgentFailure } from './failure.ts';

test('when one of a node’s two agents fails, the request to the other is aborted and the node is lost', async () => {
  const agent = { node: 'n', address: 'old', more: ['new'], absence: undefined, nodeReady: true };
  const { signal } = new AbortController();
  const time = { clock: systemClock, agentTimeoutMs: 1_000, remainingMs: 10_000, signal };
  let ended = false;
  const outcome = await askNode(agent, time, async ({ address }, { signal: own }) => {
    if (address === 'new') throw new AgentFailure('unreachable', 'refused');
    await new Promise((resolve) => own.addEventListener('abort', resolve));
    ended = true;
    throw own.reason;
  });
  expect(outcome).toMatchObject({ lost: { node: 'n', reason: 'unreachable', message: 'refused' } });
  expect(ended).toBe(true);
});
