import { labelsFromObject } from '../../tsdb/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';

/** While a node's agent is replaced, two agent pods may be ready there. Each has a part of the node's samples. */

const end = Math.floor(Date.now() / 60_000) * 60_000;
const at = String(end / 1000);
let stage: QueryStage;

beforeAll(async () => {
  stage = await startQueryStage({ nodes: ['node-1', 'node-1', 'node-2'], flags: { agentTimeout: '1s' } });
  const [old, fresh, other] = stage.cluster.agents;
  const expected = stage.cluster.expected as ExpectedAgent[];
  const both = { ...expected[0]!, more: [expected[1]!.address!] };
  expected.splice(0, 3, both, expected[2]!);
  const labels = labelsFromObject({ __name__: 'requests_total' });
  // The old pod has the first minutes, the new one the last. At one time both have a sample, with different values.
  for (let k = 0; k <= 6; k++) old!.store.append(labels, end - (10 - k) * 30_000, k * 30);
  for (let k = 6; k <= 10; k++) fresh!.store.append(labels, end - (10 - k) * 30_000, k * 30 + 1);
  for (let k = 0; k <= 10; k++) other!.store.append(labels, end - (10 - k) * 30_000, k * 30);
});
afterAll(() => stage.close());
beforeEach(() => {
  for (const agent of stage.cluster.agents) agent.misbehave = undefined;
});

const ask = (query: string) => stage.ask('/api/v1/query', { query, time: at, explain: '1' });

test('samples of both pods form one series, at equal times the first pod counts, and a warning says so', async () => {
  const { json } = await ask('requests_total{k8s_node_name="node-1"}[10m]');
  const { result } = json.data as { result: { values: [number, string][] }[] };
  expect(result).toHaveLength(1);
  expect(result[0]!.values.map(([, value]) => Number(value))).toEqual([
    0, 30, 60, 90, 120, 150, 180, 211, 241, 271, 301,
  ]);
  expect(json).toMatchObject({ degraded: false, missingNodes: [] });
  expect(json.warnings).toEqual([expect.stringMatching(/joined.*first agent counts \(seen at node-1\)/)]);
});

test('aggregates count the node once, and are computed from raw chunks', async () => {
  const { json } = await ask('count(requests_total)');
  expect(json.data).toMatchObject({ result: [{ value: [end / 1000, '2'] }] });
  const { explain } = json as { explain?: { path: string; fallbacks: { reason: string }[] } };
  expect(explain).toMatchObject({ path: 'off', fallbacks: [{ reason: 'two agents speak for the node' }] });
});

test('when one of the two pods does not answer, the node is missing', async () => {
  stage.cluster.agents[1]!.misbehave = (req) => void req.socket.destroy();
  const { json } = await ask('sum(requests_total)');
  expect(json).toMatchObject({ degraded: true, missingNodes: ['node-1'] });
  expect(json.data).toMatchObject({ result: [{ value: [end / 1000, '300'] }] });
});
