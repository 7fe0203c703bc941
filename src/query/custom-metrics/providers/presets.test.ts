import { Engine } from '../../../promql/index.ts';
import { MemorySource } from '../../../testing/promql/memory-source.ts';
import { describedResource } from '../../../api/described-resources.ts';
import { combinedQuery, readRows } from '../values/evaluate.ts';
import { presetQuery } from './preset-provider.ts';
import { builtInPresets, monitorPresets, type Preset } from './presets.ts';

const bytes = (labels: Record<string, string>, perSecond: number) => ({ labels, perSecond });

/** BytesPerSecond of each Deployment of `shop`, after two minutes in which the counters `series` grew steadily. */
async function valueOf(series: readonly ReturnType<typeof bytes>[]): Promise<Record<string, number>> {
  const { value } = monitorPresets.BytesPerSecond({
    by: ['k8s_namespace_name', 'k8s_deployment_name'],
    matchers: [{ type: '=', name: 'k8s_namespace_name', value: 'shop' }],
    window: '60000ms',
    resource: describedResource('deployments.apps'),
  });
  const answer = await new Engine().instant(value, 120_000, { source: grown(series) });
  if (answer.value.type !== 'vector') throw new Error(answer.value.type);
  return Object.fromEntries(
    answer.value.elements.map((e) => [Object.fromEntries(e.labels)['k8s_deployment_name'] ?? '', e.value]),
  );
}

/** The counters after two minutes, with a sample every ten seconds. */
function grown(series: readonly ReturnType<typeof bytes>[]): MemorySource {
  const source = new MemorySource();
  for (const { labels, perSecond } of series) {
    const pairs = Object.entries({ __name__: 'ebpf_network_flow_bytes', ...labels });
    source.load(
      pairs.sort(([a], [b]) => (a < b ? -1 : 1)),
      Array.from({ length: 13 }, (_, i) => ({ time: i * 10_000, value: 10 * i * perSecond })),
    );
  }
  return source;
}

/**
 * A flow between workloads on two nodes, as the agent on `seenOn` reports it: only the end on that node has a node
 * name.
 */
const flow = (from: string, to: string, seenOn: string, perSecond: number) =>
  bytes(
    {
      direction: 'request',
      k8s_node_name: seenOn,
      ...end('src', from, seenOn),
      ...end('dst', to, seenOn),
    },
    perSecond,
  );
const nodes: Record<string, string> = { web: 'node-1', api: 'node-2' };
const end = (side: 'src' | 'dst', name: string, seenOn: string): Record<string, string> => ({
  [`k8s_${side}_namespace`]: 'shop',
  [`k8s_${side}_owner_name`]: name,
  [`k8s_${side}_owner_type`]: 'Deployment',
  ...(nodes[name] === seenOn ? { [`k8s_${side}_node_name`]: seenOn } : {}),
});

test('BytesPerSecond counts both directions of a flow once, though both nodes report it', async () => {
  const both = ['node-1', 'node-2'].flatMap((node) => [flow('web', 'api', node, 300), flow('api', 'web', node, 50)]);
  expect(await valueOf(both)).toEqual({ web: 350, api: 350 });
});

test('BytesPerSecond has a value for a workload that only sends or only receives', async () => {
  const oneWay = ['node-1', 'node-2'].map((node) => flow('web', 'api', node, 300));
  expect(await valueOf(oneWay)).toEqual({ web: 300, api: 300 });
});

test('BytesPerSecond has no value for a workload without captured flows', async () => {
  const elsewhere = (labels: Record<string, string>) =>
    Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, value === 'shop' ? 'bank' : value]));
  const seen = ['node-1', 'node-2'].map((node) => flow('web', 'api', node, 300));
  expect(await valueOf(seen.map(({ labels, perSecond }) => bytes(elsewhere(labels), perSecond)))).toEqual({});
});

test.each<[string, Preset]>([
  ['BytesPerSecond', monitorPresets.BytesPerSecond],
  ['network_receive_bytes_per_second', builtInPresets['network_receive_bytes_per_second']!],
  ['network_transmit_bytes_per_second', builtInPresets['network_transmit_bytes_per_second']!],
])('a value of %s has the time of its newest samples, not the time at which it is asked for', async (_, preset) => {
  const both = ['node-1', 'node-2'].flatMap((node) => [flow('web', 'api', node, 300), flow('api', 'web', node, 50)]);
  const resource = describedResource('deployments.apps');
  const query = presetQuery(preset, { resource, namespace: 'shop', matchers: [], names: undefined }, 60_000);
  const answer = await new Engine().instant(combinedQuery(query), 150_000, { source: grown(both) });
  const rows = readRows(answer, query.label, 150_000);
  expect(rows.map(({ labels, timeMs }) => [labels['k8s_deployment_name'], timeMs]).sort()).toEqual([
    ['api', 120_000],
    ['web', 120_000],
  ]);
});

test.each(['receive', 'transmit'])(
  'network_%s_bytes_per_second of a node has the time of its newest samples, though both captures name both nodes',
  async (direction) => {
    // A policy keeps `k8s.src.*` and `k8s.dst.*`: the two series of a flow differ only in who captured it.
    const both = ['node-1', 'node-2'].map((seenOn) =>
      bytes({ k8s_node_name: seenOn, k8s_src_node_name: 'node-1', k8s_dst_node_name: 'node-2' }, 300),
    );
    const preset = builtInPresets[`network_${direction}_bytes_per_second`]!;
    const resource = describedResource('nodes');
    const query = presetQuery(preset, { resource, namespace: undefined, matchers: [], names: undefined }, 60_000);
    const answer = await new Engine().instant(combinedQuery(query), 150_000, { source: grown(both) });
    const node = direction === 'transmit' ? 'node-1' : 'node-2';
    expect(readRows(answer, query.label, 150_000)).toEqual([
      { labels: { k8s_node_name: node }, value: expect.any(Number), timeMs: 120_000 },
    ]);
  },
);
