import { issueLeaf } from '../../net/ca.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { fixedTls } from '../../net/tls-material.ts';
import { agentTls } from '../../testing/agent-tls.ts';
import { startQueryStage, type QueryStage } from '../../testing/query/query-stage.ts';
import type { ExpectedAgent } from '../agents/directory.ts';

/** An impostor with the key of node-2 listens at the address of node-1 and forwards requests to node-1's agent. */

const end = Math.floor(Date.now() / 60_000) * 60_000;
let stage: QueryStage;
let honest: readonly ExpectedAgent[];

beforeAll(async () => {
  stage = await startQueryStage({ nodes: ['node-1', 'node-2'], flags: { agentTimeout: '1s' } });
  honest = [...stage.cluster.expected];
  for (const { node } of honest) {
    for (let k = 0; k <= 10; k++) stage.cluster.append(node, { __name__: 'x', a: '1' }, end - k * 30_000, 1);
  }
});
afterAll(() => stage.close());

/** A server with a certificate of its own that forwards requests to the agent of node-1. */
async function impostor(
  material: Parameters<typeof fixedTls>[0],
): Promise<{ asked: () => number; close: () => Promise<void> }> {
  let asked = 0;
  const server = createTlsServer(
    fixedTls(material),
    (req, res) => {
      asked++;
      stage.cluster.agents[0]!.serve(req, res);
    },
    { clientNames: ['svc-query'] },
  );
  await listen('remote-read', server, { host: '127.0.0.9', port: stage.cluster.port });
  return { asked: () => asked, close: () => closeServer(server, 0) };
}

function expectAt(address: string, shared?: readonly string[]): void {
  const agents = stage.cluster.expected as ExpectedAgent[];
  agents.splice(0, 2, { ...honest[0]!, address, ...(shared ? { shared } : {}) }, honest[1]!);
}

const at = String(end / 1000);
const count = async (): Promise<number> => {
  const found = await stage.server.registry.getSingleMetric('svc_query_lost_nodes_total')!.get();
  return found.values.find(({ labels }) => labels['reason'] === 'identity')?.value ?? 0;
};

test.each<[string, string, Record<string, string>]>([
  ['a whole query', '/api/v1/query', { query: 'sum(x)', time: at }],
  ['series by steps', '/api/v1/query_range', { query: 'x', start: at, end: at, step: '30' }],
  ['raw chunks', '/api/v1/query', { query: 'x[5m]', time: at }],
  ['series', '/api/v1/series', { 'match[]': 'x', start: String(end / 1000 - 300), end: at }],
  ['values of a label', '/api/v1/label/a/values', {}],
  ['exemplars', '/api/v1/query_exemplars', { query: 'x', start: String(end / 1000 - 300), end: at }],
])('an agent with the key of another node gets no request: %s', async (_what, path, params) => {
  const thief = await impostor(await agentTls(stage.cluster.ca, 'node-2'));
  try {
    for (const shared of [undefined, ['127.0.0.9']]) {
      expectAt('127.0.0.9', shared);
      const { json } = await stage.ask(path, params);
      expect(json).toMatchObject({ status: 'success', degraded: true, missingNodes: ['node-1'] });
      expect(json.warnings).toEqual([
        expect.stringMatching(
          /^node node-1 is missing from this answer: identity after \d+ ms: .*the certificate is of node-2\.svc-agent\.svc-system\.svc, not of node-1\./,
        ),
      ]);
    }
    expect(thief.asked()).toBe(0);
  } finally {
    await thief.close();
  }
});

test('a node whose address answers with another key is counted as lost, for the reason identity', async () => {
  const before = await count();
  const thief = await impostor(await agentTls(stage.cluster.ca, 'node-2'));
  try {
    expectAt('127.0.0.9');
    await stage.ask('/api/v1/query', { query: 'sum(x)', time: at });
    expect(await count()).toBe(before + 1);
  } finally {
    await thief.close();
  }
});

test('the certificate that all agents once shared is accepted from pods that still have it, and from no others', async () => {
  const dnsNames = ['svc-agent', 'svc-agent.svc-system.svc'];
  const leaf = await issueLeaf(stage.cluster.ca, { commonName: 'svc-agent', dnsNames }, { now: Date.now() });
  const old = await impostor({ ...leaf, ca: stage.cluster.ca.cert });
  const sum = () => stage.ask('/api/v1/query', { query: 'sum(x)', time: at });
  try {
    expectAt('127.0.0.9', ['127.0.0.9']);
    expect((await sum()).json).toMatchObject({ degraded: false, data: { result: [{ value: [end / 1000, '2'] }] } });
    expectAt('127.0.0.9');
    expect((await sum()).json).toMatchObject({ degraded: true, missingNodes: ['node-1'] });
  } finally {
    await old.close();
  }
});
