import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readRepositoryFile, type Stage } from '../demo/stage.ts';
import { until } from '../../src/testing/until.ts';
import type { Outcome } from '../install/tools.ts';
import type { Plugin } from './plugin.ts';

interface Steps {
  well: boolean;
  pods: { pod: string; captured: boolean; steps: { asks: string; answer: string; fact: string; way?: string }[] }[];
}

/** `status`, `explain` and `diff` against a real cluster: their output is true. */
export function captureCases(stage: () => Stage, installed: () => Plugin): void {
  const plugin = (args: readonly string[]): Promise<Outcome> => installed().svc(args);
  const diff = async (text: string, ...args: string[]): Promise<Outcome> => {
    const file = join(installed().dir, 'objects.yaml');
    await writeFile(file, text);
    return plugin(['diff', '-f', file, ...args]);
  };
  const kubectl = (...args: string[]): Promise<string> => stage().cluster.kubectl(args);
  const sample = 'config/samples/trafficmonitor-checkout.yaml';

  describe('status', () => {
    test('of the product with its samples is good, and lists each part', async () => {
      const { code, stdout, stderr } = await plugin(['status', '--wait', '--timeout', '90s']);
      expect({ code, stderr: code === 0 ? '' : `${stdout}${stderr}` }).toEqual({ code: 0, stderr: '' });
      for (const line of ['✓ leader: ', '✓ svc-agent: 2/2 ready', '✓ shop/checkout: ready', '✓ nodes: 2 Running'])
        expect(stdout).toContain(line);
      expect(stdout).toMatch(/✓ svc-ca: ends in \d+ days/);
    }, 120_000);

    test('names a node without an agent, exits with 1, and is good again afterwards', async () => {
      const quota = {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'none' },
        spec: { hard: { pods: '0' } },
      };
      await stage().cluster.kubectl(['-n', 'svc-system', 'apply', '-f', '-'], { stdin: JSON.stringify(quota) });
      try {
        const agents = ['-n', 'svc-system', 'get', 'pods', '-l', 'app.kubernetes.io/component=agent'];
        const field = '--field-selector=spec.nodeName=node-2';
        const name = await kubectl(...agents, field, '-o', 'name');
        await kubectl('-n', 'svc-system', 'delete', name.trim());
        const { code, stdout } = await until('the missing agent to be seen', () => plugin(['status']), {
          good: (outcome) => outcome.stdout.includes('✗ node node-2'),
          timeoutMs: 30_000,
        });
        expect(code).toBe(1);
        expect(stdout).toMatch(/✗ node node-2: no agent pod on this node → kubectl -n svc-system describe daemonset/);
        const explained = await plugin(['explain', 'node/node-2']);
        expect(explained).toMatchObject({ code: 1, stdout: expect.stringContaining('no agent pod on node-2') });
      } finally {
        await kubectl('-n', 'svc-system', 'delete', 'resourcequota', 'none');
      }
      expect(await plugin(['status', 'nodes', '--wait', '--timeout', '90s'])).toMatchObject({ code: 0 });
    }, 150_000);
  });

  describe('explain', () => {
    const explain = async (target: string): Promise<Steps> => {
      const { stdout, stderr } = await plugin(['explain', target, '-n', 'shop', '-o', 'json']);
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout) as Steps;
    };
    const open = ({ pods }: Steps): string[] =>
      pods.flatMap(({ pod, steps }) =>
        steps
          .filter(({ answer }) => answer !== 'yes')
          .map(({ asks, answer, fact }) => `${pod} ${asks} ${answer}: ${fact}`),
      );

    test('of captured pods answers every step with yes; the agents have the config that `explain` compiles', async () => {
      const explained = await until('every step to be yes', () => explain('deployment/checkout'), {
        good: (answer) => answer.pods.length > 0 && open(answer).length === 0,
        timeoutMs: 60_000,
      });
      expect(explained.pods.every(({ captured }) => captured)).toBe(true);
      for (const { steps } of explained.pods)
        expect(steps.find(({ asks }) => asks === 'config')!.fact).toMatch(/^sha256:[0-9a-f]{12}, Running/);
    }, 90_000);

    test('of a pod with an unlisted port names the port, and where to add it', async () => {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'odd', namespace: 'shop', labels: { app: 'odd' } },
        spec: {
          automountServiceAccountToken: false,
          containers: [{ name: 'main', image: 'svc-demo-shop:0.1.0', ports: [{ containerPort: 9999 }] }],
        },
      };
      await stage().cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(pod) });
      const { pods } = await until('the pod on a node', () => explain('pod/odd'), {
        good: (answer) => answer.pods[0]!.steps.length > 1,
      });
      expect(pods[0]!.steps.find(({ answer }) => answer === 'no')).toMatchObject({
        asks: 'port',
        fact: '9999 (main) is not among 80,443,8080,8443',
        way: expect.stringContaining('add 9999 to capture.ports of ClusterTrafficPolicy default'),
      });
      await kubectl('-n', 'shop', 'delete', 'pod', 'odd', '--wait=false');
    }, 60_000);
  });

  describe('diff', () => {
    test('exits with 0 for applied objects, with 1 and a diff for an edit, with 0 after it is applied', async () => {
      const before = await readRepositoryFile(sample);
      expect(await diff(before)).toEqual({ code: 0, stdout: '', stderr: '' });
      const edited = before.replace('- port: 8080', '- port: 8080\n    - port: 9100');
      const { code, stdout } = await diff(edited);
      expect({ code, stdout }).toEqual({
        code: 1,
        stdout: expect.stringContaining('# TrafficMonitor shop/checkout would change'),
      });
      expect(stdout).toMatch(/^-\s+open_ports: "?8080"?$/m);
      expect(stdout).toMatch(/^\+\s+open_ports: "8080,9100"$/m);
      expect(stdout).toMatch(/at most 2 of the nodes under default at a time, restarts of a node at least 15s apart/);
      const { cluster } = stage();
      await cluster.kubectl(['apply', '-f', '-'], { stdin: edited });
      expect(await diff(edited)).toEqual({ code: 0, stdout: '', stderr: '' });
      await cluster.kubectl(['apply', '-f', '-'], { stdin: before });
    }, 60_000);

    test('refuses what the schema or its validation rules refuse, and names the field', async () => {
      const of = (spec: object): string =>
        JSON.stringify({
          apiVersion: 'svc.dev/v1alpha1',
          kind: 'TrafficMonitor',
          metadata: { name: 'x', namespace: 'shop' },
          spec,
        });
      expect(await diff(of({ ports: [{ port: 0 }] }))).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          /objects.yaml document 1, TrafficMonitor shop\/x: spec.ports\[0\].port: 0 is less than 1\n/,
        ),
      });
      const { code, stderr } = await diff(of({ mode: 'Exclude', selector: {}, sampling: { ratio: '1' } }));
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /^error: .*objects.yaml document 1, TrafficMonitor shop\/x: spec: .*Exclude takes only selection fields/,
      );
    }, 30_000);

    test('of a deletion shows what the nodes would lose', async () => {
      const { code, stdout } = await diff(await readRepositoryFile(sample), '--delete');
      expect(code).toBe(1);
      expect(stdout).toMatch(/# TrafficMonitor shop\/checkout would be deleted/);
      expect(stdout).toMatch(/^-\s+app: checkout$/m);
    }, 30_000);
  });
}
