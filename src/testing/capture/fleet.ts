import type { KubeObject } from '../../api/meta.ts';
import { clusterTrafficPolicies, trafficMonitors } from '../../api/v1alpha1/index.ts';
import { coreResources } from '../../kube/index.ts';
import { agentTls, loopbackTls, stageCa } from '../agent-tls.ts';
import { FakeApiServer } from '../fake-api-server/index.ts';
import { FakeAgent, type FakeAgentOptions } from './fake-agent.ts';

/**
 * The surroundings of the capture part of an operator: an API server in memory, and one fake agent per node (`node-1`,
 * …) behind real mutual TLS. The operator's certificate is in its Secret, as in a cluster.
 */
export class CaptureFleet {
  readonly api: FakeApiServer;
  readonly agents: FakeAgent[];

  protected constructor(api: FakeApiServer, agents: FakeAgent[]) {
    this.api = api;
    this.agents = agents;
  }

  static async open(options: { nodes: number; agent?: Partial<FakeAgentOptions> }): Promise<CaptureFleet> {
    const api = await FakeApiServer.start({ resources: [trafficMonitors, clusterTrafficPolicies] });
    const ca = await stageCa();
    const controller = await loopbackTls(ca, 'svc-controller');
    const agents: FakeAgent[] = [];
    for (let i = 1; i <= options.nodes; i++) {
      const port = agents[0]?.port ?? 0;
      const material = await agentTls(ca, `node-${i}`);
      agents.push(await FakeAgent.start({ node: `node-${i}`, host: loopback(i), port, material, ...options.agent }));
    }
    const fleet = new CaptureFleet(api, agents);
    for (const name of ['shop', 'pay', 'svc-system']) fleet.put('namespaces', { metadata: { name } });
    for (const agent of agents) {
      fleet.putNode(agent.node);
      fleet.putAgentPod(agent);
    }
    const data = Object.fromEntries(
      Object.entries({ 'tls.crt': controller.cert, 'tls.key': controller.key, 'ca.crt': controller.ca }).map(
        ([k, v]) => [k, Buffer.from(v).toString('base64')],
      ),
    );
    fleet.put('secrets', { metadata: { namespace: 'svc-system', name: 'svc-controller-tls' }, data });
    return fleet;
  }

  putNode(name: string, ready = true, labels: Record<string, string> = {}): void {
    this.put('nodes', {
      metadata: { name, labels },
      status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }] },
    });
  }

  /** `ended`: the last log lines of an instrument container that terminated by itself. */
  putAgentPod(agent: Pick<FakeAgent, 'node' | 'host'>, ended?: string): void {
    const terminated = { exitCode: 255, reason: 'Error', message: ended, finishedAt: new Date().toISOString() };
    this.put('pods', {
      metadata: {
        namespace: 'svc-system',
        name: `svc-agent-${agent.node}`,
        labels: { 'app.kubernetes.io/name': 'svc-operator', 'app.kubernetes.io/component': 'agent' },
      },
      spec: { nodeName: agent.node, containers: [{ name: 'agent' }] },
      status: {
        phase: 'Running',
        podIP: agent.host,
        ...(ended === undefined
          ? {}
          : { containerStatuses: [{ name: 'instrument', state: {}, lastState: { terminated } }] }),
      },
    });
  }

  putPod(path: string, nodeName: string, labels: Record<string, string>): void {
    const [namespace = '', name = ''] = path.split('/');
    this.put('pods', {
      metadata: { namespace, name, labels },
      spec: { nodeName, containers: [{ name: 'main' }] },
      status: { phase: 'Running' },
    });
  }

  put(kind: 'namespaces' | 'nodes' | 'pods' | 'secrets', object: Omit<KubeObject, 'apiVersion' | 'kind'>): void {
    const resource = coreResources[kind];
    const { status, ...rest } = { apiVersion: resource.apiVersion, kind: resource.kind, ...object } as KubeObject;
    const stored = this.api.put(resource, rest as KubeObject);
    if (status) this.api.putStatus(resource, stored.metadata.namespace, stored.metadata.name!, status);
  }

  putMonitor(path: string, spec: object): void {
    const [namespace = '', name = ''] = path.split('/');
    const { apiVersion, kind } = trafficMonitors;
    this.api.put(trafficMonitors, {
      apiVersion,
      kind,
      metadata: { namespace, name },
      spec: { mode: 'Capture', ...spec },
    });
  }

  putPolicy(name: string, spec: object): void {
    const { apiVersion, kind } = clusterTrafficPolicies;
    this.api.put(clusterTrafficPolicies, { apiVersion, kind, metadata: { name }, spec });
  }

  monitor(path: string): Record<string, never> & { status?: Record<string, unknown> } {
    const [namespace = '', name = ''] = path.split('/');
    return this.api.storage.get(trafficMonitors, namespace, name) as never;
  }

  /** The ConfigMap in which leaders record failures, as JSON; `""` before the first failure. */
  get writtenFailures(): string {
    const found = this.api.storage.find(coreResources.configMaps, 'svc-system', 'svc-capture-failures');
    return JSON.stringify(found ?? '');
  }

  policy(name: string): { status?: Record<string, unknown> } {
    return this.api.storage.get(clusterTrafficPolicies, undefined, name) as never;
  }

  /** `Status/Reason` of each condition, by type. */
  conditions(object: { status?: Record<string, unknown> }): Record<string, string> {
    const list = (object.status?.['conditions'] ?? []) as { type: string; status: string; reason: string }[];
    return Object.fromEntries(list.map((c) => [c.type, `${c.status}/${c.reason}`]));
  }

  async close(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.stop()));
    await this.api.stop();
  }
}

function loopback(i: number): string {
  return `127.0.${1 + Math.floor(i / 250)}.${1 + (i % 250)}`;
}
