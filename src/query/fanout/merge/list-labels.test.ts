import fc from 'fast-check';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { encodeIndexAnswer, indexContentType, indexPath } from '../../../promql/index.ts';
import { askApi } from '../../../testing/query/api-client.ts';
import type { ApiAnswer, ApiParams } from '../../../testing/query/api-client.ts';
import { startQueryStage } from '../../../testing/query/query-stage.ts';
import type { QueryStage } from '../../../testing/query/query-stage.ts';
import type { SimulatedAgent } from '../../../testing/query/agent-cluster.ts';
import { remoteReadPath } from '../../../tsdb/index.ts';

const nodes = ['node-1', 'node-2', 'node-3'];
const end = Math.floor(Date.now() / 60_000) * 60_000;
const span = { start: String(end / 1000 - 3600), end: String(end / 1000) };
let stage: QueryStage;

beforeAll(async () => {
  stage = await startQueryStage({
    nodes,
    flags: { agentTimeout: '3s', queryTimeout: '10s', tenancy: 'true' },
    reviews: { reviewToken: async (token) => ({ username: token }), mayAccessPath: async () => true },
    tenants: {
      reviews: {
        mayReadPods: async ({ username }, namespace) => username === 'admin' || namespace === username,
      },
      namespaces: { synced: true, names: () => ['shop', 'bank'] },
    },
  });
  for (const [n, node] of nodes.entries()) {
    for (let k = 0; k < 40; k++) {
      const t = end - (40 - k) * 60_000;
      for (const namespace of ['shop', 'bank']) {
        for (const pod of ['a', 'b', 'c'].slice(0, n + 1)) {
          // The series of pod b begin late, and those of pod c have a gap.
          if ((pod === 'b' && k < 20) || (pod === 'c' && k > 10 && k < 30)) continue;
          const labels = { __name__: 'requests_total', k8s_namespace_name: namespace, pod, [`only_${node}`]: 'x' };
          stage.cluster.append(node, labels, t, k);
        }
      }
      if (k === 5) stage.cluster.append(node, { __name__: 'short_total', side: 'left' }, t, 1);
    }
  }
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const agent of stage.cluster.agents) agent.misbehave = undefined;
});

const ask = (path: string, params: ApiParams = span, user = 'admin'): Promise<ApiAnswer> =>
  stage.ask(path, params, { headers: { authorization: `Bearer ${user}` } });
const lists = ['/api/v1/labels', '/api/v1/label/pod/values', '/api/v1/series'] as const;
const everything = { ...span, 'match[]': '{__name__=~".+"}' };

/** Makes an agent answer `path` by `how`, and other paths as usual. Returns the requested paths, a list that grows. */
function misbehave(
  agent: SimulatedAgent,
  path: string,
  how: (res: ServerResponse, req: IncomingMessage) => void,
): string[] {
  const asked: string[] = [];
  agent.misbehave = (req, res) => {
    asked.push(req.url ?? '');
    if (req.url === path) how(res, req);
    else agent.serve(req, res);
  };
  return asked;
}
const withoutIndex = (agent: SimulatedAgent): string[] =>
  misbehave(agent, indexPath, (res) => void res.writeHead(404).end('not found\n'));

test('lists come from the agents’ label index, without remote read', async () => {
  const asked = stage.cluster.agents.map((agent) => misbehave(agent, '/none', () => {}));
  for (const path of lists) expect((await ask(path, everything)).json).toMatchObject({ status: 'success' });
  expect(asked.flat().every((path) => path === indexPath)).toBe(true);
  expect(asked.flat()).toHaveLength(lists.length * nodes.length);
});

test.each([
  ['{""="",pod="b"}', '{pod="b"}'],
  ['{""=~".*",""!="x",pod="b"}', '{pod="b"}'],
  ['{""!="",pod="b"}', '{nothing="at all"}'],
  ['{""=~".+",pod="b"}', '{nothing="at all"}'],
])('no series has a label without a name: %s selects the same as %s, in every list and query', async (named, same) => {
  for (const path of lists) {
    const answer = await ask(path, { ...span, 'match[]': named });
    expect(answer.json).toMatchObject({ status: 'success', degraded: false });
    expect(answer.text).toBe((await ask(path, { ...span, 'match[]': same })).text);
    const both = await ask(path, { ...span, 'match[]': [named, 'short_total'] });
    expect(both.text).toBe((await ask(path, { ...span, 'match[]': [same, 'short_total'] })).text);
  }
  for (const around of ['', 'count', 'quantile without () ']) {
    const param = around.startsWith('quantile') ? '0.5, ' : '';
    const query = (of: string): ApiParams => ({ query: `${around}(${param}${of})`, time: span.end });
    const answer = await ask('/api/v1/query', query(named));
    expect(answer.json).toMatchObject({ status: 'success', degraded: false });
    expect(answer.json.data).toEqual((await ask('/api/v1/query', query(same))).json.data);
  }
});

test('an agent that refuses matchers without a name, as those of 0.1.0 do, is asked without them', async () => {
  const [agent] = stage.cluster.agents;
  const bodies: string[] = [];
  agent!.misbehave = (req, res) => {
    req.on('data', (part: Buffer) => bodies.push(part.toString()));
    agent!.serve(req, res);
  };
  await ask('/api/v1/series', { ...span, 'match[]': ['{""="",pod="b"}', '{""!="",pod="a"}'] });
  expect(bodies.join('')).toContain('"sets":[[{"type":"=","name":"pod","value":"b"}]]');
});

const selector = fc.constantFrom(
  '{__name__=~".+"}',
  'requests_total',
  'requests_total{pod="b"}',
  'requests_total{pod!="a"}',
  '{__name__="requests_total",pod=~"a|c"}',
  'short_total',
  'requests_total{k8s_node_name="node-2"}',
  '{k8s_node_name!~"node-[12]",pod!=""}',
  '{nothing="at all"}',
  '{""="",pod="b"}',
  '{""!="",pod="b"}',
);
const question = fc.record({
  path: fc.constantFrom(...lists, '/api/v1/label/__name__/values', '/api/v1/label/k8s_node_name/values'),
  selectors: fc.array(selector, { minLength: 1, maxLength: 3 }),
  user: fc.constantFrom('admin', 'shop', 'nobody'),
  from: fc.nat(45),
  minutes: fc.nat(45),
  limit: fc.constantFrom('', '1', '2', '5', '100'),
});

test('label index and remote read give the same lists, byte for byte, for every user', async () => {
  await fc.assert(
    fc.asyncProperty(question, async ({ path, selectors, user, from, minutes, limit }) => {
      const start = end - from * 60_000 - 500;
      const params = {
        'match[]': selectors,
        start: String(start / 1000),
        end: String((start + minutes * 60_000) / 1000),
        ...(limit === '' ? {} : { limit }),
      };
      for (const agent of stage.cluster.agents) agent.misbehave = undefined;
      const fresh = await ask(path, params, user);
      // First one agent, then all agents lack the index.
      withoutIndex(stage.cluster.agents[1]!);
      const mixed = await ask(path, params, user);
      for (const agent of stage.cluster.agents) withoutIndex(agent);
      const old = await ask(path, params, user);
      expect([fresh.status, fresh.text]).toEqual([200, old.text]);
      expect(mixed.text).toBe(old.text);
    }),
    { numRuns: 25 },
  );
});

test('an agent without an index is read by remote read, and its node is not missing', async () => {
  const asked = withoutIndex(stage.cluster.agents[2]!);
  const { json } = await ask('/api/v1/label/pod/values', everything);
  expect(json).toMatchObject({ data: ['a', 'b', 'c'], degraded: false, missingNodes: [] });
  expect(asked).toEqual([indexPath, remoteReadPath]);
});

const frames = (...parts: Parameters<typeof encodeIndexAnswer>): Buffer =>
  Buffer.concat([...encodeIndexAnswer(...parts)]);
const whole = (node: string, text: string): Buffer =>
  frames({ kind: 'values', node, partitionClean: true }, { texts: [text], series: [] });
const send =
  (body: Buffer, type = indexContentType) =>
  (res: ServerResponse) =>
    void res.writeHead(200, { 'content-type': type }).end(body);
const flipped = (body: Buffer): Buffer => {
  body[body.length - 2]! ^= 1;
  return body;
};

test.each<[string, (res: ServerResponse, req: IncomingMessage) => void, RegExp]>([
  ['cuts the connection', (_res, req) => void req.socket.destroy(), /unreachable|protocol/],
  ['does not answer', () => {}, /timeout/],
  ['refuses the caller', (res) => void res.writeHead(403).end('{"code":"forbidden","message":"no"}'), /auth .*no$/],
  ['is busy', (res) => void res.writeHead(429).end('{"code":"busy","message":"64 wait"}'), /over limit .*64 wait/],
  ['has too much to send', (res) => void res.writeHead(413).end('{"code":"over_limit","message":"m"}'), /over limit/],
  ['fails', (res) => void res.writeHead(500).end('{"code":"internal","message":"internal error"}'), /protocol/],
  ['refuses the request', (res) => void res.writeHead(422).end('{"message":"no query"}'), /protocol .*422: no query/],
  ['answers for another node', send(whole('node-1', 'zzz')), /protocol .*"node-1" from the agent of node-3/],
  ['sends a wrong checksum', send(flipped(whole('node-3', 'zzz'))), /protocol .*checksum/],
  ['ends in the middle', send(whole('node-3', 'zzz').subarray(0, -3)), /protocol .*inside a frame/],
  ['leaves out the trailer', send(whole('node-3', 'zzz').subarray(0, -9)), /protocol/],
  ['sends another content type', send(Buffer.from('{}'), 'application/json'), /protocol .*content type/],
  [
    'answers another question',
    send(frames({ kind: 'names', node: 'node-3', partitionClean: true }, { texts: ['zzz'], series: [] })),
    /protocol .*asked for values/,
  ],
])('the node of an agent that %s is missing entirely, with one warning', async (_, how, reason) => {
  misbehave(stage.cluster.agents[2]!, indexPath, how);
  const { status, json, headers } = await ask('/api/v1/label/pod/values', everything);
  expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
  expect(json).toMatchObject({ data: ['a', 'b'], degraded: true, missingNodes: ['node-3'] });
  expect(json.warnings).toEqual([expect.stringMatching(reason)]);
  const strict = await ask('/api/v1/label/pod/values', { ...everything, partial_response: 'false' });
  expect([strict.status, strict.json.errorType]).toEqual([503, 'unavailable']);
});

test('a node is missing if its agent sends series, values or label names that are not of this node', async () => {
  const agent = stage.cluster.agents[2]!;
  const answer = async (path: string, ...parts: Parameters<typeof encodeIndexAnswer>): Promise<ApiAnswer['json']> => {
    misbehave(agent, indexPath, send(frames(...parts)));
    return (await ask(path, everything)).json;
  };
  const header = { node: 'node-3', partitionClean: true } as const;
  const stranger = [['k8s_node_name', 'node-1']] as const;
  const missing = { degraded: true, missingNodes: ['node-3'] };
  const series = { texts: [], series: [stranger] };
  expect(await answer('/api/v1/series', { ...header, kind: 'series' }, series)).toMatchObject(missing);
  const value = { texts: ['node-1'], series: [] };
  expect(await answer('/api/v1/label/k8s_node_name/values', { ...header, kind: 'values' }, value)).toMatchObject(
    missing,
  );
  const names = { texts: ['a'], series: [] };
  expect(await answer('/api/v1/labels', { ...header, kind: 'names' }, names)).toMatchObject(missing);
  // An agent that announces series of other nodes may send them.
  const open = { kind: 'series', node: 'node-3', partitionClean: false } as const;
  expect(await answer('/api/v1/series', open, series)).toMatchObject({ degraded: false });
});

test('a limit is applied, reported in a warning, and passed on to the agents', async () => {
  const bodies: string[] = [];
  const agent = stage.cluster.agents[0]!;
  agent.misbehave = (req, res) => {
    req.on('data', (part: Buffer) => bodies.push(part.toString()));
    agent.serve(req, res);
  };
  const { json } = await ask('/api/v1/series', { ...everything, limit: '2' });
  expect(json.data).toHaveLength(2);
  expect(json.warnings).toEqual(['results truncated due to limit']);
  expect(bodies.map((body) => (JSON.parse(body) as { limit: number }).limit)).toEqual([3]);
  const all = await ask('/api/v1/series', { ...everything, limit: '1000' });
  expect(all.json.warnings).toBeUndefined();
});

test.each(lists)('a limit beyond any list is none: %s', async (path) => {
  for (const user of ['admin', 'shop']) {
    const whole = await ask(path, everything, user);
    expect(whole.json).toMatchObject({ degraded: false });
    for (const limit of ['999999999', '1000000000', '2147483647', '9'.repeat(400)]) {
      expect((await ask(path, { ...everything, limit }, user)).text).toBe(whole.text);
    }
  }
});

test.each(lists)('a selector with more matchers than a label index takes is read by remote read: %s', async (path) => {
  for (const user of ['admin', 'shop']) {
    const whole = await ask(path, { ...span, 'match[]': 'requests_total' }, user);
    expect(whole.json).toMatchObject({ degraded: false });
    for (const count of [196, 199, 200, 400]) {
      const matchers = Array.from({ length: count }, (_, i) => `a!="${i}"`).join(',');
      const answer = await ask(path, { ...span, 'match[]': `requests_total{${matchers}}` }, user);
      expect([count, answer.text]).toEqual([count, whole.text]);
    }
  }
});

test('a user sees only permitted namespaces; without any the list is empty, and no agent is asked', async () => {
  const bodies: string[] = [];
  for (const agent of stage.cluster.agents) {
    agent.misbehave = (req, res) => {
      req.on('data', (part: Buffer) => bodies.push(part.toString()));
      agent.serve(req, res);
    };
  }
  const { json } = await ask('/api/v1/label/k8s_namespace_name/values', everything, 'shop');
  expect(json).toMatchObject({ data: ['shop'], degraded: false });
  expect(bodies).toHaveLength(nodes.length);
  expect(bodies.every((body) => body.includes('"value":"shop"'))).toBe(true);
  expect((await ask('/api/v1/label/__name__/values', span, 'shop')).json.data).toEqual(['requests_total']);
  bodies.length = 0;
  expect((await ask('/api/v1/labels', span, 'nobody')).json).toMatchObject({ data: [], degraded: false });
  expect(bodies).toEqual([]);
});

test('agents that cannot have matching series are neither asked nor missing', async () => {
  const asked = withoutIndex(stage.cluster.agents[0]!);
  const only = { ...span, 'match[]': '{k8s_node_name="node-2"}' };
  const { json } = await ask('/api/v1/label/k8s_node_name/values', only);
  expect(json).toMatchObject({ data: ['node-2'], degraded: false, missingNodes: [] });
  expect(asked).toEqual([]);
});

test('series that two agents of a node have are listed once', async () => {
  const { cluster } = stage;
  const expected = cluster.expected.map((agent, i) => (i === 0 ? { ...agent, more: [agent.address!] } : agent));
  const before = (await ask('/api/v1/series', everything)).text;
  const original = [...cluster.expected];
  (cluster.expected as unknown[]).splice(0, expected.length, ...expected);
  const asked = misbehave(cluster.agents[0]!, '/none', () => {});
  try {
    expect((await ask('/api/v1/series', everything)).text).toBe(before);
    expect(asked).toEqual([indexPath, indexPath]);
  } finally {
    (cluster.expected as unknown[]).splice(0, original.length, ...original);
  }
});

test('a list that would take too much memory is refused with advice; with a limit it is answered', async () => {
  const poor = await stage.replica({ flags: { maxSamples: '60', tenancy: 'false' }, tenants: undefined });
  const client = { port: poor.port, ca: stage.cluster.ca.cert };
  const answer = await askApi(client, '/api/v1/series', everything);
  expect([answer.status, answer.json.errorType, answer.json.error]).toEqual([
    ...[422, 'execution'],
    'the list would take too much memory: ask for less of it by match[], start and end, or by limit',
  ]);
  const short = await askApi(client, '/api/v1/labels', { ...span, limit: '1' });
  expect(short.json).toMatchObject({ status: 'success', data: ['__name__'], degraded: false });
});
