import { FakeClock } from '../testing/fake-clock.ts';
import type { MessageHandlers, MessageSocket } from '../net/message-socket.ts';
import { AgentSession } from './agent-session.ts';

const hash = `sha256:${'0'.repeat(64)}`;
const ack = { node: 'node-1', hash, phase: 'Running' };
const status = (revision: number): object => ({
  ...{ node: 'node-1', revision, ack: null, instrument: { up: true, restarts: 0 }, monitors: [] },
  totals: { series: 0, samplesAppended: 0, rejected: 0 },
});

/** A session with a fake agent at the other end. The agent's messages wait while the session has paused its socket. */
async function connected(): Promise<{
  session: AgentSession;
  says: (message: object | string) => void;
  ends: string[];
}> {
  const waiting: Buffer[] = [];
  const ends: string[] = [];
  let isPaused = false;
  let handlers: MessageHandlers | undefined;
  const deliver = (): void => {
    while (!isPaused && waiting.length > 0) handlers!.message(waiting.shift()!);
  };
  const socket: MessageSocket = {
    send: () => Promise.resolve(),
    pause: () => (isPaused = true),
    resume() {
      isPaused = false;
      deliver();
    },
    close: (reason) => void ends.push(reason),
    destroy: () => void ends.push('destroyed'),
  };
  const request = { host: '10.0.0.1', port: 1, servername: 'a', deadlineMs: 1, maxBytes: 1 };
  const open = (_request: unknown, own: MessageHandlers): Promise<MessageSocket> => {
    handlers = own;
    return Promise.resolve(socket);
  };
  const { signal } = new AbortController();
  const session = await AgentSession.open(open, { ...request, signal }, new FakeClock());
  const says = (message: object | string): void => {
    waiting.push(Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)));
    deliver();
  };
  return { session: session!, says, ends };
}

test.each(['before', 'after'])(
  'a replaced session lives until its config is acknowledged, even if a status sent %s the replacement comes first',
  async (when) => {
    const { session, says, ends } = await connected();
    const put = session.put(hash, [], 'now', 10_000);
    if (when === 'before') says({ status: status(1) });
    session.retire();
    says({ status: status(2) });
    expect(ends).toEqual([]);
    says({ put: { hash, ack } });
    expect(await put).toEqual(ack);
    expect(ends).toHaveLength(1);
  },
);

test('a session that is replaced without a config on its way ends immediately', async () => {
  const { session, ends } = await connected();
  session.retire();
  expect(ends).toHaveLength(1);
});

test('statuses are returned in their order, each once, however many wait', async () => {
  const { session, says } = await connected();
  for (const revision of [1, 2, 3]) says({ status: status(revision) });
  const revisions: number[] = [];
  for (let i = 0; i < 3; i++) revisions.push((await session.next(1_000)).revision);
  expect(revisions).toEqual([1, 2, 3]);
});

test.each([
  ['8 MiB of open brackets', '['.repeat(8 * 1024 * 1024), 'it is nested deeper than 1000'],
  ['8 MiB of empty objects', `[${'{},'.repeat(2_700_000)}{}]`, 'it has more than 1000000 values'],
])('a message of %s ends the session before it takes memory', async (_what, message, reason) => {
  const { session, says, ends } = await connected();
  const next = session.next(1_000);
  says(message);
  await expect(next).rejects.toMatchObject({
    code: 'ERR_CAPTURE_PUSH',
    message: `10.0.0.1:1: a message of the agent is not valid: ${reason}`,
  });
  expect(ends).toEqual(['destroyed']);
});
