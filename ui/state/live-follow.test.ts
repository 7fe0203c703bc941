import type { ApiFailure, FailureKind } from '../api/client.ts';
import type { ReadStreamOptions, StreamAsk, StreamMessage } from '../api/stream.ts';
import { followLive, type LivePhase } from './live-follow.ts';

const now = Date.parse('2026-11-22T06:00:00Z');
const span = (spanId: string): StreamMessage => {
  const time = '2026-11-22T05:40:29.000000000Z';
  const rest = { traceId: 't', kind: 'server', start: time, durationNs: 1, status: 'unset', attributes: {} } as const;
  return { node: 'node-1', time, span: { ...rest, spanId, name: spanId } };
};
const failure = (kind: FailureKind): ApiFailure => Object.assign(new Error(kind), { kind }) as ApiFailure;

/**
 * Follows a stream whose answers are scripted: messages, then an end or a failure. After the last answer the follower
 * is stopped.
 */
async function played(...answers: readonly (readonly [readonly StreamMessage[], ApiFailure?])[]) {
  const ended = new AbortController();
  const [asks, phases, delays, got]: [StreamAsk[], LivePhase[], number[], string[]] = [[], [], [], []];
  const left = [...answers];
  async function* read(ask: StreamAsk, { onOpen }: ReadStreamOptions): AsyncGenerator<readonly StreamMessage[]> {
    asks.push(ask);
    const [messages, failed] = left.shift()!;
    if (messages.length > 0) onOpen!();
    yield messages;
    if (failed) throw failed;
  }
  await followLive(
    { number: 200, follow: true, types: ['span'] },
    {
      ...{ read, signal: ended.signal, now: () => now },
      wait: async (ms) => {
        delays.push(ms);
        if (left.length === 0) ended.abort();
      },
      onPhase: (phase) => void phases.push(phase),
      onMessages: (messages) => void got.push(...messages.map((message) => message.span?.name ?? 'word')),
    },
  );
  return { asks, delays, got, phases, kinds: phases.map(({ kind }) => kind) };
}

test('after a break the stream resumes shortly before its newest item and shows no item twice', async () => {
  const { asks, got, kinds } = await played([[span('a'), span('b')], failure('network')], [[span('b'), span('c')]]);
  expect(asks[1]).toEqual({ number: 500, follow: true, types: ['span'], since: '2026-11-22T05:40:19.000Z' });
  expect(got).toEqual(['a', 'b', 'c']);
  expect(kinds).toEqual(['connecting', 'open', 'waiting', 'connecting', 'open', 'waiting']);
});

test('if nothing was received before the break, the first request is repeated unchanged', async () => {
  const { asks } = await played([[], failure('unavailable')], [[]]);
  expect(asks[1]).toEqual(asks[0]);
});

test('the delay between failing attempts grows up to 15 s and starts over after a success', async () => {
  const away = [[], failure('timeout')] as const;
  const { delays, phases } = await played(...Array.from({ length: 7 }, () => away), [[span('a')]], away);
  expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 15000, 15000, 500, 1000]);
  expect(phases.find(({ kind }) => kind === 'waiting')).toMatchObject({
    untilMs: now + 500,
    failure: { kind: 'timeout' },
  });
});

test('unauthorized: retried once a minute, and shown as failed until the stream opens', async () => {
  const { asks, delays, kinds } = await played(
    [[], failure('unauthorized')],
    [[], failure('unauthorized')],
    [[span('a')]],
  );
  expect([asks.length, delays]).toEqual([3, [60_000, 60_000, 500]]);
  expect(kinds).toEqual(['connecting', 'failed', 'failed', 'open', 'waiting']);
});

test.each<FailureKind>(['forbidden', 'refused', 'too-large'])('%s: not retried', async (kind) => {
  const { asks, kinds } = await played([[], failure(kind)]);
  expect([asks.length, kinds]).toEqual([1, ['connecting', 'failed']]);
});
