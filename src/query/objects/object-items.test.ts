import { Pace } from '../../base/turns/turns.ts';
import { labelsFromObject } from '../../tsdb/index.ts';
import { TurnWatch } from '../../testing/turn-watch.ts';
import { nodeReport, selvesByNode } from './object-items.ts';

const around = { missing: null, clockOffsetMs: null, notCaptured: [] };

test('the report of a node is made of its own series, and what they lack is null', async () => {
  const element = (node: string, name: string, value: number, more: Record<string, string> = {}) => ({
    labels: labelsFromObject({ __name__: name, k8s_node_name: node, ...more }),
    value,
  });
  const byNode = await selvesByNode(new Pace(), [
    element('node-1', 'svc_agent_up', 1, { version: '1.2.3' }),
    element('node-1', 'svc_series_active', 7),
    element('node-2', 'svc_series_active', 9),
    element('node-2', 'svc_instrument_config_hash_info', 1, { phase: 'Running', hash: 'abc' }),
    element('node-2', 'svc_instrument_up', 0),
  ]);
  expect([...byNode.keys()]).toEqual(['node-1', 'node-2']);
  const none = { phase: null, configHash: null, instrumentUp: null, seriesActive: 7, certificateEndMs: null };
  expect(nodeReport(byNode.get('node-1')!, around)).toMatchObject({ ...none, agentVersion: '1.2.3' });
  const running = { phase: 'Running', configHash: 'abc', instrumentUp: false, seriesActive: 9, agentVersion: null };
  expect(nodeReport(byNode.get('node-2')!, around)).toMatchObject(running);
  expect(nodeReport([], around)).toMatchObject({ ...none, seriesActive: null, agentVersion: null });
});

test('other work gets its turns while the series of many nodes are sorted by node, each of which is read once', async () => {
  let reads = 0;
  const elements = Array.from({ length: 400_000 }, (_, i) => {
    const labels = labelsFromObject({ __name__: 'svc_agent_up', instance: `${i}`, k8s_node_name: `node-${i % 5_000}` });
    return {
      value: 1,
      get labels() {
        reads++;
        return labels;
      },
    };
  });
  const watch = new TurnWatch();
  const byNode = await selvesByNode(new Pace(undefined, watch), elements);
  watch.look();
  expect([byNode.size, byNode.get('node-7')!.length, reads]).toEqual([5_000, 80, 400_000]);
  expect(watch.longestMs).toBeLessThan(100);
});
