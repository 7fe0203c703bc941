import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { until } from '../../src/testing/until.ts';
import { freePorts } from '../cluster/ports.ts';

const folder = join(import.meta.dirname, '../../examples/greeter');

/** Tests the greeter example as its guide runs it: `kubectl apply` of its CRD, then its program as a process. */
export function greeter(of: () => Cluster): void {
  let cluster: Cluster;
  let operator: ChildProcess;
  let base: string;
  let output = '';

  beforeAll(async () => {
    cluster = of();
    await cluster.kubectl(['apply', '-f', join(folder, 'manifests/crd.json')]);
    await cluster.kubectl(['wait', '--for=condition=Established', 'crd/greeters.example.dev', '--timeout=30s']);
    const [port = 0] = await freePorts(1);
    base = `http://127.0.0.1:${port}`;
    operator = spawn(process.execPath, [join(folder, 'src/main.ts')], {
      env: { ...process.env, KUBECONFIG: cluster.kubeconfig, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [operator.stdout, operator.stderr]) stream?.on('data', (text) => (output += String(text)));
  });
  afterAll(() => {
    if (operator.exitCode === null) operator.kill('SIGKILL');
  });
  const apply = async (greeting: string, audiences: string[]): Promise<void> => {
    const file = join(cluster.dir, 'greeter.json');
    const metadata = { name: 'one', namespace: 'default' };
    const object = { apiVersion: 'example.dev/v1', kind: 'Greeter', metadata, spec: { greeting, audiences } };
    await writeFile(file, JSON.stringify(object));
    await cluster.kubectl(['apply', '-f', file]);
  };
  const text = async (audience: string): Promise<string> =>
    cluster.kubectl(['get', 'configmap', `one-${audience}`, '--ignore-not-found', '-o', 'jsonpath={.data.text}']);
  const probe = async (path: string): Promise<number> => (await fetch(base + path).catch(() => ({ status: 0 }))).status;

  test('greets, becomes ready, repairs, follows changes and prunes', async () => {
    await apply('hello', ['world', 'moon']);
    await until('the greeting', async () => (await text('world')) === 'hello, world!');
    await cluster.kubectl(['wait', '--for=condition=Ready', 'greeter/one', '--timeout=30s']);
    expect(await probe('/readyz')).toBe(200);
    expect(await probe('/healthz')).toBe(200);
    await cluster.kubectl(['delete', 'configmap', 'one-moon']);
    await until('the deleted one again', async () => (await text('moon')) === 'hello, moon!');
    await apply('welcome', ['world']);
    await until('the change', async () => (await text('world')) === 'welcome, world!');
    await until('the pruning', async () => (await text('moon')) === '');
    const metrics = await (await fetch(`${base}/metrics`)).text();
    expect(metrics).toContain('controller_runtime_reconcile_errors_total{controller="greeter"} 0');
    expect(metrics).toContain('leader_election_master_status{name="greeter-operator"} 1');
  });

  test('a conflict is reported in a condition that names the other manager', async () => {
    await cluster.kubectl(['label', 'configmap', 'one-world', 'app.kubernetes.io/managed-by-']);
    const file = join(cluster.dir, 'fight.json');
    const metadata = { name: 'one-world', namespace: 'default', labels: { 'app.kubernetes.io/managed-by': 'greeter' } };
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text: 'mine' } }));
    await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '--field-manager=rival', '-f', file]);
    const message = 'jsonpath={.status.conditions[?(@.type=="Ready")].message}';
    await until('the conflict in the status', async () =>
      (await cluster.kubectl(['get', 'greeter', 'one', '-o', message])).includes('is held by rival'),
    );
  });

  test('SIGTERM ends the operator with 0 and releases the lease', async () => {
    const exited = once(operator, 'exit');
    operator.kill('SIGTERM');
    const [code] = (await exited) as [number];
    expect([code, output.includes('released leadership')]).toEqual([0, true]);
  });
}
