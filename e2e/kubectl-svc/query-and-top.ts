import { spawnSync } from 'node:child_process';
import { readRepositoryFile, readyPods, type Stage } from '../demo/stage.ts';
import { until } from '../../src/testing/until.ts';
import type { Outcome } from '../install/tools.ts';
import type { Plugin } from './plugin.ts';

/** Tests `query`, `top`, `version` and completion with the real kubectl, mostly through port-forwards. */
export function queryAndTop(stage: () => Stage, plugin: () => Plugin): void {
  const svc = (...args: string[]): Promise<Outcome> => plugin().svc(args);

  describe('the way to the query server', () => {
    test('without --server a port-forward through the API server is used', async () => {
      const { code, stdout, stderr } = await until('both agents', () => svc('query', 'sum(svc_agent_up)'), {
        good: ({ stdout }) => stdout === 'VALUE\n    2\n',
      });
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'VALUE\n    2\n', stderr: '' });
    });

    test('with --server the token decides about access, and an error says how to get it', async () => {
      const { cluster } = stage();
      const [pod] = await readyPods(cluster, 'svc-system', 'app.kubernetes.io/component=query');
      const direct = [`--server=https://${pod!.ip}:9095`, '--tls-server-name=svc-query.svc-system.svc'];
      for (const name of ['reader', 'stranger'])
        await cluster.kubectl(['-n', 'shop', 'create', 'serviceaccount', name]);
      const bind = ['create', 'clusterrolebinding', 'reader', '--clusterrole=svc-promql-reader'];
      await cluster.kubectl([...bind, '--serviceaccount=shop:reader']);
      const token = async (name: string): Promise<string> =>
        `--token=${(await cluster.kubectl(['-n', 'shop', 'create', 'token', name])).trim()}`;
      expect(await svc('query', '1 + 1', ...direct, await token('reader'))).toMatchObject({ code: 0, stdout: '2\n' });
      const none = await svc('query', '1', ...direct);
      expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/401 .*\n {2}give a token with --token/) });
      const stranger = await svc('query', '1', ...direct, await token('stranger'));
      expect(stranger).toMatchObject({ code: 1, stderr: expect.stringMatching(/403 .*\n.*svc-promql-reader/) });
      const untrusted = await svc('query', '1', ...direct, '--certificate-authority=/dev/null', '--token=x');
      expect(untrusted.stderr).toMatch(/not trusted here .*\n(.*\n)*.*get configmap svc-ca-bundle/);
    });

    test('the role in docs/guides/kubectl-svc.md suffices for a query', async () => {
      const guide = await readRepositoryFile('docs/guides/kubectl-svc.md');
      const role = /```yaml\n(.*?)```/s.exec(guide)![1]!;
      const { cluster } = stage();
      await cluster.kubectl(['apply', '-f', '-'], { stdin: role });
      await cluster.kubectl(['-n', 'svc-system', 'create', 'rolebinding', 'ann', '--role=svc-plugin', '--user=ann']);
      expect(await svc('query', '1 + 1', '--as', 'ann')).toEqual({ code: 0, stdout: '2\n', stderr: '' });
    });

    test('without rights the error names the missing right', async () => {
      const nobody = await svc('query', '1', '--as', 'nobody');
      expect(nobody).toMatchObject({ code: 1, stderr: expect.stringMatching(/forbidden.*\n {2}needed: .*list pods/) });
      const elsewhere = await svc('query', '1', '--operator-namespace', 'shop');
      expect(elsewhere.stderr).toContain('is the operator installed?\n  kubectl get pods -n shop');
    });
  });

  describe('query', () => {
    test('a range is shown as a graph, or as CSV', async () => {
      const graph = await svc('query', '--since', '5m', '-o', 'graph', 'sum(svc_agent_up)');
      expect(graph.stdout).toMatch(/ 2 ┤ *[\u2801-\u28ff]+$/m);
      expect(graph.stdout.trimEnd().split('\n').at(-1)).toBe('⠶ {}  2');
      const csv = await svc(
        'query',
        '--since',
        '5m',
        '--step',
        '1m',
        '-o',
        'csv',
        'count by (k8s_node_name) (svc_agent_up)',
      );
      const [head, ...rows] = csv.stdout.trimEnd().split('\r\n');
      expect(head).toBe('k8s_node_name,timestamp,value');
      expect([...new Set(rows.map((row) => row.replace(/,\d[^,]*,/, ' ')))].sort()).toEqual(['node-1 1', 'node-2 1']);
    });

    test('an error of the language shows its place, and kubectl passes the exit code on', async () => {
      const { code, stderr } = await svc('query', 'sum(rate(svc_agent_up)) +');
      expect(code).toBe(1);
      expect(stderr).toMatch(/parse error.*\n {2}sum\(rate\(svc_agent_up\)\) \+\n {2} *\^/);
      expect((await svc('query', '--sinc', '1h', 'up')).code).toBe(2);
      expect((await svc('query', '--help')).code).toBe(0);
    });

    test('--explain and --stats report how the query was executed, and what it cost', async () => {
      const { stdout, stderr } = await svc('query', '--explain', '--stats', 'sum(svc_agent_up)');
      expect(stdout).toBe('VALUE\n    2\n');
      expect(stderr).toMatch(/executed: (whole|agg|series|off)\n(.*\n)*stats: evalTotalTime /);
      expect(stderr).toContain('node-1');
    });

    test('an output pipe that is closed early ends the command as SIGPIPE does, without an error', async () => {
      const { cluster } = stage();
      const command = `'${cluster.binaries.kubectl}' svc query '{__name__=~".+"}' 2>err | head -1; echo \${PIPESTATUS[0]} >&2; cat err >&2`;
      const { stdout, stderr } = spawnSync('bash', ['-c', command], {
        encoding: 'utf8',
        cwd: plugin().dir,
        env: plugin().env,
      });
      expect(stdout).toContain('SERIES');
      // Where the pipe took all of the answer before it was closed, the command has ended well.
      const [code, ...said] = stderr.trimEnd().split('\n');
      expect([['0', '141'].includes(code!), said.filter((line) => line.startsWith('error'))]).toEqual([true, []]);
    });
  });

  test('top shows both workloads of the shop, their pods, and the other kinds', async () => {
    const top = await until('traffic of the shop', () => svc('top', '-n', 'shop', '--window', '1m', '-o', 'json'), {
      good: ({ stdout }) => (JSON.parse(stdout || '{}') as { items?: { p99Seconds?: number }[] }).items?.length === 2,
    });
    const { items } = JSON.parse(top.stdout) as { items: Record<string, unknown>[] };
    expect(items.map(({ name }) => name).sort()).toEqual(['catalog', 'checkout']);
    for (const item of items) expect(item).toMatchObject({ kind: 'Deployment', namespace: 'shop' });
    const text = await svc('top', 'pods', '-A', '-l', 'app=catalog', '--window', '1m');
    expect(text.stdout).toMatch(/^NAMESPACE +NAME +REQ\/S +ERRORS +P50 +P99 +IN\/S +OUT\/S\nshop +catalog-/);
    expect(text.stdout).not.toContain('checkout');
    for (const kind of ['services', 'namespaces', 'nodes'])
      expect((await svc('top', kind, '-A', '-o', 'wide')).stdout).toMatch(/shop|node-1/);
  });

  test('all parts are of one version', async () => {
    const { code, stdout, stderr } = await svc('version');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/client .*\noperator .*svc-system\nquery .*pod svc-system\/svc-query.*\nagents .*2 nodes\n/);
  });

  test('kubectl completes the plugin: commands, flags, namespaces and metrics', async () => {
    const complete = async (...args: string[]): Promise<string[]> =>
      (await plugin().kubectl(['__complete', 'svc', ...args])).stdout.split('\n').map((line) => line.split('\t')[0]!);
    expect(await complete('')).toEqual(expect.arrayContaining(['query', 'top', 'version', ':4']));
    expect(await complete('top', '--so')).toEqual(['--sort-by', ':4', '']);
    expect(await complete('top', '-n', 'sh')).toEqual(['shop', ':4', '']);
    expect(await complete('query', 'svc_agent_')).toContain('svc_agent_up');
  });
}

/** Must run last: it kills a node. */
export function withoutANode(stage: () => Stage, plugin: () => Plugin): void {
  test('an answer that lacks a node has a warning, or is refused with --partial-response=false', async () => {
    await stage().cluster.nodes[1]!.kill();
    const { code, stdout, stderr } = await until(
      'a degraded answer',
      () => plugin().svc(['query', 'sum(svc_agent_up)']),
      { good: (outcome) => outcome.stderr.includes('degraded') },
    );
    expect([code, stdout]).toEqual([0, 'VALUE\n    1\n']);
    expect(stderr).toContain('warning: degraded: the answer lacks 1 node: node-2\n');
    const refused = await plugin().svc(['query', '--partial-response=false', 'sum(svc_agent_up)']);
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('node-2') });
    expect((await plugin().svc(['top', '-A'])).stderr).toContain('lacks 1 node: node-2');
  });
}
