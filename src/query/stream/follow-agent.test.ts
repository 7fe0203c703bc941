import { rfc3339Nano, type SpanRecord, type StreamMessage, type StreamRequest } from '../../stream/index.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { AgentFailure } from '../fanout/failure.ts';
import type { AgentStreamReader, Received } from './agent-stream.ts';
import { followAgent } from './follow-agent.ts';

const agent = { node: 'n1', address: '10.0.0.1' };
const time = rfc3339Nano(0n);
const item = (name: string, cursor: string): StreamMessage => {
  const span: SpanRecord = {
    ...{ traceId: 't', spanId: 's', name, kind: 'server', start: time },
    ...{ durationNs: 1, status: 'unset', attributes: {} },
  };
  return { node: 'n1', time, span, cursor };
};
const connected = (cursor: string): StreamMessage => ({
  ...{ node: 'n1', time, cursor },
  node_status: { state: 'NODE_CONNECTED', nodes: ['n1'] },
});

/** One attempt to read: the messages, and then a failure, an end or silence. */
interface Script {
  readonly messages?: readonly StreamMessage[];
  readonly failure?: AgentFailure;
  /** The answer ends without a status message. */
  readonly ends?: true;
}

/** Follows a scripted agent; `asked` are the requests to it, `told` is what `followAgent` reported. */
function stage(scripts: Script[], cursor?: string) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const asked: StreamRequest[] = [];
  const told: string[] = [];
  const read: AgentStreamReader = async function* (_, request, { signal }) {
    asked.push(request);
    const { messages = [], failure, ends } = scripts.shift() ?? {};
    if (messages.length > 0) yield messages.map((message): Received => ({ message, bytes: 1 }));
    if (failure) throw failure;
    if (request.follow && !ends)
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const done = followAgent(agent, {
    ...{ read, clock, request: { types: ['span'] }, headMs: 1_000, cursor, signal: stop.signal },
    onItem: ({ message }) => void told.push(message.span!.name),
    onLost: ({ lost }) => void told.push(`lost ${lost!.count}`),
    onCursor: () => {},
    onConnected: () => void told.push('connected'),
    onFailure: ({ reason, message }) => void told.push(`${reason}: ${message}`),
  });
  return { clock, asked, told, end: async () => (stop.abort(new Error('over')), await done) };
}
const away = new AgentFailure('unreachable', 'refused');

test('a broken stream continues after the last received item, without duplicates', async () => {
  const { clock, asked, told, end } = stage([
    { messages: [connected('a.5'), item('x', 'a.6'), item('y', 'a.9')], failure: away },
    { failure: away },
    { messages: [connected('a.9'), item('z', 'a.10')] },
  ]);
  await settle();
  await clock.advance(250);
  await clock.advance(500);
  expect(asked.map(({ after }) => after)).toEqual([undefined, 'a.9', 'a.9']);
  expect(asked[2]).toEqual({ types: ['span'], follow: true, cursors: true, after: 'a.9' });
  expect(told).toEqual(['connected', 'x', 'y', 'unreachable: refused', 'connected', 'z']);
  await end();
  expect(clock.pending).toBe(0);
});

test('items that an agent lost are reported once, and the stream continues after them', async () => {
  const lost: StreamMessage = { node: 'n1', time, cursor: 'a.90', lost: { source: 'reader', count: 84 } };
  const { clock, asked, told, end } = stage([{ messages: [connected('a.6'), lost], failure: away }, {}], 'a.6');
  await settle();
  await clock.advance(250);
  expect(asked.map(({ after }) => after)).toEqual(['a.6', 'a.90']);
  expect(told).toEqual(['connected', 'lost 84', 'unreachable: refused']);
  await end();
});

test('the pauses between attempts grow to ten seconds, and a failure is reported only when it changes', async () => {
  const refused = new AgentFailure('auth', 'HTTP 403');
  const { clock, asked, told, end } = stage([
    ...Array.from({ length: 9 }, () => ({ failure: away })),
    { failure: refused },
  ]);
  await settle();
  const at: number[] = [];
  for (let t = 0; t < 60_000; t += 250) {
    while (at.length < asked.length) at.push(t);
    await clock.advance(250);
  }
  expect(at.slice(1).map((t, i) => t - at[i]!)).toEqual([
    ...[250, 500, 1_000, 2_000, 4_000, 8_000],
    ...[10_000, 10_000, 10_000, 10_000],
  ]);
  expect(told).toEqual(['unreachable: refused', 'auth: HTTP 403']);
  await end();
}, 20_000);

test('the pauses also grow for an agent that fails each time after it has connected, until something comes', async () => {
  const failing = { messages: [connected('a.5')], failure: new AgentFailure('protocol', 'a long line') };
  const { clock, asked, end } = stage([
    ...[failing, failing, failing],
    ...[{ messages: [connected('a.5'), item('x', 'a.6')], failure: away }, failing, failing],
  ]);
  await settle();
  const at: number[] = [];
  for (let t = 0; t < 4_000; t += 125) {
    while (at.length < asked.length) at.push(t);
    await clock.advance(125);
  }
  expect(at.slice(1).map((t, i) => t - at[i]!)).toEqual([250, 500, 1_000, 250, 500, 1_000]);
  await end();
});

test('a connection that lasted is made again soon, however long the pause before it', async () => {
  const { clock, asked, end } = stage([
    ...Array.from({ length: 6 }, () => ({ failure: away })),
    { messages: [connected('a.5')] },
    { failure: away },
  ]);
  await settle();
  await clock.advance(16_000);
  expect(asked).toHaveLength(7);
  // After 30 s of silence the agent is probed, and the probe fails.
  await clock.advance(29_750);
  expect(asked).toHaveLength(8);
  await clock.advance(250);
  expect(asked).toHaveLength(9);
  await end();
});

test('an agent that announces its end, or ends its answer without a word, is reported as unreachable', async () => {
  const ending: StreamMessage = {
    ...{ node: 'n1', time },
    node_status: { state: 'NODE_UNAVAILABLE', nodes: ['n1'], message: 'the agent is ending' },
  };
  const { told, end } = stage([{ messages: [connected('a.1'), ending] }]);
  await settle();
  expect(told).toEqual(['connected', 'unreachable: the agent is ending']);
  await end();
  const silent = stage([{ messages: [connected('a.1')], ends: true }]);
  await settle();
  expect(silent.told).toEqual(['connected', expect.stringMatching(/^unreachable: /)]);
  await silent.end();
});

test('a silent agent is probed, and given up if it does not answer', async () => {
  const answers: Script = { messages: [connected('a.1')] };
  const { clock, asked, told, end } = stage([
    ...[answers, answers, { failure: new AgentFailure('timeout', 'no answer') }],
  ]);
  await settle();
  await clock.advance(30_000);
  expect(asked[1]).toEqual({ number: 0, cursors: true });
  expect(told).toEqual(['connected']);
  await clock.advance(30_000);
  expect(told).toEqual(['connected', 'timeout: no answer']);
  await end();
  expect(clock.pending).toBe(0);
});
