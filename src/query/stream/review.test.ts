import { Registry } from 'prom-client';
import { silentLogger } from '../../base/logger.ts';
import { rfc3339Nano, type StreamMessage, type StreamRequest } from '../../stream/index.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { fixedDirectory } from '../../testing/query/fixed-directory.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { ApiError } from '../api/api-error.ts';
import { AgentFailure } from '../fanout/failure.ts';
import type { AgentStreamReader } from './agent-stream.ts';
import { createStreamMetrics } from './metrics.ts';
import { type StreamCall, StreamRelay } from './relay.ts';

const agentAt = (address: string): ExpectedAgent => ({ node: 'n', address, absence: undefined, nodeReady: true });

/**
 * A client that follows the stream of one agent. The agent sends only what the test tells it to. While `isAway`, it
 * cannot be reached. `agents` is what the directory lists.
 */
function stage(
  review: StreamCall['review'],
  {
    namespaces = new Set(['shop']),
    agents = [agentAt('10.0.0.1')],
    isAway = () => false,
  }: { namespaces?: Set<string>; agents?: ExpectedAgent[]; isAway?: () => boolean } = {},
) {
  const clock = new FakeClock();
  const asked: StreamRequest[] = [];
  const got: StreamMessage[] = [];
  let send: (message: StreamMessage) => void = () => {};
  const read: AgentStreamReader = async function* (_, request, { signal }) {
    asked.push(request);
    if (isAway()) throw new AgentFailure('unreachable', 'no route');
    if (!request.follow) return;
    const time = rfc3339Nano(0n);
    yield [
      { message: { node: 'n', time, cursor: 'a.1', node_status: { state: 'NODE_CONNECTED', nodes: ['n'] } }, bytes: 1 },
    ];
    for (;;) {
      const message = await new Promise<StreamMessage>((resolve, reject) => {
        send = resolve;
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      yield [{ message, bytes: 1 }];
    }
  };
  const relay = new StreamRelay({
    directory: { ...fixedDirectory([]), agents: () => agents },
    ...{ read, clock, logger: silentLogger, metrics: createStreamMetrics(new Registry()) },
    ...{ agentTimeoutMs: 1_000, maxClients: 1 },
  });
  const gone = new AbortController();
  const run = relay.open({ request: { follow: true }, caller: 'user a', namespaces, review });
  let over = false;
  const done = run({ gone: gone.signal, write: async (messages) => void got.push(...messages) }).then(
    () => (over = true),
  );
  const span = (namespace: string, cursor: string): void => {
    const time = rfc3339Nano(BigInt(clock.now()) * 1_000_000n);
    const rest = { traceId: 't', spanId: 's', kind: 'server', durationNs: 1, status: 'unset', attributes: {} } as const;
    send({ node: 'n', time, cursor, span: { ...rest, name: namespace, start: time, namespace } });
  };
  const names = (): string[] => got.flatMap(({ span: one }) => one?.name ?? []);
  return { clock, relay, asked, got, names, span, isOver: () => over, leave: () => (gone.abort(), done) };
}

test('a follower whose rights change continues from its cursor with what it may see from then on', async () => {
  let allowed = new Set(['shop']);
  const { clock, asked, names, span, leave } = stage(async () => allowed);
  await settle();
  expect(asked).toEqual([{ namespaces: ['shop'], follow: true, cursors: true }]);
  await clock.advance(10_000);
  expect(asked).toHaveLength(1);
  span('shop', 'a.2');
  await settle();
  allowed = new Set(['zoo']);
  await clock.advance(9_500);
  expect(names()).toEqual(['shop']);
  span('shop', 'a.3');
  await settle();
  // The span is still held back for ordering when the rights change.
  await clock.advance(2_000);
  expect(asked[1]).toEqual({ namespaces: ['zoo'], follow: true, cursors: true, after: 'a.3' });
  span('zoo', 'a.4');
  await clock.advance(1_000);
  expect(names()).toEqual(['shop', 'zoo']);
  await leave();
  expect(clock.pending).toBe(0);
});

test('a follower that may see nothing any more has no agent connection until it may see something again', async () => {
  let allowed = new Set<string>();
  const { clock, asked, leave } = stage(async () => allowed);
  await settle();
  await clock.advance(10_000);
  await clock.advance(20_000);
  expect(asked).toHaveLength(1);
  allowed = new Set(['shop']);
  await clock.advance(10_000);
  expect(asked.map(({ after }) => after)).toEqual([undefined, 'a.1']);
  await leave();
});

test('an agent that was not reached yet when the rights of a follower change sends only new items', async () => {
  let allowed = new Set(['shop']);
  let away = true;
  const agents = [agentAt('10.0.0.1')];
  const { clock, asked, leave } = stage(async () => allowed, { agents, isAway: () => away });
  await clock.advance(9_900);
  allowed = new Set(['zoo']);
  await clock.advance(200);
  expect(asked.at(-1)).toEqual({ namespaces: ['zoo'], follow: true, cursors: true });
  // Another pod takes the address after the agent has left: it began only then.
  agents.pop();
  await clock.advance(1_000);
  agents.push(agentAt('10.0.0.1'));
  away = false;
  await clock.advance(1_000);
  expect(asked.at(-1)).toEqual({ namespaces: ['zoo'], follow: true, cursors: true, after: '0.0' });
  await leave();
});

test('a follower that may no longer read gets an error and is ended', async () => {
  const { clock, got, isOver } = stage(async () => {
    throw new ApiError('forbidden', 'jo may not get /promql');
  });
  await settle();
  await clock.advance(10_000);
  expect(isOver()).toBe(true);
  expect(got.at(-1)).toMatchObject({
    node: 'svc-query',
    node_status: { state: 'NODE_ERROR', nodes: [], message: 'jo may not get /promql' },
  });
  expect(clock.pending).toBe(0);
});

test('failing reviews are tolerated for a minute', async () => {
  let away = true;
  const { clock, isOver } = stage(async () => {
    if (away) throw new ApiError('unavailable', 'the API server is away');
    return new Set(['shop']);
  });
  await settle();
  await clock.advance(50_000);
  away = false;
  await clock.advance(10_000);
  away = true;
  await clock.advance(50_000);
  expect(isOver()).toBe(false);
  await clock.advance(20_000);
  expect(isOver()).toBe(true);
});

test('the place of a reader is free again however the reader ends', async () => {
  const { relay, leave } = stage(async () => new Set(['shop']));
  await settle();
  const call = { request: {}, caller: undefined, namespaces: undefined, review: async () => undefined };
  expect(() => relay.open(call)).toThrow('there are 1 readers');
  await leave();
  const fails = relay.open(call);
  await expect(
    fails({ gone: new AbortController().signal, write: () => Promise.reject(new Error('broken pipe')) }),
  ).resolves.toBeUndefined();
  relay.open(call);
  relay.close();
  expect(() => relay.open(call)).toThrow('stopping');
});
