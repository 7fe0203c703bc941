/** The product as a whole, on a real control plane with three nodes: what a cluster team relies on. */
import { createReport } from '../demo/report.ts';
import type { Condition, KubeObject } from '../../src/api/meta.ts';
import { mayConnect } from '../../src/testing/network-policy.ts';
import { agentEmail, readRepositoryFile, startStage, type MintChange, type Stage } from '../demo/stage.ts';
import { until } from '../../src/testing/until.ts';
import { agentIdentities, restartAgent } from './agent-certificates.ts';
import { dashboardQueries } from './dashboards.ts';
import { nodeLeaves } from './node-leaves.ts';
import { pageViews } from './page-views.ts';
import { countersAt, instrumentFiles, namesOf, podsOf, queryAtPod } from './probe.ts';

let stage: Stage;
const kubectl = (...args: string[]): Promise<string> => stage.cluster.kubectl(args);

interface Resource {
  metadata: { generation: number };
  status?: {
    observedGeneration?: number;
    nodes?: { desired: number; updated: number };
    conditions?: Condition[];
  };
}
const resource = (path: string): Promise<Resource> =>
  stage.cluster.api.request<Resource>('GET', `/apis/svc.dev/v1alpha1/${path}`);
const checkout = 'namespaces/shop/trafficmonitors/checkout';

beforeAll(async () => {
  stage = await startStage({ report: createReport({ write: (text) => void process.stderr.write(text) }) });
}, 240_000);

afterAll(async () => {
  await stage?.stop();
}, 60_000);

describe('from kubectl apply to an answer', () => {
  test('every agent is counted once, though all agents report the same value', async () => {
    const answer = await until('three agents', () => stage.query('sum(svc_agent_up)'), {
      good: (a) => a.body.data?.result[0]?.value[1] === '3',
    });
    expect(answer.body).toMatchObject({ status: 'success', degraded: false, missingNodes: [] });
  });

  test('the traffic of the shop arrives under the specified names and labels', async () => {
    const query = 'http_server_request_duration_count{k8s_namespace_name="shop",k8s_deployment_name="catalog"}';
    const answer = await until('catalog traffic', () => stage.query(query), {
      good: (a) => (a.body.data?.result.length ?? 0) > 0,
    });
    const labels = answer.body.data!.result[0]!.metric;
    expect(labels).toMatchObject({
      http_request_method: 'GET',
      service_name: 'catalog',
      k8s_container_name: 'catalog',
    });
    expect(Object.keys(labels)).toEqual(
      expect.arrayContaining(['k8s_pod_name', 'k8s_replicaset_name', 'k8s_node_name', 'http_response_status_code']),
    );
  });

  test('a flow between two user workloads names both of them, in each direction', async () => {
    const of = (direction: string, from: string, to: string): string =>
      `sum by (k8s_src_namespace, k8s_dst_namespace, k8s_src_owner_type, k8s_dst_owner_type) (rate(ebpf_network_flow_bytes{direction="${direction}",k8s_src_owner_name="${from}",k8s_dst_owner_name="${to}"}[30s]))`;
    for (const query of [of('request', 'checkout', 'catalog'), of('response', 'catalog', 'checkout')]) {
      const answer = await until(query, () => stage.query(query), {
        good: (a) => Number(a.body.data?.result[0]?.value[1]) > 0,
      });
      expect(answer.body.data!.result.map(({ metric }) => metric)).toEqual([
        {
          k8s_src_namespace: 'shop',
          k8s_dst_namespace: 'shop',
          k8s_src_owner_type: 'Deployment',
          k8s_dst_owner_type: 'Deployment',
        },
      ]);
    }
  });

  test('rates, sums and quantiles over all agents match the load', async () => {
    const query = 'sum(rate(http_server_request_duration_count{service_name="catalog"}[30s]))';
    const rate = await until('a rate near the load', () => stage.query(query), {
      good: (a) => Number(a.body.data?.result[0]?.value[1]) > 20,
    });
    expect(Number(rate.body.data!.result[0]!.value[1])).toBeLessThan(60);
    const p99 = await stage.query(
      'histogram_quantile(0.99, sum by (le) (rate(http_server_request_duration_bucket[30s])))',
    );
    // Services of the demo answer in some tens of milliseconds; a busy machine takes longer.
    const seconds = Number(p99.body.data!.result[0]!.value[1]);
    expect(seconds).toBeGreaterThan(0.001);
    expect(seconds).toBeLessThan(5);
  });

  test('an edited monitor reaches every instrument file within five seconds; its status counts all nodes', async () => {
    const before = await instrumentFiles(stage);
    expect(Object.keys(before)).toEqual(['node-1', 'node-2', 'node-3']);
    const sample = await readRepositoryFile('config/samples/trafficmonitor-checkout.yaml');
    const started = performance.now();
    await stage.cluster.kubectl(['apply', '-f', '-'], {
      stdin: sample.replace('- /cart/{id}', '- /cart/{id}\n      - /edited/{id}'),
    });
    await until('the edit on every node', () => instrumentFiles(stage), {
      good: (files) => Object.values(files).filter((f) => f.includes('/edited/{id}')).length === 3,
      timeoutMs: 10_000,
    });
    expect(performance.now() - started).toBeLessThan(5_000);
    const seen = await until('acknowledged', () => resource(checkout), {
      good: (r) => {
        const { observedGeneration, nodes } = r.status ?? {};
        return (
          observedGeneration === r.metadata.generation &&
          nodes !== undefined &&
          nodes.desired > 0 &&
          nodes.updated === nodes.desired
        );
      },
      timeoutMs: 120_000,
    });
    expect(await kubectl('get', 'tm', 'checkout', '-n', 'shop')).toMatch(
      new RegExp(`checkout .*\\b${seen.status!.nodes!.desired}\\b`),
    );
  }, 150_000);

  test('conditions carry the generation they describe, and objects have events', async () => {
    const isReady = (r: Resource): boolean =>
      r.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true;
    const ready = await until('Ready', () => resource('clustertrafficpolicies/default'), { good: isReady });
    expect(ready.status?.observedGeneration).toBe(ready.metadata.generation);
    const conditions = ready.status?.conditions ?? [];
    expect(conditions.map(({ observedGeneration }) => observedGeneration)).toEqual(
      conditions.map(() => ready.metadata.generation),
    );
    expect(await kubectl('describe', 'md', 'minter', '-n', 'platform-agent')).toMatch(/Events:\s+\S/);
  });
});

pageViews(() => stage);

dashboardQueries(() => stage);

describe('the minter', () => {
  test('gives the platform agent a token for its repository', async () => {
    const { status, body } = await stage.mint(agentEmail);
    expect(status).toBe(200);
    expect(body).toMatch(/^[!-~]{20,}$/);
  });

  test.each<[sentence: string, email: string, change: MintChange, status: number, code: string]>([
    ['another email', 'stranger@demo-project.iam.gserviceaccount.com', {}, 403, 'scope_denied'],
    ['a token for another audience', agentEmail, { audience: 'https://elsewhere.example' }, 401, 'invalid_token'],
    ['a scope that no rule knows', agentEmail, { scope: 'everything' }, 403, 'scope_denied'],
    ['a repository that is not declared', agentEmail, { repositories: ['secrets'] }, 403, 'repository_denied'],
  ])('refuses %s without asking the key service or the platform', async (_sentence, email, change, status, code) => {
    const before = [stage.world.kms.count('AsymmetricSign'), stage.world.platform.count('create_token')];
    const answer = await stage.mint(email, change);
    expect([answer.status, (JSON.parse(answer.body) as { error: string }).error]).toEqual([status, code]);
    expect([stage.world.kms.count('AsymmetricSign'), stage.world.platform.count('create_token')]).toEqual(before);
  });

  test('a trusted ConfigMap gitops-state adds repositories, except those of another organisation', async () => {
    const trust = JSON.stringify({ spec: { vcs: { trustGitOpsState: true } } });
    await kubectl('-n', 'platform-agent', 'patch', 'minterdeployment', 'minter', '--type=merge', '-p', trust);
    const data = 'repositories=extra\nelsewhere/gitops';
    await kubectl('-n', 'platform-agent', 'create', 'configmap', 'gitops-state', `--from-literal=${data}`);
    await until('a token for the registered repository', () => stage.mint(agentEmail, { repositories: ['extra'] }), {
      good: ({ status }) => status === 200,
      timeoutMs: 90_000,
    });
    const minter = await until(
      'the line that cannot be taken on the object',
      () => resource('namespaces/platform-agent/minterdeployments/minter'),
      { good: (r) => r.status?.conditions?.some((c) => c.type === 'RulesValid' && c.status === 'False') === true },
    );
    expect(minter.status?.conditions?.find((c) => c.type === 'RulesValid')).toMatchObject({
      reason: 'RepositoryOutsideSpec',
      message: expect.stringMatching(/line 2: "elsewhere\/gitops" is not in the organisation acme/) as string,
    });
    await kubectl('-n', 'platform-agent', 'delete', 'configmap', 'gitops-state');
  }, 120_000);

  test('the network policy in the cluster lets in the platform agent and no pod without its label', async () => {
    const path = '/apis/networking.k8s.io/v1/namespaces/platform-agent/networkpolicies';
    const { items } = await stage.cluster.api.request<{ items: KubeObject[] }>('GET', path);
    // The items of a list carry no kind of their own.
    const policies = items.map((item) => ({ ...item, kind: 'NetworkPolicy' }));
    const [pod] = await podsOf(stage, 'platform-agent', 'app.kubernetes.io/component=minter');
    const to = { namespace: 'platform-agent', labels: pod!.metadata.labels ?? {} };
    const enters = (labels: Record<string, string>): boolean =>
      mayConnect(policies, { from: { namespace: 'platform-agent', labels }, to, port: 8080 });
    expect([enters({ app: 'platform-agent' }), enters({ app: 'something-else' }), enters({})]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('bad input', () => {
  test('a monitor without a selector is refused by the API server with our message', async () => {
    const monitor = {
      apiVersion: 'svc.dev/v1alpha1',
      kind: 'TrafficMonitor',
      metadata: { name: 'empty', namespace: 'shop' },
      spec: {},
    };
    await expect(stage.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(monitor) })).rejects.toThrow(
      /use selector: \{\} for the whole namespace/,
    );
  });

  test('a query that does not parse gets a 400 with line and column', async () => {
    const answer = await stage.query('sum(svc_agent_up');
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      status: 'error',
      errorType: 'bad_data',
      error: expect.stringMatching(/\d+:\d+: parse error/) as string,
    });
  });

  test('away from loopback a query needs a token that is bound to svc-promql-reader', async () => {
    expect(await queryAtPod(stage)).toBe(401);
    expect(await queryAtPod(stage, 'nonsense')).toBe(401);
    await kubectl('-n', 'shop', 'create', 'serviceaccount', 'dashboard');
    const token = (await kubectl('-n', 'shop', 'create', 'token', 'dashboard')).trim();
    expect(await queryAtPod(stage, token)).toBe(403);
    await kubectl(
      'create',
      'clusterrolebinding',
      'dashboard-promql',
      '--clusterrole=svc-promql-reader',
      '--serviceaccount=shop:dashboard',
    );
    await until('the binding to count', () => queryAtPod(stage, token), {
      good: (status) => status === 200,
      timeoutMs: 30_000,
    });
  });

  test('a scrape away from loopback without a valid token is refused', async () => {
    const [agent] = await podsOf(stage, 'svc-system', 'app.kubernetes.io/component=agent');
    const response = await fetch(`http://${agent!.status.podIP}:9090/metrics`, {
      headers: { authorization: 'Bearer nonsense' },
    });
    expect(response.status).toBe(401);
  });
});

describe('bad days', () => {
  const moment = async (): Promise<number> => {
    const { body } = await stage.query('time()');
    return Number((body.data!.result as unknown as [number, string])[1]) - 5;
  };

  test('kill -9 of an agent loses no acknowledged sample', async () => {
    const at = await moment();
    const before = await countersAt(stage, at);
    expect(Object.keys(before).length).toBeGreaterThan(5);
    const [agent] = await podsOf(stage, 'svc-system', 'app.kubernetes.io/component=agent');
    const node = stage.cluster.nodes.find((n) => n.name === agent!.spec.nodeName)!;
    await node.killContainer(`svc-system/${agent!.metadata.name}`, 'agent');
    const after = await until('the agent to be back', () => countersAt(stage, at), {
      good: () => true,
      timeoutMs: 60_000,
    });
    expect(after).toEqual(before);
  }, 90_000);

  test('kill -9 of the operator: the next one takes over and goes on', async () => {
    const [operator] = await podsOf(stage, 'svc-system', 'app.kubernetes.io/component=controller');
    const node = stage.cluster.nodes.find((n) => n.name === operator!.spec.nodeName)!;
    await node.killContainer(`svc-system/${operator!.metadata.name}`, 'controller');
    await kubectl(
      '-n',
      'shop',
      'patch',
      'tm',
      'catalog',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { priority: 7 } }),
    );
    await until('the change to be observed', () => resource('namespaces/shop/trafficmonitors/catalog'), {
      good: (r) => r.status?.observedGeneration === r.metadata.generation,
      timeoutMs: 90_000,
    });
  }, 120_000);

  test('kill -9 of the API server: queries go on, and afterwards changes are seen again', async () => {
    const at = await moment();
    const before = await countersAt(stage, at);
    await stage.cluster.apiServer.kill9();
    const during = await stage.query('sum(svc_agent_up)').finally(() => stage.cluster.apiServer.restart());
    expect(during.body).toMatchObject({ status: 'success', degraded: false });
    await kubectl(
      '-n',
      'shop',
      'patch',
      'tm',
      'catalog',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { priority: 8 } }),
    );
    await until('the change to be observed', () => resource('namespaces/shop/trafficmonitors/catalog'), {
      good: (r) => r.status?.observedGeneration === r.metadata.generation,
      timeoutMs: 90_000,
    });
    expect(await countersAt(stage, at)).toEqual(before);
  }, 150_000);

  test('drift is repaired: a deleted Service and a changed Deployment come back as rendered', async () => {
    await kubectl('-n', 'svc-system', 'delete', 'service', 'svc-query');
    await kubectl(
      '-n',
      'svc-system',
      'patch',
      'deployment',
      'svc-query',
      '--type=json',
      '-p',
      JSON.stringify([{ op: 'replace', path: '/spec/template/spec/containers/0/args/0', value: 'drifted' }]),
    );
    await until('the Service', () => kubectl('-n', 'svc-system', 'get', 'service', 'svc-query', '-o', 'name'), {
      good: () => true,
      timeoutMs: 30_000,
    });
    await until(
      'the arguments',
      () =>
        kubectl(
          '-n',
          'svc-system',
          'get',
          'deployment',
          'svc-query',
          '-o',
          'jsonpath={.spec.template.spec.containers[0].args[0]}',
        ),
      { good: (text) => text === 'query', timeoutMs: 30_000 },
    );
  }, 90_000);
});

describe('deleting', () => {
  test('a deleted monitor is removed from the instrument files; the entries of other monitors stay', async () => {
    await kubectl('-n', 'shop', 'delete', 'tm', 'checkout', '--timeout=30s');
    await until('its entry to be gone', () => instrumentFiles(stage), {
      good: (files) => Object.keys(files).length === 3 && Object.values(files).every((f) => !f.includes('checkout')),
      timeoutMs: 90_000,
    });
    const files = await instrumentFiles(stage);
    expect(Object.values(files).every((f) => f.includes('catalog'))).toBe(true);
  }, 120_000);

  test('deleting a MinterDeployment deletes its children; the Secret and other components stay', async () => {
    const selector = 'app.kubernetes.io/component=minter';
    const kinds = 'deployments,services,configmaps,serviceaccounts,networkpolicies,poddisruptionbudgets';
    expect((await namesOf(stage, kinds, selector)).length).toBeGreaterThanOrEqual(5);
    const others = await namesOf(stage, kinds, 'app.kubernetes.io/component in (agent, query)');
    await kubectl('-n', 'platform-agent', 'delete', 'md', 'minter', '--timeout=30s');
    await until('its children to be gone', () => namesOf(stage, kinds, selector), {
      good: (names) => names.length === 0,
      timeoutMs: 60_000,
    });
    expect(await kubectl('-n', 'platform-agent', 'get', 'secret', 'vcs-app-credentials', '-o', 'name')).toContain(
      'vcs-app-credentials',
    );
    expect(await namesOf(stage, kinds, 'app.kubernetes.io/component in (agent, query)')).toEqual(others);
  }, 90_000);

  test('deleting the policy resets the nodes to the settings of the flags; the agents stay', async () => {
    await kubectl('delete', 'ctp', 'default', '--timeout=30s');
    await until('the default exclusion to be gone', () => instrumentFiles(stage), {
      good: (files) => Object.keys(files).length === 3 && Object.values(files).every((f) => !f.includes('istio-')),
      timeoutMs: 90_000,
    });
    // For a moment, an agent that is being replaced runs beside its successor.
    await until('an agent on each node', () => podsOf(stage, 'svc-system', 'app.kubernetes.io/component=agent'), {
      good: (pods) => pods.length === 3,
      timeoutMs: 30_000,
    });
  }, 120_000);
});

describe('the certificate of an agent', () => {
  const answerOfAll = (): Promise<unknown> =>
    until('an answer of all nodes', () => stage.query('sum(svc_agent_up)'), {
      good: ({ body }) => body.degraded === false && body.data?.result[0]?.value[1] === '3',
    });
  const scaleOperator = async (replicas: number): Promise<void> => {
    await kubectl('-n', 'svc-system', 'scale', 'deployment/svc-controller', `--replicas=${replicas}`);
    if (replicas > 0) return;
    await until(
      'the operator to be gone',
      () => podsOf(stage, 'svc-system', 'app.kubernetes.io/component=controller'),
      { good: (pods) => pods.length === 0 },
    );
  };

  // Without the policy, flows are off. So the agents leave the host network, which replaces each pod.
  beforeAll(async () => {
    const path = '/apis/apps/v1/namespaces/svc-system/daemonsets/svc-agent';
    await until(
      'the agents to be rendered without the host network',
      () => stage.cluster.api.request<{ spec: { template: { spec: { hostNetwork?: boolean } } } }>('GET', path),
      { good: ({ spec }) => spec.template.spec.hostNetwork !== true },
    );
    await kubectl('-n', 'svc-system', 'rollout', 'status', 'daemonset/svc-agent', '--timeout=120s');
    await answerOfAll();
  }, 180_000);

  test('names its node; each agent has its own key, and no Secret holds an agent certificate', async () => {
    const all = await agentIdentities(stage);
    expect(all.map(({ names }) => names)).toEqual(
      ['node-1', 'node-2', 'node-3'].map(
        (node) => `DNS:${node}.svc-agent.svc-system.svc, DNS:svc-agent.svc-system.svc`,
      ),
    );
    expect(new Set(all.map(({ key }) => key)).size).toBe(3);
    expect(await kubectl('-n', 'svc-system', 'get', 'secrets', '-o', 'name')).not.toContain('svc-agent-tls');
  });

  test('is kept on its node: an agent that restarts while no operator runs still shows it', async () => {
    const before = await agentIdentities(stage);
    await scaleOperator(0);
    try {
      await restartAgent(stage, 'node-1', 'nothing');
      expect(await agentIdentities(stage)).toEqual(before);
      await answerOfAll();
    } finally {
      await scaleOperator(2);
    }
  }, 120_000);

  test('is reissued with a new key to an agent that lost it; the other agents keep theirs', async () => {
    const before = await agentIdentities(stage);
    await restartAgent(stage, 'node-2', 'its certificate');
    const after = await agentIdentities(stage);
    expect([after[0], after[2]]).toEqual([before[0], before[2]]);
    expect(after[1]!.names).toBe(before[1]!.names);
    expect(after[1]!.key).not.toBe(before[1]!.key);
    await answerOfAll();
  }, 120_000);
});

describe('a node that leaves the cluster', () => {
  test('is named in answers about its past, also by new query servers and without an operator', async () => {
    const { lost, answers, recorded, restartQueries, stopOperator, startOperator } = await nodeLeaves(stage);
    const whole = { degraded: false, missingNodes: [] };
    const warnings = [expect.stringMatching(/ departed: it left at .*Z; its data since .*Z is gone/)];
    const lacking = { degraded: true, missingNodes: [lost.name], warnings };
    const both =
      (expected: object) =>
      (found: object[]): boolean => {
        expect(found).toMatchObject([expected, expected]);
        return true;
      };
    const of = (matcher: string): string => `sum(max_over_time(svc_agent_up${matcher}[5m]))`;
    await until('whole answers', () => answers(of('')), { good: both(whole) });
    expect(await recorded('serving')).toContain(lost.name);
    await stopOperator();
    await lost.leave();
    await until('both replicas to have seen it', () => answers(of('')), { good: both(lacking) });
    await restartQueries();
    await until('new ones to know', () => answers(of('')), { good: both(lacking) });
    both(whole)(await answers(of(`{k8s_node_name!="${lost.name}"}`)));
    await until('its time to be over', () => answers('sum(svc_agent_up)', '1s'), { good: both(whole) });
    expect(await recorded('departed')).not.toContain(lost.name);
    await startOperator();
    await until('the record', () => recorded('departed'), { good: (names) => names.includes(lost.name) });
    await until('the same words from both', () => answers(of('')), {
      good: (found) => both(lacking)(found) && new Set(found.map((one) => one.warnings!.join())).size === 1,
    });
    expect(await recorded('serving')).not.toContain(lost.name);
  }, 180_000);
});
