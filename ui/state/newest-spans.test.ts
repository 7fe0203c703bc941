import type { SpanRecord, StreamAsk, StreamMessage } from '../api/stream.ts';
import { mostSpans, newestSpans, worstFirst } from './newest-spans.ts';

const span = (name: string, change: Partial<SpanRecord> = {}): StreamMessage => {
  const time = '2026-11-22T05:40:29.000000000Z';
  const rest = { traceId: 't', spanId: name, kind: 'server', start: time, durationNs: 1, status: 'unset' } as const;
  return { node: 'node-1', time, span: { ...rest, name, attributes: {}, ...change } };
};
const away: StreamMessage = {
  ...{ node: 'node-2', time: '2026-11-22T05:40:29.000000000Z' },
  node_status: { state: 'NODE_UNAVAILABLE', nodes: ['node-2'], message: 'timeout' },
};
const lost = (node: string, source: string, count: number): StreamMessage => ({
  ...{ node, time: '2026-11-22T05:40:29.000000000Z', lost: { source, count } },
});
const of = { namespace: 'shop', name: 'cart', kind: 'Deployment', window: '15m', slowMs: 12.3 };
const names = (spans: readonly StreamMessage[]): string[] => spans.map((message) => message.span!.name);

test('failed spans come before slow ones, slow spans before fast ones, newer spans before older ones', () => {
  const list = [
    ...[span('fast'), span('slow', { durationNs: 9e9 }), span('503', { statusCode: 503 })],
    ...[span('404', { statusCode: 404, durationNs: 5 }), span('error', { status: 'error', durationNs: 7 })],
    span('newer', { start: '2026-11-22T05:41:00.000000000Z' }),
  ];
  expect(names(worstFirst(list))).toEqual(['error', '503', 'slow', '404', 'newer', 'fast']);
});

test('failed and slow spans are also searched among older spans; absent nodes and losses are reported', async () => {
  const asked: StreamAsk[] = [];
  async function* read(ask: StreamAsk): AsyncGenerator<readonly StreamMessage[]> {
    asked.push(ask);
    yield [away, span('both', { statusCode: 500 })];
    yield [lost('node-1', 'ring', ask.number === 200 ? 9 : 4)];
    if (ask.number !== 200) yield [lost('node-3', 'reader', 1)];
    if (ask.number === 200) yield Array.from({ length: 30 }, (_, i) => span(`fast-${i}`));
    else yield [span('old', { statusCode: 502, durationNs: 5 })];
  }
  const answer = await newestSpans(read, of, new AbortController().signal);
  expect(names(answer.data.spans).slice(0, 2)).toEqual(['old', 'both']);
  expect(answer.data.spans).toHaveLength(mostSpans);
  // Both requests report a loss of node-1: the larger number counts.
  expect(answer.data.losses).toEqual([
    { node: 'node-1', source: 'ring', count: 9 },
    { node: 'node-3', source: 'reader', count: 1 },
  ]);
  expect([answer.degraded, answer.missingNodes]).toEqual([true, ['node-2']]);
  const own = { namespace: ['shop'], workload: ['Deployment/cart'] };
  const common = { types: ['span'], since: '15m' };
  expect(asked).toEqual([
    { ...common, number: 200, include: [own] },
    {
      ...common,
      number: 50,
      include: [
        { ...own, status: ['error', '5+'] },
        { ...own, minDuration: ['13ms'] },
      ],
    },
  ]);
});
