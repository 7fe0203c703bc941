import { systemClock } from '../../base/clock.ts';
import { askAgents, type AgentAsker } from './ask-agents.ts';
import { askNode } from './ask-node.ts';
import { AgentFailure } from './failure.ts';
import { fanOut } from './fan-out.ts';
import type { AgentReader } from './readers/agent-reader.ts';

const agent = { node: 'n', address: 'old', more: ['new'], absence: undefined, nodeReady: true };
const { signal } = new AbortController();

test('when one of a node’s two agents fails, the request to the other is aborted and the node is lost', async () => {
  const time = { clock: systemClock, agentTimeoutMs: 1_000, remainingMs: 10_000, signal, budget: { left: 0 } };
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

describe('when one of a node’s two agents fails, the answer of the other gives back what it has taken:', () => {
  let held = 0;
  const memory = { take: (bytes: number) => ((held += bytes), null), give: (bytes: number) => void (held -= bytes) };
  const lost = new AgentFailure('unreachable', 'refused');

  test('one about series', async () => {
    let answers = 0;
    const asker: AgentAsker = async ({ address }, _, { memory: own }) => {
      if (address === 'new') throw lost;
      own?.take(1_000);
      answers++;
      return 'an answer';
    };
    const time = { clock: systemClock, agentTimeoutMs: 1_000, remainingMs: 10_000, signal };
    const asked = await askAgents({ path: '/' }, { agents: [agent], asker, memory, ...time }, async (data) => data);
    expect([asked.answers, asked.lost.get('n')?.reason]).toEqual([[], 'unreachable']);
    expect([answers, held]).toEqual([1, 0]);
  });

  test('one of raw series', async () => {
    let answers = 0;
    const budget = { left: 100, memory };
    const reader: AgentReader = async ({ address }, _, { budget: own }) => {
      if (address === 'new') throw lost;
      own.left -= 10;
      own.memory?.take(1_000);
      answers++;
      return [[]];
    };
    const deps = { reader, clock: systemClock, agentTimeoutMs: 1_000 };
    const queries = [{ startMs: 0, endMs: 1, matchers: [] }];
    const asked = await fanOut({ agents: [agent], budget, signal, remainingMs: 10_000, queries }, deps);
    expect([asked.parts, asked.lost.length]).toEqual([[], 1]);
    expect([answers, budget.left, held]).toEqual([1, 100, 0]);
  });
});
