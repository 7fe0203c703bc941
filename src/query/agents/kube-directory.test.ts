import { systemClock } from '../../base/clock.ts';
import { createLogger, silentLogger } from '../../base/logger.ts';
import { readSettings } from '../../base/settings.ts';
import { coreResources } from '../../kube/index.ts';
import { selectorLabels } from '../../render/index.ts';
import { SharedCache } from '../../runtime/index.ts';
import { FakeApiServer, StatusError } from '../../testing/fake-api-server/index.ts';
import { ShiftedClock } from '../../testing/shifted-clock.ts';
import { until } from '../../testing/until.ts';
import { querySettingTable } from '../settings.ts';
import type { AgentDirectory } from './directory.ts';
import { watchAgents } from './kube-directory.ts';

const labels = selectorLabels('agent');
const namespace = 'svc-system';
const { agentSelector } = readSettings(querySettingTable, { flags: { namespace }, env: {}, prefix: 'SVC_' });
const watching = { namespace, labelSelector: agentSelector, clock: systemClock, logger: silentLogger };

test('the directory follows nodes, and of its namespace the DaemonSet and pods that are of this product', async () => {
  const api = await FakeApiServer.start();
  const client = api.client(systemClock);
  const stop = new AbortController();
  const cache = new SharedCache({ client, clock: systemClock, logger: silentLogger });
  try {
    const putNode = (name: string, ready: string): void => {
      api.put(coreResources.nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { os: 'linux' } } });
      api.putStatus(coreResources.nodes, undefined, name, {
        conditions: [{ type: 'Ready', status: ready }],
        images: ['big'],
      });
    };
    putNode('node-1', 'True');
    putNode('node-2', 'False');
    const foreign = {
      ...{ name: 'other', namespace },
      labels: { ...labels, 'app.kubernetes.io/name': 'other' },
    };
    api.put(coreResources.daemonSets, {
      ...{ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: foreign },
      spec: { template: { spec: {} } },
    });
    api.put(coreResources.pods, {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: foreign },
      spec: { nodeName: 'node-2' },
    });
    api.putStatus(coreResources.pods, namespace, 'other', { phase: 'Running', podIP: '10.0.0.1' });
    const directory = watchAgents(cache, watching);
    expect(directory.synced).toBe(false);
    cache.start(stop.signal);
    await until('the first lists', () => directory.synced);
    expect(directory.agents()).toEqual([]);

    const template = { spec: { nodeSelector: { os: 'linux' } } };
    const metadata = { name: 'svc-agent', namespace: 'svc-system', labels };
    api.put(coreResources.daemonSets, { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: { template } });
    await until('two expected agents', () => directory.agents().length === 2);
    expect(directory.agents()).toEqual([
      { node: 'node-1', address: undefined, absence: 'no agent pod', nodeReady: true },
      { node: 'node-2', address: undefined, absence: 'no agent pod', nodeReady: false },
    ]);

    for (const [name, namespace, podLabels] of [
      ['a', 'svc-system', labels],
      ['b', 'elsewhere', labels],
      ['c', 'svc-system', {}],
    ] as const) {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace, labels: podLabels },
        spec: { nodeName: 'node-1' },
      };
      api.put(coreResources.pods, pod);
      api.putStatus(coreResources.pods, namespace, name, { phase: 'Running', podIP: `10.0.0.${name.charCodeAt(0)}` });
    }
    await until('an address', () => directory.agents()[0]!.address);
    expect(directory.agents().map((a) => a.address)).toEqual(['10.0.0.97', undefined]);

    api.putStatus(coreResources.nodes, undefined, 'node-1', { conditions: [{ type: 'Ready', status: 'Unknown' }] });
    await until('the node to be given up', () => !directory.agents()[0]!.nodeReady);
    expect(directory.departed!()).toEqual([]);

    for (const name of ['node-1', 'node-2']) await client.delete(coreResources.nodes, { name });
    await client.delete(coreResources.pods, { name: 'a', namespace: 'svc-system' });
    await until('the nodes to be gone', () => directory.agents().length === 0);
    expect(directory.departed!().map(({ node }) => node)).toEqual(['node-1']);
  } finally {
    stop.abort(new Error('test is over'));
    await cache.stopped();
    await client.close();
    await api.stop();
  }
});

test('the record of departed nodes names those that left earlier; its faults are logged and skipped', async () => {
  const api = await FakeApiServer.start();
  const client = api.client(systemClock);
  const stop = new AbortController();
  const logged: string[] = [];
  const logger = createLogger({ write: (line) => void logged.push(line) });
  const cache = new SharedCache({ client, clock: systemClock, logger: silentLogger });
  const metadata = { name: 'svc-departed-nodes', namespace: 'svc-system' };
  const at = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();
  const left = (node: string): object => ({ node, uid: node, from: at(5), left: at(1), until: at(-23) });
  const put = (data: object): void =>
    void api.put(coreResources.configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  const names = (directory: AgentDirectory): string[] => directory.departed!().map(({ node }) => node);
  try {
    put({ 'departed.json': JSON.stringify([left('a'), { ...left('b'), left: 'soon' }, left('c')]) });
    const directory = watchAgents(cache, { ...watching, logger });
    cache.start(stop.signal);
    await until('the first lists', () => directory.synced);
    expect(names(directory)).toEqual(['a', 'c']);
    expect(logged.join()).toMatch(/"faults":\["departed.json\[1\].left: not a time as RFC 3339, UTC"\],"count":1/);
    // An unreadable record and a deleted record leave the known departures in force.
    put({ 'departed.json': '}' });
    await until('the refusal', () => logged.join().includes('no JSON'));
    await client.delete(coreResources.configMaps, metadata);
    await until('the deletion', () => logged.join().includes('deleted'));
    expect(names(directory)).toEqual(['a', 'c']);
    put({ 'departed.json': JSON.stringify([left('d')]) });
    await until('the new record', () => names(directory).join() === 'd');
  } finally {
    stop.abort(new Error('test is over'));
    await cache.stopped();
    await client.close();
    await api.stop();
  }
});

test('a record of departed nodes that may not be read delays the start briefly, and is named as missing', async () => {
  const api = await FakeApiServer.start();
  const clock = new ShiftedClock();
  const client = api.client(systemClock);
  const stop = new AbortController();
  const cache = new SharedCache({ client, clock: systemClock, logger: silentLogger });
  api.script({ plural: 'configmaps' }, { do: 'fail', error: new StatusError(403, 'Forbidden', 'no') }, Infinity);
  try {
    const directory = watchAgents(cache, { ...watching, clock });
    cache.start(stop.signal);
    const startedAt = clock.now();
    await until('the wait for the record to end', () => {
      // The wait of ten seconds begins when the other lists are there, so it ends over ten seconds after the start.
      expect(directory.synced && clock.now() - startedAt < 10_000).toBe(false);
      clock.shift(100);
      return directory.synced;
    });
    const [unknown, ...others] = directory.departed!();
    expect([unknown?.node, others]).toEqual(['departed-nodes', []]);
    expect(Math.abs(unknown!.leftMs - startedAt)).toBeLessThan(1_000);
    api.faults.clear();
    clock.shift(600_000);
    await until('the right to be given', () => directory.synced && directory.departed!().length === 0, {
      timeoutMs: 20_000,
    });
  } finally {
    stop.abort(new Error('test is over'));
    await cache.stopped();
    await client.close();
    await api.stop();
  }
});
