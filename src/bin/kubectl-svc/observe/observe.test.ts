import type { FlowRecord, SpanRecord, StreamMessage, StreamRequest } from '../../../stream/index.ts';
import { FakeClock, settle } from '../../../testing/fake-clock.ts';
import { type PluginResult, type PluginRunOptions, runPluginHere } from '../../../testing/plugin/plugin-run.ts';
import { until } from '../../../testing/until.ts';
import { RefusedError } from '../connect/failures.ts';
import type { QueryRequest, QueryStream } from '../connect/query-server.ts';
import { ClosedOutputError, PluginError } from '../errors.ts';

const time = '2026-11-22T05:40:29.123456789Z';
const span = (change: Partial<SpanRecord> = {}): StreamMessage => {
  const whole: SpanRecord = {
    ...{ traceId: 'abc', spanId: 'def', name: 'GET /cart/{id}', kind: 'server', start: time, durationNs: 12_345_678 },
    ...{ status: 'unset', namespace: 'shop', pod: 'checkout-7d-x', method: 'GET', path: '/cart/7', statusCode: 200 },
    attributes: { 'client.address': '10.0.0.9', 'server.port': 8080 },
    ...change,
  };
  return { node: 'node-1', time: whole.start, span: whole };
};
const flow = (change: Partial<FlowRecord> = {}): StreamMessage => {
  const whole: FlowRecord = {
    ...{ end: time, direction: 'request', protocol: 'TCP', bytes: 1_536, attributes: {} },
    source: { namespace: 'shop', name: 'checkout-7d-x', kind: 'Pod', port: 4_000 },
    destination: { namespace: 'cache', workload: { kind: 'StatefulSet', name: 'redis' }, port: 6_379 },
    ...change,
  };
  return { node: 'node-2', time, flow: whole };
};

/** A server that plays one answer after the other: a list of messages, an error, or `waits` until the caller aborts. */
function playing(...answers: (readonly StreamMessage[] | Error | 'waits')[]) {
  const asked: QueryRequest[] = [];
  const stream = async (request: QueryRequest): Promise<QueryStream> => {
    asked.push(request);
    const answer = answers.shift() ?? [];
    if (answer instanceof Error) throw answer;
    async function* body(): AsyncGenerator<Buffer> {
      if (answer !== 'waits')
        yield Buffer.from((answer as StreamMessage[]).map((m) => `${JSON.stringify(m)}\n`).join(''));
      else await new Promise((resolve) => request.signal!.addEventListener('abort', resolve));
    }
    return { status: 200, headers: {}, body: body() };
  };
  return { stream, asked, request: (n = 0): StreamRequest => JSON.parse(asked[n]!.body!) as StreamRequest };
}
const observe = (args: readonly string[], options: PluginRunOptions): Promise<PluginResult> =>
  runPluginHere(['observe', ...args], options);
const shown = async (message: StreamMessage, ...args: string[]): Promise<string> =>
  (await observe(['-A', ...args], playing([message]))).stdout;

test.each<[string, StreamMessage, string]>([
  ['a request that came in', span(), '10.0.0.9 → shop/checkout-7d-x:8080 GET /cart/7 200 12.3ms'],
  [
    'a call',
    span({ kind: 'client', statusCode: 503, attributes: { 'server.address': 'pay.example', 'server.port': 443 } }),
    'shop/checkout-7d-x → pay.example:443 GET /cart/7 503 12.3ms',
  ],
  [
    'a query, whose span has no method',
    { ...span(), span: { ...base(span()), kind: 'client', service: 'jobs', name: 'SELECT users', status: 'error' } },
    'jobs → unknown SELECT users error 0ns',
  ],
  [
    'an internal span without a pod and a peer',
    { ...span(), span: { ...base(span()), kind: 'internal', service: 'jobs', name: 'tick', durationNs: 999 } },
    'jobs tick 999ns',
  ],
])('compact: %s', async (_, message, line) => {
  expect(await shown(message)).toBe(`2026-11-22T05:40:29.123Z node-1 ${line}\n`);
});

/** A span with only the required fields. */
function base({ span: whole }: StreamMessage): SpanRecord {
  const { traceId, spanId, start, status } = whole!;
  return { traceId, spanId, start, status, name: '', kind: '', durationNs: 0, attributes: {} };
}

test.each<[string, Partial<FlowRecord>, string]>([
  ['between pods', {}, 'shop/checkout-7d-x:4000 → cache/statefulset/redis:6379 TCP request 1.5KiB'],
  [
    'with addresses only',
    { source: { address: '10.0.0.1', port: 80 }, destination: { cidr: '10.1.0.0/16' }, direction: 'unknown', bytes: 7 },
    '10.0.0.1:80 → 10.1.0.0/16 TCP 7B',
  ],
  [
    'to a service, from an unknown source',
    { source: {}, destination: { namespace: 'shop', name: 'web', kind: 'Service' }, bytes: 5e9 },
    'unknown → service shop/web TCP request 4.66GiB',
  ],
  [
    'over IPv6',
    { source: { address: '2001:db8::1', port: 80 }, destination: { namespace: 'shop' } },
    '[2001:db8::1]:80 → shop/? TCP request 1.5KiB',
  ],
])('compact: a flow %s', async (_, change, line) => {
  expect(await shown(flow(change))).toBe(`2026-11-22T05:40:29.123Z node-2 ${line}\n`);
});

test.each([
  [200, 32],
  [302, 36],
  [404, 33],
  [503, 31],
])('on a terminal the status %d has colour %d; NO_COLOR is obeyed', async (statusCode, colour) => {
  const { stdout } = await observe(['-A'], { ...playing([span({ statusCode })]), terminal: 120 });
  expect(stdout).toContain(`\u001b[${colour}m${statusCode}\u001b[0m`);
  const plain = await observe(['-A'], { ...playing([span()]), terminal: 120, env: { NO_COLOR: '1' } });
  expect(plain.stdout).not.toContain('\u001b');
});

test('control characters from pods do not reach the terminal', async () => {
  const text = 'x\u001b[2J\u009b\u202e\nfake';
  const end = { namespace: text, name: text, address: text };
  const messages = [
    span({
      path: text,
      pod: text,
      namespace: text,
      method: text,
      attributes: { [text]: text, 'client.address': text },
    }),
    span({ kind: 'client', name: text, service: text, attributes: { 'server.address': text } }),
    flow({ source: end, destination: { ...end, cidr: text } }),
  ];
  for (const message of messages) {
    for (const format of ['compact', 'dict', 'table']) {
      const { stdout, stderr } = await observe(['-A', '-o', format], playing([{ ...message, node: text }]));
      expect(stderr).toBe('');
      expect(stdout).toContain(String.raw`x\u001b[2J\u009b\u202e\nfake`);
      expect(stdout).not.toMatch(/[\u001b\u009b\u202e]|\nfake/);
    }
  }
});

test('-o json prints a line for each item, -o jsonpb one for every message', async () => {
  const lost: StreamMessage = { node: 'node-1', time, lost: { source: 'ring', count: 3 } };
  const messages = [lost, span(), flow()];
  const lines = messages.map((message) => `${JSON.stringify(message)}\n`);
  const json = await observe(['-A', '-o', 'json'], playing(messages));
  expect(json.stdout).toBe(lines.slice(1).join(''));
  expect((await observe(['-A', '-o', 'jsonpb'], playing(messages))).stdout).toBe(lines.join(''));
});

test('-o dict prints every field, one on each line', async () => {
  const { stdout } = await observe(
    ['-A', '-o', 'dict'],
    playing([flow(), span({ attributes: { 'url.scheme': 'http' } })]),
  );
  expect(stdout).toBe(
    [
      `time:                           ${time}`,
      'node:                           node-2',
      `flow.end:                       ${time}`,
      'flow.direction:                 request',
      'flow.protocol:                  TCP',
      'flow.bytes:                     1536',
      'flow.source.namespace:          shop',
      'flow.source.name:               checkout-7d-x',
      'flow.source.kind:               Pod',
      'flow.source.port:               4000',
      'flow.destination.namespace:     cache',
      'flow.destination.workload.kind: StatefulSet',
      'flow.destination.workload.name: redis',
      'flow.destination.port:          6379',
      '------------',
      `time:                       ${time}`,
      'node:                       node-1',
      'span.traceId:               abc',
      'span.spanId:                def',
      'span.name:                  GET /cart/{id}',
      'span.kind:                  server',
      `span.start:                 ${time}`,
      'span.durationNs:            12345678',
      'span.status:                unset',
      'span.namespace:             shop',
      'span.pod:                   checkout-7d-x',
      'span.method:                GET',
      'span.path:                  /cart/7',
      'span.statusCode:            200',
      'span.attributes.url.scheme: http',
      '',
    ].join('\n'),
  );
});

test('-o table has headings, and columns that widen for longer values', async () => {
  const { stdout } = await observe(['-A', '-o', 'table'], playing([flow(), span()]));
  expect(stdout).toBe(
    [
      'TIME                       NODE       TYPE   SOURCE                     DESTINATION                WHAT               STATUS   SIZE',
      '2026-11-22T05:40:29.123Z   node-2     flow   shop/checkout-7d-x:4000    cache/statefulset/redis:6379   TCP request        -        1.5KiB',
      '2026-11-22T05:40:29.123Z   node-1     span   10.0.0.9                   shop/checkout-7d-x:8080        GET /cart/7        200      12.3ms',
      '',
    ].join('\n'),
  );
  expect((await observe(['-A', '-o', 'table', '--no-headers'], playing([span()]))).stdout).toMatch(/^2026/);
});

test('missing nodes and lost items are reported on stderr, and are not an error', async () => {
  const status = (state: 'NODE_CONNECTED' | 'NODE_UNAVAILABLE' | 'NODE_ERROR', nodes: string[], message?: string) => ({
    ...{ node: nodes[0] ?? 'svc-query', time },
    node_status: { state, nodes, ...(message ? { message } : {}) },
  });
  const lost = (source: string, count: number, node = 'node-1') => ({ node, time, lost: { source, count } });
  const { code, stdout, stderr } = await observe(
    ['-A'],
    playing([
      status('NODE_CONNECTED', ['node-1', 'node-2']),
      status('NODE_UNAVAILABLE', ['node-3'], 'no agent pod'),
      status('NODE_ERROR', ['node-4'], 'HTTP 403: no\u001b'),
      ...[lost('ring', 1), lost('reader', 2), lost('relay', 3, 'svc-query'), lost('labels', 4)],
      status('NODE_UNAVAILABLE', [], 'svc-query is ending'),
    ]),
  );
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr.split('\n')).toEqual([
    'connected to 2 nodes (node-1, node-2)',
    'warning: node node-3: unavailable: no agent pod',
    'warning: node node-4: failing: HTTP 403: no\\u001b',
    "warning: lost 1 item of node node-1: had left the node's memory before they were asked for",
    'warning: lost 2 items of node node-1: came faster than the query server read them',
    'warning: lost 3 items: came faster than they were read here',
    "warning: lost 4 items of node node-1: cannot be judged on that node, for it does not know the labels of another node's pod",
    'warning: svc-query: unavailable: svc-query is ending',
    '',
  ]);
});

test.each<[string[], StreamRequest]>([
  [['-A'], { number: 20 }],
  [['-n', 'shop'], { number: 20, include: [{ namespace: ['shop'] }] }],
  [['-A', '--last', 'all'], { all: true }],
  [['-A', '--last', '5', '-t', 'span'], { number: 5, types: ['span'] }],
  [['-A', '--first', '5', '--type', 'flow', '--type', 'span'], { number: 5, first: true, types: ['flow', 'span'] }],
  [['-A', '--since', '5m'], { all: true, since: '5m' }],
  [['-A', '--since', '2d', '--last', '9'], { number: 9, since: '2025-12-30T00:00:00Z' }],
  [['-A', '--until', '2026-01-01T00:00:00Z'], { all: true, until: '2026-01-01T00:00:00Z' }],
  [
    ['-n', 'shop', '--pod', 'a', '--pod', 'b', '--workload', 'deployment/c', '-l', 'app=x', '--node', 'n'],
    {
      number: 20,
      include: [
        { pod: ['a', 'b'], workload: ['deployment/c'], labelSelector: ['app=x'], node: ['n'], namespace: ['shop'] },
      ],
    },
  ],
  [
    ['--pod', 'shop/a', '--workload', 'shop/job/c'],
    { number: 20, include: [{ pod: ['shop/a'], workload: ['shop/job/c'] }] },
  ],
  [
    ['-A', '--protocol', 'HTTP', '--method', 'get', '--path', '/a.*', '--status', '5+', '--min-duration', '1s'],
    {
      number: 20,
      include: [{ protocol: ['HTTP'], method: ['get'], path: ['/a.*'], status: ['5+'], minDuration: ['1s'] }],
    },
  ],
  [
    ['-A', '--trace-id', 'abc', '--ip', '10.0.0.0/8', '--port', '80', '--direction', 'egress', '--service', 's'],
    {
      number: 20,
      include: [{ traceId: ['abc'], ip: ['10.0.0.0/8'], port: ['80'], direction: ['egress'], service: ['s'] }],
    },
  ],
  [
    [
      '-A',
      '--not',
      '--path',
      '/healthz',
      '--method',
      'GET',
      '--not-namespace',
      'kube-system',
      '--not',
      '--status',
      '2+',
    ],
    {
      number: 20,
      include: [{ method: ['GET'] }],
      exclude: [{ path: ['/healthz'] }, { namespace: ['kube-system'] }, { status: ['2+'] }],
    },
  ],
  [
    ['-A', '--not', '-lapp=web', '--not', '--port=80'],
    { number: 20, exclude: [{ labelSelector: ['app=web'] }, { port: ['80'] }] },
  ],
])('the flags %j send the request %j', async (args, request) => {
  const played = playing([]);
  const { code, stderr } = await observe(args, { ...played, clock: new FakeClock() });
  expect([code, stderr]).toEqual([0, '']);
  expect(played.asked[0]).toMatchObject({ method: 'POST', path: '/v1/stream' });
  expect(played.request()).toEqual(request);
});

test.each([
  [['--first', '1', '--last', '1'], '--first and --last exclude each other'],
  [['--first', '1', '-f'], '--first and --follow exclude each other'],
  [['--until', '5m', '-f'], '--until and --follow exclude each other'],
  [['--last', 'many'], '--last "many" is neither a whole number nor all'],
  [['--since', 'yesterday'], '--since "yesterday" is no time'],
  [['--since', '2026-02-31T00:00:00Z'], '--since "2026-02-31T00:00:00Z" is no time'],
  [['--since', '300000y'], '--since "300000y" is not between the years 1970 and 9999'],
  [['--since', '1700000000000'], 'a plain number is in seconds since 1970'],
  [['--status', 'high'], '--status: must be a code'],
  [['--path', '('], '--path: not an RE2 pattern'],
  [['--min-duration', 'long'], '--min-duration: "long" is not a duration'],
  [['--label', 'a b'], '--label: "a b" is not a label requirement'],
  [['--ip', 'x'], '--ip: must be an IP address or a CIDR'],
  [['--port', '0'], '--port: must be a port number'],
  [['--type', 'log'], '--type "log" is none of span, flow'],
  [['-o', 'xml'], 'is none of compact, json, jsonpb, dict, table'],
  [['--not'], '--not needs a filter after it'],
  [['--not', '--not-namespace', 'shop', '--status', '5+'], '--not needs a filter after it\n  -n shows one namespace'],
  [['--not', '-t', 'flow', '--port', '6379'], '--not needs a filter after it'],
  [['--not', '--last=5', '--port', '6379'], '--not needs a filter after it'],
  [['--not', '--no-headers', '--pod', 'web'], '--not needs a filter after it'],
  [['--not', '--not', '--pod', 'web'], '--not needs a filter after it'],
  [['--not', '-A', '--pod', 'web'], '--not needs a filter after it'],
  [['--pod', 'web', '--not', '--context', 'x', '--port', '80'], '--not needs a filter after it'],
])('%j is wrong usage', async (args, message) => {
  const { code, stdout, stderr } = await observe(['-A', ...args], playing([]));
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(message);
});

test.each([['-n'], ['--namespace']])(
  '--not before %s is wrong usage, and the error names the flag that is meant',
  async (flag) => {
    const played = playing([]);
    const { code, stderr } = await observe(['--not', flag, 'kube-system', '--pod', 'web'], played);
    expect([code, played.asked]).toEqual([2, []]);
    expect(stderr).toContain('--not needs a filter after it\n  --not-namespace leaves out a namespace');
  },
);

test('a cut answer is an error after its items are shown; an answer that is not a stream is an error too', async () => {
  const cut = async (text: string): Promise<PluginResult> => {
    async function* body(): AsyncGenerator<Buffer> {
      yield Buffer.from(text);
    }
    return observe(['-A'], { stream: async () => ({ status: 200, headers: {}, body: body() }) });
  };
  const half = await cut(`${JSON.stringify(span())}\n{"node"`);
  expect([half.code, half.stdout.split('\n').length]).toEqual([1, 2]);
  expect(half.stderr).toContain('the answer ends in the middle of a line');
  expect((await cut('<html>\n')).stderr).toContain('https://query.test: line: is not JSON');
});

test('a refusal is printed with its hint', async () => {
  const refused = new RefusedError(401, 'ERR_API_REQUEST', 'https://q: 401 no', { hints: ['give a token'] });
  const { code, stderr } = await observe(['-f', '-A'], playing(refused));
  expect([code, stderr]).toEqual([1, 'error: https://q: 401 no\n  give a token\n']);
});

test.each([408, 429])('a follower that is refused with the temporary status %i tries again', async (status) => {
  const clock = new FakeClock(Date.parse(time) + 1_000);
  const stop = new AbortController();
  const refused = new RefusedError(status, 'ERR_API_REQUEST', `https://q: ${status} later`, { hints: [] });
  const played = playing([span()], refused, [span(), span({ spanId: 'new', path: '/new' })], 'waits');
  let stdout = '';
  const onStdout = (text: string): void => void (stdout += text);
  const done = observe(['-f', '-A'], { ...played, clock, signal: stop.signal, onStdout });
  await until('the first end', () => played.asked.length === 1 && clock.pending > 0);
  await clock.advance(500);
  await clock.advance(1_000);
  await until('the rest', () => stdout.includes('/new'));
  stop.abort();
  const { code, stderr } = await done;
  expect(code).toBe(0);
  expect(stderr).toContain(`warning: https://q: ${status} later; trying again`);
});

test('a follower whose connection breaks resumes, shows nothing twice, and ends at Ctrl-C', async () => {
  const clock = new FakeClock(Date.parse(time) + 1_000);
  const stop = new AbortController();
  const broken = new PluginError('ERR_API_REQUEST', 'https://q: nothing listens there');
  const played = playing([span(), flow()], broken, [span(), flow(), span({ spanId: 'new', path: '/new' })], 'waits');
  let stdout = '';
  const onStdout = (text: string): void => void (stdout += text);
  const args = ['-f', '-A', '--status', '2+', '--last', '2'];
  const done = observe(args, { ...played, clock, signal: stop.signal, onStdout });
  await until('the first end', () => played.asked.length === 1 && clock.pending > 0);
  await clock.advance(500);
  await clock.advance(1_000);
  await until('the rest', () => stdout.includes('/new'));
  await clock.advance(500);
  await until('the last', () => played.asked.length === 4);
  await settle();
  stop.abort();
  const { code, stderr } = await done;
  expect(code).toBe(0);
  expect(stdout.split('\n').map((line) => line.split(' ')[5] ?? '')).toEqual(['GET', 'TCP', 'GET', '']);
  expect(played.request(0)).toEqual({ number: 2, follow: true, include: [{ status: ['2+'] }] });
  expect(played.request(1)).toEqual({
    ...{ all: true, follow: true, since: '2026-11-22T05:40:19.123Z' },
    include: [{ status: ['2+'] }],
  });
  expect(stderr).toBe(
    [
      'warning: the query server ended the stream; trying again',
      'warning: https://q: nothing listens there; trying again',
      'warning: the query server ended the stream; trying again',
      '',
    ].join('\n'),
  );
});

/** The second request of a follower with these flags, whose first answer breaks off after some items. */
async function resumed(
  args: string[],
  items: StreamMessage[],
  { aheadMs = 0, openMs = 0, suspendedMs = 0 } = {},
): Promise<StreamRequest> {
  const clock = new FakeClock(Date.parse(time) + aheadMs);
  const stop = new AbortController();
  let end: (() => void) | undefined;
  const asked: StreamRequest[] = [];
  const stream = async ({ body }: QueryRequest): Promise<QueryStream> => {
    asked.push(JSON.parse(body!) as StreamRequest);
    async function* lines(): AsyncGenerator<Buffer> {
      yield Buffer.from(items.map((item) => `${JSON.stringify(item)}\n`).join(''));
      await new Promise<void>((resolve) => (end = resolve));
    }
    return { status: 200, headers: { date: new Date(Date.parse(time)).toUTCString() }, body: lines() };
  };
  const done = observe(['-f', '-A', ...args], { stream, asked, clock, signal: stop.signal } as never);
  await until('the answer', () => end !== undefined);
  await clock.advance(openMs);
  clock.jumpWall(suspendedMs);
  end!();
  await until('the end', () => clock.pending > 0);
  await clock.advance(500);
  await until('the second request', () => asked.length === 2);
  stop.abort();
  end!();
  await done;
  return asked[1]!;
}

test.each([
  ['is ahead of', 300_000],
  ['lags behind', -3_600_000],
])('a follower resumes at the newest item that it showed, though its clock %s the cluster', async (_what, aheadMs) => {
  const from = { follow: true, all: true, since: '2026-11-22T05:40:19.123Z' };
  expect(await resumed([], [span()], { aheadMs, openMs: 5_000 })).toEqual(from);
});

test('an item from the future does not make a follower resume there', async () => {
  const from = { follow: true, all: true, since: '2026-11-22T05:40:24.500Z' };
  const future = span({ start: '2027-01-01T00:00:00.000000000Z' });
  expect(await resumed([], [future], { aheadMs: -3_600_000, openMs: 5_000 })).toEqual(from);
});

test('a follower that has shown nothing resumes where it began, whatever its clock says', async () => {
  const from = { follow: true, all: true, since: '80500ms' };
  expect(await resumed([], [], { aheadMs: 300_000, openMs: 70_000 })).toEqual(from);
});

test('the time in which the machine was suspended counts, though its monotonic clock stood still', async () => {
  const from = { follow: true, all: true, since: '10880500ms' };
  expect(await resumed([], [], { openMs: 70_000, suspendedMs: 3 * 3_600_000 })).toEqual(from);
});

test.each([
  [['--since', '1h'], { follow: true, all: true, since: '3670500ms' }],
  [['--since', '2026-11-22T05:00:00Z'], { follow: true, all: true, since: '2026-11-22T05:00:00Z' }],
  [['--last', '5'], { follow: true, number: 5 }],
  [['--last', '5', '--since', '1h'], { follow: true, number: 5, since: '3670500ms' }],
])('a follower with %j whose past is not complete asks for the same past again', async (args, request) => {
  expect(await resumed(args, [], { openMs: 70_000 })).toEqual(request);
});

test.each([{ args: ['--since', '1h'] }, { args: ['--last', '5'] }, { args: ['--last', '5', '--since', '1h'] }])(
  'a follower with $args whose past had no item asks for all that came since it began',
  async ({ args }) => {
    const connected: StreamMessage = {
      node: 'node-1',
      time,
      node_status: { state: 'NODE_CONNECTED', nodes: ['node-1'] },
    };
    const from = { follow: true, all: true, since: '80500ms' };
    expect(await resumed(args, [connected], { openMs: 70_000 })).toEqual(from);
  },
);

test('a follower whose connection breaks within the past that it asked for goes on there', async () => {
  const old = span({ start: '2026-11-22T04:50:00.000000000Z' });
  const from = { follow: true, all: true, since: '2026-11-22T04:49:50.000Z' };
  expect(await resumed(['--since', '1h'], [old])).toEqual(from);
});

test('Ctrl-C before the end of an answer, and a reader who leaves, have exit codes of their own', async () => {
  const ended = async (args: string[], reason?: Error): Promise<[number, string]> => {
    const stop = new AbortController();
    const options = { ...playing([span()]), signal: stop.signal, onStdout: () => stop.abort(reason) };
    const { code, stderr } = await observe([...args, '-A'], options);
    return [code, stderr];
  };
  expect(await ended([])).toEqual([130, '']);
  expect(await ended([], new ClosedOutputError())).toEqual([141, '']);
  expect(await ended(['-f'])).toEqual([0, '']);
  expect(await ended(['-f'], new ClosedOutputError())).toEqual([141, '']);
});

test('no more is read from the server while the reader of stdout is slow', async () => {
  let read = 0;
  async function* body(): AsyncGenerator<Buffer> {
    for (; read < 5; read++) yield Buffer.from(`${JSON.stringify(span())}\n`);
  }
  const { promise: taken, resolve: take } = Promise.withResolvers<void>();
  const stream = async (): Promise<QueryStream> => ({ status: 200, headers: {}, body: body() });
  let written = '';
  const onStdout = (text: string): void => void (written += text);
  const done = observe(['-A'], { stream, onStdout, drained: () => taken });
  await until('the first line', () => written !== '');
  await settle();
  expect(read).toBe(0);
  take();
  expect([(await done).code, read, written.split('\n').length]).toEqual([0, 5, 6]);
});
