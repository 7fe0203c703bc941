import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { StreamMessage } from '../../src/stream/index.ts';
import { readyPods, type Stage } from '../demo/stage.ts';
import { until } from '../../src/testing/until.ts';
import type { Outcome } from '../install/tools.ts';
import type { Plugin } from './plugin.ts';

/** Tests what `observe` shows of the shop's requests on both nodes. It gets them from the agents through svc-query. */
export function observeCases(stage: () => Stage, plugin: () => Plugin): void {
  const observe = (...args: string[]): Promise<Outcome> => plugin().svc(['observe', ...args]);
  const messages = (text: string): StreamMessage[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as StreamMessage);

  test('observe shows the requests of all nodes in order of time, and filters them', async () => {
    const { stdout } = await until(
      'spans of both nodes',
      () => observe('-n', 'shop', '--type', 'span', '--last', '200', '-o', 'json'),
      { good: (outcome) => new Set(messages(outcome.stdout).map(({ node }) => node)).size === 2, timeoutMs: 30_000 },
    );
    const all = messages(stdout);
    const times = all.map(({ time }) => time);
    expect(times).toEqual([...times].sort());
    expect(all.every(({ span }) => span?.namespace === 'shop')).toBe(true);
    // The catalog's monitor takes no spans.
    const lines = await until(
      'five spans of checkout',
      async () => {
        const last = ['-n', 'shop', '--type', 'span', '--workload', 'deployment/checkout', '--last', '5'];
        return (await observe(...last)).stdout.trim().split('\n');
      },
      { good: ({ length }) => length === 5, timeoutMs: 20_000 },
    );
    expect(lines).toHaveLength(5);
    for (const line of lines) {
      expect(line).toMatch(/^\S+Z node-[12] \S+ → \S+ [A-Z]+ \/\S* \d{3} [\d.]+(µs|ms|s)$/);
      // Checkout serves orders, and calls the catalog for each.
      expect(line).toMatch(/ shop\/checkout-\S+ → | → shop\/checkout-/);
    }
    const one = messages((await observe('-A', '--node', 'node-1', '-o', 'json')).stdout);
    expect(new Set(one.map(({ node }) => node))).toEqual(new Set(['node-1']));
    expect((await observe('-n', 'shop', '--type', 'span', '--status', '1-199')).stdout).toBe('');
  }, 60_000);

  test('observe -f survives the death of an agent, warns of it, and shows the node again', async () => {
    const { cluster } = stage();
    const child = spawn(
      cluster.binaries.kubectl,
      ['svc', 'observe', '-f', '-n', 'shop', '--type', 'span', '-o', 'json'],
      {
        env: plugin().env,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
    const shown: StreamMessage[] = [];
    const told: string[] = [];
    createInterface(child.stdout).on('line', (line) => shown.push(JSON.parse(line) as StreamMessage));
    createInterface(child.stderr).on('line', (line) => told.push(line));
    const nodesSince = (at: number): Set<string> => new Set(shown.slice(at).map(({ node }) => node));
    const wait = (what: string, condition: () => boolean): Promise<unknown> =>
      until(what, async () => condition(), { good: Boolean, timeoutMs: 40_000 });
    try {
      await wait('spans of both nodes', () => nodesSince(0).size === 2);
      const agents = await readyPods(cluster, 'svc-system', 'app.kubernetes.io/component=agent');
      const node = cluster.nodes[0]!;
      const name = (
        await cluster.kubectl([
          ...['-n', 'svc-system', 'get', 'pods', '-l', 'app.kubernetes.io/component=agent'],
          ...['--field-selector=spec.nodeName=node-1', '-o', 'jsonpath={.items[0].metadata.name}'],
        ])
      ).trim();
      expect(agents.map((agent) => agent.name)).toContain(name);
      await node.killContainer(`svc-system/${name}`, 'agent');
      await wait('word of it', () => told.some((line) => line.startsWith('warning: node node-1: unavailable: ')));
      const before = shown.length;
      await wait('the other node', () => nodesSince(before).has('node-2'));
      await wait('word of its return', () => told.slice(1).some((line) => line === 'connected to node node-1'));
      await wait('its spans', () => nodesSince(before).has('node-1'));
      const keys = shown.map(({ node: of, span }) => `${of} ${span!.traceId} ${span!.spanId} ${span!.kind}`);
      expect(new Set(keys).size).toBe(keys.length);
    } finally {
      child.kill('SIGINT');
    }
    expect(await ended).toBe(0);
  }, 120_000);
}
