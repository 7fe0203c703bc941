import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import type { RestartBudgetRules } from '../../src/controllers/capture/restart-budget.ts';
import { createKubeClient } from '../../src/kube/index.ts';
import { issueLeaf, type KeyPairPem } from '../../src/net/ca.ts';
import { agentTls } from '../../src/testing/agent-tls.ts';
import { startCaptureOperator, type CaptureOperator } from '../../src/testing/capture/operator.ts';
import { AgentProcess, makeIdentities, writeIdentity } from '../agent/agent-process.ts';
import { mergePatch } from '../cluster/api.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { type Backoff, kubeletBackoff } from '../node/node-context.ts';
import { InstrumentProcess, type Ended } from './instrument-process.ts';
import { containerStatus } from './pod-group.ts';

export interface StageNode {
  readonly name: string;
  /** Loopback address of its agent. */
  readonly ip: string;
  /** The agent that runs now. */
  agent: AgentProcess;
  /** Starts the next agent of this node. The caller has ended the one before. */
  readonly startAgent: () => Promise<AgentProcess>;
  readonly instrument: InstrumentProcess;
  /** The address at which the stand-in for the instrument takes the requests that it "captures". */
  readonly sender: string;
}

export interface NodeOptions {
  /** The command of the instrument. Default: the stand-in. */
  command?: readonly string[];
  /** The socket by which the instrument reports its health. Default: one for this node alone. */
  healthSocket?: string;
  /** Further variables of the instrument, e.g. a fault. */
  env?: Readonly<Record<string, string>>;
  agentFlags?: Readonly<Record<string, string>>;
  /** The back-off of the instrument's container. Default: a kubelet's. */
  backoff?: Backoff;
}

interface Row {
  type: string;
  status: string;
  reason: string;
  message: string;
}
export interface CaptureStatus {
  observedGeneration?: number;
  conditions?: Row[];
  nodes?: { desired: number; updated: number; capturing?: number; ready?: number; failed: number };
  failedNodes?: { name: string; reason: string; message: string }[];
}

const standIn = join(import.meta.dirname, '../../src/testing/instrument/main.ts');
const agentPort = 9093;

/**
 * Capture on a real API server. The capture part of the operator runs in this process. Each agent is a process on a
 * loopback address of its own, beside a supervisor that runs an instrument. Pods are objects without processes. The
 * stage restarts each instrument as a kubelet restarts a container, and reports that in the status of the agent's pod.
 */
export class CaptureStage {
  readonly cluster: Cluster;
  readonly nodes = new Map<string, StageNode>();
  readonly #client: ReturnType<typeof createKubeClient>;
  readonly #operator: CaptureOperator;
  readonly #ca: KeyPairPem;

  private constructor(
    cluster: Cluster,
    ca: KeyPairPem,
    options: { restartBudget?: RestartBudgetRules; instrumentVersion?: string },
  ) {
    this.cluster = cluster;
    this.#ca = ca;
    this.#client = createKubeClient({ kubeconfig: cluster.kubeconfig });
    this.#operator = startCaptureOperator({
      client: this.#client,
      clock: systemClock,
      agentPort,
      ...options,
    });
  }

  static async start(
    options: { restartBudget?: RestartBudgetRules; instrumentVersion?: string } = {},
  ): Promise<CaptureStage> {
    // No kubelet renews the leases of the nodes here: without a long grace period they would become not ready.
    const cluster = await startCluster({ nodeMonitorGraceSeconds: 3_600 });
    try {
      const { ca } = await makeIdentities(join(cluster.dir, 'capture'));
      const { cert, key } = await issueLeaf(
        ca,
        { commonName: 'svc-controller', dnsNames: ['svc-controller'] },
        { now: Date.now() },
      );
      await cluster.kubectl(['apply', '-f', join(import.meta.dirname, '../../crds')]);
      await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s']);
      for (const name of ['svc-system', 'shop']) await cluster.kubectl(['create', 'namespace', name]);
      await cluster.api.request('POST', '/api/v1/namespaces/svc-system/secrets', {
        metadata: { name: 'svc-controller-tls' },
        type: 'kubernetes.io/tls',
        stringData: { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca.cert },
      });
      return new CaptureStage(cluster, ca, options);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  async addNode(name: string, ip: string, options: NodeOptions = {}): Promise<StageNode> {
    const dir = join(this.cluster.dir, 'capture', name);
    mkdirSync(join(dir, 'instrument'), { recursive: true });
    writeIdentity(join(dir, 'tls'), await agentTls(this.#ca, name));
    const socket = options.healthSocket ?? `@svc-obi-health-${process.pid}-${name}`;
    const config = join(dir, 'instrument', 'config.yaml');
    const state = join(dir, 'instrument-run');
    const startAgent = (): Promise<AgentProcess> =>
      AgentProcess.start(
        dir,
        {
          'node-name': name,
          'bind-address': ip,
          'otlp-bind-address': ip,
          'otlp-http-port': '4318',
          'capture-config-port': String(agentPort),
          'instrument-config': config,
          'instrument-state-dir': state,
          'instrument-health-socket': socket,
          'tls-dir': join(dir, 'tls'),
          'kernel-check': 'false',
          ...options.agentFlags,
        },
        { KUBECONFIG: this.cluster.kubeconfig },
      );
    const agent = await startAgent();
    await this.cluster.api.request('POST', '/api/v1/nodes', { metadata: { name } });
    await this.cluster.api.request(
      'PATCH',
      `/api/v1/nodes/${name}/status`,
      { status: { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }] } },
      { contentType: mergePatch },
    );
    const sender = `${ip}:14318`;
    const instrument = new InstrumentProcess({
      command: options.command ?? [process.execPath, standIn],
      config,
      dir: state,
      backoff: options.backoff ?? kubeletBackoff,
      env: {
        OTEL_EBPF_ENFORCE_SYS_CAPS: 'true',
        NODE_NAME: name,
        KUBECONFIG: this.cluster.kubeconfig,
        STANDIN_LISTEN: sender,
        STANDIN_LOOPBACK: ip,
        STANDIN_SOCKET_SUFFIX: socket.slice('@svc-obi-health'.length),
      },
      faults: options.env ?? {},
      onEnd: (ended) => this.#tellEnd(name, ended),
      onStart: () => this.#tellStart(name),
    });
    const node = { name, ip, agent, startAgent, instrument, sender };
    this.nodes.set(name, node);
    await this.putPod('svc-system', `svc-agent-${name}`, name, {
      labels: { 'app.kubernetes.io/name': 'svc-operator', 'app.kubernetes.io/component': 'agent' },
      podIP: ip,
    });
    instrument.start();
    return node;
  }

  async putPod(
    namespace: string,
    name: string,
    nodeName: string,
    more: { labels?: Record<string, string>; podIP?: string } = {},
  ): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const pod = await this.cluster.api.request<{ metadata: { uid: string } }>('POST', path, {
      metadata: { name, labels: more.labels ?? {} },
      spec: { nodeName, automountServiceAccountToken: false, containers: [{ name: 'main', image: 'none' }] },
    });
    const { podIP } = more;
    await this.#patchPodStatus(namespace, name, {
      phase: 'Running',
      containerStatuses: [containerStatus(pod.metadata.uid)],
      ...(podIP ? { podIP, podIPs: [{ ip: podIP }] } : {}),
    });
    return pod.metadata.uid;
  }

  async apply(object: object): Promise<void> {
    await this.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(object) });
  }

  async monitor(name: string, spec: object): Promise<void> {
    await this.apply({
      apiVersion: 'svc.dev/v1alpha1',
      kind: 'TrafficMonitor',
      metadata: { namespace: 'shop', name },
      spec,
    });
  }

  async status(path: string): Promise<CaptureStatus> {
    const object = await this.cluster.api.request<{ status?: CaptureStatus }>('GET', `/apis/svc.dev/v1alpha1/${path}`);
    return object.status ?? {};
  }

  async generation(path: string): Promise<number | undefined> {
    const found = await this.cluster.api.request<{ metadata: { generation?: number } }>(
      'GET',
      `/apis/svc.dev/v1alpha1/${path}`,
    );
    return found.metadata.generation;
  }

  /** A condition of a monitor of the namespace `shop`, such as `True/TrafficSeen`; `none` where it has none. */
  async condition(monitor: string, type: string): Promise<string> {
    const { conditions = [] } = await this.status(`namespaces/shop/trafficmonitors/${monitor}`);
    const found = conditions.find((c) => c.type === type);
    return found ? `${found.status}/${found.reason}` : 'none';
  }

  async stop(): Promise<void> {
    for (const { instrument } of this.nodes.values()) await instrument.stop();
    for (const { agent } of this.nodes.values()) await agent.end('SIGKILL');
    await this.#operator.stop();
    await this.#client.close();
    await this.cluster.stop();
  }

  /** Reports the end of an instrument as the kubelet does with `terminationMessagePolicy: FallbackToLogsOnError`. */
  async #tellEnd(node: string, { exitCode, log, at, backoffMs }: Ended): Promise<void> {
    const ok = exitCode === 0;
    const terminated = {
      exitCode,
      reason: ok ? 'Completed' : 'Error',
      ...(ok ? {} : { message: log }),
      finishedAt: at,
    };
    const containerStatuses = [
      {
        name: 'instrument',
        image: 'none',
        imageID: '',
        ready: false,
        restartCount: 1,
        state: backoffMs > 0 ? { waiting: { reason: 'CrashLoopBackOff' } } : { terminated },
        lastState: { terminated },
      },
    ];
    await this.#patchPodStatus('svc-system', `svc-agent-${node}`, { containerStatuses });
  }

  async #tellStart(node: string): Promise<void> {
    const path = `/api/v1/namespaces/svc-system/pods/svc-agent-${node}`;
    const { status } = await this.cluster.api.request<{ status: { containerStatuses?: { name: string }[] } }>(
      'GET',
      path,
    );
    const before = status.containerStatuses?.find(({ name }) => name === 'instrument');
    if (!before) return;
    const running = { startedAt: new Date().toISOString() };
    await this.#patchPodStatus('svc-system', `svc-agent-${node}`, {
      containerStatuses: [{ ...before, state: { running } }],
    });
  }

  async #patchPodStatus(namespace: string, name: string, status: object): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
    await this.cluster.api.request('PATCH', path, { status }, { contentType: mergePatch });
  }
}
