import { once } from 'node:events';
import { readFrames } from '../../base/wire/frames.ts';
import { silentLogger } from '../../base/logger.ts';
import { MemoryPool } from '../../base/memory-pool.ts';
import { createCa, issueLeaf } from '../../net/ca.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { TlsClient } from '../../net/tls-client.ts';
import { fixedTls } from '../../net/tls-material.ts';
import { encodePartialRequest, PartialDecoder, type PartialHeader, type PartialRequest } from '../../promql/index.ts';
import { FakeClock, settle } from '../../testing/fake-clock.ts';
import { MemoryFiles } from '../../testing/tsdb/memory-files.ts';
import { labelsFromObject, type Matcher, openStore, type Store } from '../../tsdb/index.ts';
import { createSelfMetrics } from '../self-metrics.ts';
import { partialRoute } from '../servers/framed-server.ts';
import { routed } from '../servers/routes.ts';
import { leastWaitingBytes } from './admission.ts';
import { createPartialHandler, defaultPartialLimits, type PartialLimits } from './partial-handler.ts';
import { StoreSource } from './store-source.ts';

const end = 1_700_000_000_000;
const node = 'node-1';
const clock = new FakeClock(end);
const never = new AbortController().signal;
let store: Store;

beforeAll(async () => {
  const externalLabels = labelsFromObject({ k8s_node_name: node });
  store = await openStore({ dir: '/s', files: new MemoryFiles(), clock, logger: silentLogger, externalLabels });
  for (let pod = 0; pod < 20; pod++) {
    const labels = labelsFromObject({ __name__: 'requests_total', pod: `p${pod}` });
    for (let k = 0; k <= 20; k++) store.append(labels, end - (20 - k) * 30_000, k * pod);
  }
});
afterAll(() => store.close());

const asked: PartialRequest = {
  fragment: { kind: 'agg', expr: 'requests_total', op: 'sum', grouping: ['pod'], without: false, param: null },
  steps: { start: end, step: 0, count: 1 },
  settings: { lookbackDeltaMs: 300_000, delayedNameRemoval: false, startTimestamps: false, typeAndUnitLabels: false },
  maxSeries: 1_000,
  maxBytes: 1e6,
  maxSamples: 1e6,
  deadlineMs: 5_000,
};
const handlerWith = (limits: Partial<PartialLimits> = {}) =>
  createPartialHandler({ store, node, clock, limits: { ...defaultPartialLimits, ...limits } });
const ask = (request: PartialRequest, limits: Partial<PartialLimits> = {}) =>
  handlerWith(limits)(encodePartialRequest(request), never);
const refusal = async (request: PartialRequest, limits: Partial<PartialLimits> = {}): Promise<string> => {
  const outcome = await ask(request, limits);
  return 'refusal' in outcome ? `${outcome.refusal}: ${outcome.message}` : `${outcome.bytes} bytes`;
};

test('the answer names its node and time range, and holds every group', async () => {
  const outcome = await ask(asked);
  if ('refusal' in outcome) throw new Error(outcome.message);
  let header: PartialHeader | undefined;
  const decoder = new PartialDecoder({
    fragment: asked.fragment,
    steps: 1,
    maxSeries: 1_000,
    onHeader: (found) => (header = found),
    onColumn: () => {},
  });
  async function* stream(): AsyncGenerator<Uint8Array> {
    yield* 'frames' in outcome ? outcome.frames : [];
  }
  for await (const message of readFrames(stream(), 'answer')) decoder.add(message);
  const { groups, samplesRead } = decoder.finish().result;
  expect(header).toMatchObject({ node, partitionClean: true, minT: end - 600_000, maxT: end });
  const sums = groups.map(({ labels, sums }) => [Object.fromEntries(labels)['pod'], sums!.high[0]]);
  expect(Object.fromEntries(sums)).toEqual(Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`p${i}`, i * 20])));
  expect([groups.length, samplesRead > 0]).toEqual([20, true]);
});

test.each<[string, PartialRequest, Partial<PartialLimits>, RegExp]>([
  ['the handler’s limit of samples', asked, { maxSamples: 100 }, /^over_limit: .*100 samples/],
  ['the request’s limit of samples', { ...asked, maxSamples: 50 }, {}, /^over_limit: .*50 samples/],
  ['the request’s limit of rows', { ...asked, maxSeries: 19 }, {}, /^over_limit: 20 rows, at most 19/],
  ['the handler’s limit of bytes', asked, { maxBytes: 100 }, /^over_limit: answer of more than 100 bytes/],
  ['the request’s limit of bytes', { ...asked, maxBytes: 60 }, {}, /^over_limit: answer of more than 60 bytes/],
])('beyond %s nothing is sent', async (_, request, limits, expected) => {
  expect(await refusal(request, limits)).toMatch(expected);
});

test('a label value that is too long for a regular expression loses this node alone; the refusal names both', async () => {
  store.append(labelsFromObject({ __name__: 'paths_total', path: 'ab'.repeat(100) }), end, 1);
  const expr = 'paths_total{path=~"(a|b)*a(a|b){600}"}';
  expect(await refusal({ ...asked, fragment: { ...asked.fragment, expr } })).toBe(
    'busy: matcher on path: label value of 200 characters for the regular expression "(a|b)*a(a|b){600}", at most 89',
  );
});

test('the selectors of one evaluation share what they found out about label values, and the next starts anew', async () => {
  const pattern = '.*a?.*';
  const prepared: Matcher[] = [];
  const watched: Pick<Store, 'select' | 'hold' | 'prepare' | 'stats'> = {
    select: (...asked) => store.select(...asked),
    hold: (...asked) => store.hold(...asked),
    stats: () => store.stats(),
    prepare: (matchers, ...rest) => {
      prepared.push(matchers.find(({ value }) => value === pattern)!);
      return store.prepare(matchers, ...rest);
    },
  };
  const handler = createPartialHandler({ store: watched, node, clock });
  const one = (pod: string): string => `requests_total{pod=~"${pattern}",pod!="${pod}"}`;
  const expr = `${one('p1')} or ${one('p2')}`;
  const visible = ['p3', 'p4'].map((value) => [{ type: '=' as const, name: 'pod', value }]);
  const body = encodePartialRequest({ ...asked, fragment: { ...asked.fragment, expr }, visible });
  for (const _ of [1, 2]) expect(await handler(body, never)).toHaveProperty('frames');
  expect(prepared).toHaveLength(8);
  expect(new Set(prepared.slice(0, 4)).size).toBe(1);
  expect(new Set(prepared).size).toBe(2);
});

test('cached answers of regular expressions count as memory of the evaluation, each once', async () => {
  const source = new StoreSource({ store, partition: { label: 'k8s_node_name', value: node }, maxSamples: 1e6 });
  const hints = { start: 0, end, step: 0, range: 0, func: '', grouping: [], by: false };
  const held = async (...matchers: Matcher[]): Promise<number | undefined> =>
    (await source.select({ matchers, mint: end - 300_000, maxt: end, hints })).heldBytes;
  const pattern = (type: '=~' | '!~', value: string): Matcher => ({ type, name: 'pod', value });
  const name: Matcher = { type: '=', name: '__name__', value: 'requests_total' };
  // One answer for each of 20 pods, and one for a series without the label.
  const all = 48 * 21;
  expect(await held(name)).toBe(0);
  expect(await held(name, pattern('=~', '.*p?1.*'))).toBe(all);
  expect(await held(name, pattern('=~', '.*p?1.*'))).toBe(0);
  expect(await held(name, pattern('=~', '.*p?1.*'), pattern('!~', '.*p?2.*'))).toBe(48 * 12);
  const [three = 0, four = 0] = await Promise.all(
    ['3', '4'].map((digit) => held(name, pattern('=~', `.*p?${digit}.*`))),
  );
  expect(three + four).toBe(2 * all);
  source.close();
});

test('the store’s memory is released however an evaluation ends', async () => {
  const open = new Set<object>();
  let holds = 0;
  let onHold = (): void => {};
  let onPrepare = async (): Promise<void> => {};
  const counting: Pick<Store, 'select' | 'hold' | 'prepare' | 'stats'> = {
    select: (...asked) => store.select(...asked),
    stats: () => store.stats(),
    prepare: async (matchers, mint, maxt, pace) => {
      await onPrepare();
      await pace.turn();
      return store.prepare(matchers, mint, maxt, pace);
    },
    hold: (...asked) => {
      const held = store.hold(...asked);
      open.add(held);
      holds++;
      return {
        *[Symbol.iterator]() {
          onHold();
          yield* held;
        },
        close: () => {
          open.delete(held);
          held.close();
        },
      };
    },
  };
  const handler = createPartialHandler({ store: counting, node, clock });
  const outcomes: string[] = [];
  for (const request of [asked, { ...asked, maxSamples: 50 }, { ...asked, maxSeries: 1 }]) {
    const outcome = await handler(encodePartialRequest(request), never);
    outcomes.push('refusal' in outcome ? outcome.refusal : 'whole');
    expect(open.size).toBe(0);
  }
  onHold = () => {
    throw new TypeError('x is undefined');
  };
  const broken = await handler(encodePartialRequest(asked), never);
  expect(broken).toMatchObject({ refusal: 'internal' });
  expect(open.size).toBe(0);
  onHold = () => {};
  // The second selector, which is a pattern, is prepared while the first one holds memory.
  const expr = 'requests_total + on (pod) {__name__=~"requests_total"}';
  const two = encodePartialRequest({ ...asked, fragment: { ...asked.fragment, expr } });
  const heldMeanwhile: number[] = [];
  const gone = new AbortController();
  const isOver = async (): Promise<void> => gone.abort(new Error('the asker is gone'));
  for (const end of [() => clock.advance(asked.deadlineMs), isOver]) {
    onPrepare = async () => {
      await settle();
      heldMeanwhile.push(open.size);
      await end();
    };
    const outcome = await handler(two, gone.signal).catch((error: Error) => error.message);
    outcomes.push(typeof outcome === 'string' ? outcome : 'refusal' in outcome ? outcome.refusal : 'whole');
    await settle();
    expect(open.size).toBe(0);
  }
  expect(heldMeanwhile).toEqual([1, 1]);
  expect(outcomes).toEqual(['whole', 'over_limit', 'over_limit', 'timeout', 'the asker is gone']);
  expect(holds).toBeGreaterThanOrEqual(6);
});

test('an unknown version, operator or function is unsupported, and a wrong field is invalid', async () => {
  const body = JSON.parse(encodePartialRequest(asked)) as Record<string, unknown>;
  const told = async (change: Record<string, unknown>): Promise<string> => {
    const outcome = await handlerWith()(JSON.stringify({ ...body, ...change }), never);
    return 'refusal' in outcome ? outcome.refusal : 'answered';
  };
  expect(await told({})).toBe('answered');
  expect(await told({ v: 4 })).toBe('unsupported');
  expect(await told({ v: 2 })).toBe('invalid');
  expect(await told({ engineVersion: '4.0.0-1' })).toBe('unsupported');
  expect(await told({ op: 'median' })).toBe('unsupported');
  const unknown = { ...asked, fragment: { ...asked.fragment, expr: 'new_function(requests_total)' } };
  expect(await ask(unknown)).toMatchObject({ refusal: 'unsupported' });
  expect(await told({ planHash: '0'.repeat(16) })).toBe('invalid');
  expect(await told({ count: -1 })).toBe('invalid');
  expect((await handlerWith()('{', never)) as object).toMatchObject({ refusal: 'invalid' });
});

test('an evaluation that waits for memory until its deadline is refused, naming the memory in use', async () => {
  const memory = new MemoryPool({ limitBytes: 1_000, freeBytes: 0 });
  const held = memory.open('');
  const holding = new AbortController();
  const other = held.run(holding.signal, async (lease) => {
    lease.part().take(990);
    await once(lease.signal, 'abort');
  });
  const late = createPartialHandler({ store, node, clock, memory })(encodePartialRequest(asked), never);
  await clock.advance(5_000);
  expect(await late).toEqual({
    refusal: 'timeout',
    message: expect.stringMatching(
      /^not done within 5000 ms, for want of memory: all queries together hold 990 of 1000 bytes of memory, and this one needs \d+ more$/,
    ),
  });
  holding.abort();
  await other;
});

test('no request of the burst that two query servers permit one user is refused', async () => {
  const handler = handlerWith();
  const body = encodePartialRequest(asked);
  const [servers, queries, fragments] = [2, 10, 4];
  const burst = Array.from({ length: servers * queries * fragments }, () => handler(body, never, 'alice'));
  const refused = (await Promise.all(burst)).filter((outcome) => 'refusal' in outcome);
  expect([burst.length, refused]).toEqual([80, []]);
});

test('the bodies of waiting requests are bounded, those of one caller to a quarter', async () => {
  const handler = handlerWith({ concurrency: 1, waitingBytes: 1_000_000 });
  const large = encodePartialRequest(asked).padEnd(450_000);
  const askAs = (caller: string) => handler(large, never, caller);
  const callers = ['a', 'b', 'c', 'd', 'e'].flatMap((caller) => [caller, caller, caller]);
  const told = (await Promise.all(callers.map(askAs))).map((one) => ('refusal' in one ? one.refusal : 'answered'));
  const ofOne = ['answered', 'answered', 'busy'];
  // Eight bodies of four callers leave less than one body of the four million bytes.
  expect(told).toEqual([...ofOne, ...ofOne, ...ofOne, ...ofOne, 'busy', 'busy', 'busy']);
});

test('requests wait in a bounded queue, and not beyond their deadline', async () => {
  const handler = handlerWith({ concurrency: 1, waitingBytes: 2 * leastWaitingBytes });
  const body = encodePartialRequest(asked);
  const outcomes = await Promise.all([1, 2, 3].map(() => handler(body, never)));
  const told = outcomes.map((outcome) => ('refusal' in outcome ? outcome.refusal : 'answered'));
  expect(told.sort()).toEqual(['answered', 'answered', 'busy']);
  const none = handlerWith({ concurrency: 0 });
  const late = none(body, never);
  await clock.advance(5_000);
  expect(await late).toMatchObject({ refusal: 'timeout', message: 'not done within 5000 ms' });
  const gone = new AbortController();
  const left = none(body, gone.signal);
  gone.abort(new Error('the client disconnected'));
  await expect(left).rejects.toThrow('the client disconnected');
});

test('an answer says whether all series that it reads carry the name of the agent’s node', async () => {
  const foreign = labelsFromObject({ __name__: 'flow_bytes', k8s_node_name: 'node-2' });
  store.append(foreign, end, 1);
  const outcome = await ask({ ...asked, fragment: { ...asked.fragment, expr: 'flow_bytes', grouping: [] } });
  if ('refusal' in outcome) throw new Error(outcome.message);
  expect(Buffer.concat(outcome.frames).includes('flow_bytes')).toBe(false);
  const clean: boolean[] = [];
  for (const expr of ['flow_bytes', 'requests_total']) {
    const fragment = { ...asked.fragment, expr, grouping: [] };
    const found = await ask({ ...asked, fragment });
    const onHeader = ({ partitionClean }: PartialHeader): void => void clean.push(partitionClean);
    const decoder = new PartialDecoder({ fragment, steps: 1, maxSeries: 10, onHeader, onColumn: () => {} });
    async function* stream(): AsyncGenerator<Uint8Array> {
      yield* 'frames' in found ? found.frames : [];
    }
    for await (const message of readFrames(stream(), 'answer')) decoder.add(message);
  }
  expect(clean).toEqual([false, true]);
});

test('the port serves clients of our CA with an allowed name, and says what is wrong with a request', async () => {
  // eslint-disable-next-line tests/fixed-date-beside-real-clock -- OpenSSL judges certificates by the machine's clock.
  const now = Date.now();
  const ca = await createCa({ commonName: 'svc-ca', now });
  const identity = async (commonName: string, authority = ca) => {
    const dnsNames = [commonName, `${commonName}.svc-system.svc`];
    const leaf = await issueLeaf(authority, { commonName, dnsNames }, { now });
    return fixedTls({ cert: leaf.cert, key: leaf.key, ca: ca.cert });
  };
  const metrics = createSelfMetrics({ node, version: '0' });
  const handler = routed([partialRoute({ handler: handlerWith(), metrics, logger: silentLogger })]);
  const server = createTlsServer(await identity('svc-agent'), handler, { clientNames: ['svc-query'] });
  const port = await listen('remote-read', server, { host: '127.0.0.1', port: 0 });
  const call = async (from: ReturnType<typeof fixedTls>, method: string, body = ''): Promise<number> => {
    const client = new TlsClient(from);
    const target = { host: '127.0.0.1', port, servername: 'svc-agent.svc-system.svc' };
    const limits = { deadlineMs: 5_000, maxBytes: 1e7 };
    try {
      return (await client.request({ ...target, ...limits, method, path: '/api/v1/partial', body })).status;
    } finally {
      client.close();
    }
  };
  try {
    const body = encodePartialRequest(asked);
    const query = await identity('svc-query');
    expect(await call(query, 'POST', body)).toBe(200);
    expect(await call(query, 'GET')).toBe(405);
    expect(await call(query, 'POST', '{')).toBe(400);
    expect(await call(query, 'POST', encodePartialRequest({ ...asked, maxSeries: 1 }))).toBe(413);
    expect(await call(await identity('svc-agent'), 'POST', body)).toBe(403);
    const stranger = await identity('svc-query', await createCa({ commonName: 'svc-ca', now }));
    await expect(call(stranger, 'POST', body)).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' });
  } finally {
    await closeServer(server, 0);
  }
});
