import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { execFileSync, type ChildProcess } from 'node:child_process';
import { clusterTrafficPolicies, kinds, trafficMonitors } from '../../src/api/v1alpha1/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import { coreResources } from '../../src/kube/index.ts';
import { createCa, issueLeaf, type KeyPairPem } from '../../src/net/ca.ts';
import { agentTls } from '../../src/testing/agent-tls.ts';
import { startCaptureOperator, type CaptureOperator } from '../../src/testing/capture/operator.ts';
import { captureCapabilities, instrumentEnv } from '../../src/render/agent/instrument.ts';
import { FakeApiServer } from '../../src/testing/fake-api-server/index.ts';
import { until } from '../../src/testing/until.ts';
import { AgentProcess, writeIdentity } from '../agent/agent-process.ts';
import { InstrumentProcess, type Ended } from '../capture/instrument-process.ts';
import { containerStatus } from '../capture/pod-group.ts';
import type { CaptureStatus } from '../capture/stage.ts';
import { PodNetwork, type PodEnd } from '../instrument/pod-network.ts';
import { seriesOf, type Series } from '../instrument/scrape.ts';
import { startQueryProcess, writeTls, type QueryProcess } from '../query/query-process.ts';
import { agentPod, nodeName, programFiles, type Orders } from './orders.ts';
import { SelfReport } from './self-report.ts';
import type { CallOrder, Calls, Protocol } from './protocols.ts';
import type { Requests, Seen, TrafficOrder } from './traffic.ts';

/** How each server is started, by the name of its pod. `late` is a pod that no monitor selects at first. */
export const servers = {
  node: { port: 8080, tls: false, runtime: 'node' },
  python: { port: 8080, tls: false, runtime: 'python' },
  go: { port: 8080, tls: false, runtime: 'go' },
  tls: { port: 8443, tls: true, runtime: 'node' },
  late: { port: 8080, tls: false, runtime: 'node' },
} as const;
export type ServerName = keyof typeof servers;
const podNames = [...Object.keys(servers), 'calls', 'client'] as const;

const agentPort = 9093;
/** Where the workloads report their requests while a stand-in takes the place of the instrument. */
const reports = '127.0.0.1:14318';
const selfReportMs = 1_000;

/**
 * The command of the instrument with the capabilities that its container has, and no others. If `without` is undefined,
 * these are the capabilities of `--instrument-privileges=sys-admin`, since this kernel refuses uprobes without
 * SYS_ADMIN; otherwise they are those of the default privileges except `without`.
 */
function asInPod(instrument: string, without: string | undefined): string[] {
  const granted = [...captureCapabilities, ...(without === undefined ? ['SYS_ADMIN'] : [])];
  const names = granted.filter((name) => name !== without).map((name) => `+${name.toLowerCase()}`);
  return [
    '/usr/bin/setpriv',
    '--no-new-privs',
    '--inh-caps=-all',
    `--bounding-set=-all,${names.join(',')}`,
    instrument,
  ];
}

interface RunningPod {
  readonly end: PodEnd;
  readonly child: ChildProcess;
  /** The requests that the workload has seen and printed. */
  readonly seen: Seen[];
}

/**
 * The product on this kernel: the capture part of the operator over the scripted API server, the bundled agent and
 * query server as processes, an instrument under the product's supervisor, and pods that are network namespaces and
 * control groups with a workload each.
 */
export class KernelStage {
  readonly orders: Orders;
  readonly api: FakeApiServer;
  readonly #dir: string;
  readonly #ca: KeyPairPem;
  readonly #kubeconfig: string;
  readonly #network: PodNetwork;
  readonly #pods = new Map<string, RunningPod>();
  readonly #listening = new Set<string>();
  readonly #waiting = new Map<number, (error?: string) => void>();
  #operator: CaptureOperator | undefined;
  #nextOrder = 1;
  #agent: AgentProcess | undefined;
  #instrument: InstrumentProcess | undefined;
  #query: QueryProcess | undefined;

  private constructor(orders: Orders, dir: string, api: FakeApiServer, ca: KeyPairPem) {
    this.orders = orders;
    this.#dir = dir;
    this.api = api;
    this.#ca = ca;
    this.#network = PodNetwork.create(podNames);
    this.#kubeconfig = join(dir, 'kubeconfig');
    const cluster = { name: 'c', cluster: { server: api.url, 'insecure-skip-tls-verify': true } };
    const context = { name: 'c', context: { cluster: 'c', user: 'u' } };
    const config = { clusters: [cluster], users: [{ name: 'u', user: {} }], contexts: [context] };
    writeFileSync(
      this.#kubeconfig,
      JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': 'c', ...config }),
    );
  }

  /** Starts an API server that has a node and the operator's certificate; nothing else runs yet. */
  static async open(orders: Orders, dir: string): Promise<KernelStage> {
    mkdirSync(dir, { recursive: true });
    const api = await FakeApiServer.start({ resources: kinds.map(({ resource }) => resource) });
    const ca = await createCa({ commonName: 'svc-ca', now: Date.now() });
    const stage = new KernelStage(orders, dir, api, ca);
    for (const name of ['svc-system', 'shop']) stage.#put('namespaces', { metadata: { name } });
    stage.#put('nodes', { metadata: { name: nodeName } }, { conditions: [{ type: 'Ready', status: 'True' }] });
    const { cert, key } = await stage.#leaf('svc-controller');
    const files = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca.cert };
    stage.#put('secrets', {
      metadata: { namespace: 'svc-system', name: 'svc-controller-tls' },
      data: Object.fromEntries(Object.entries(files).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
    });
    return stage;
  }

  get standsIn(): boolean {
    return this.orders.instrument === null;
  }

  get agent(): AgentProcess {
    return this.#agent!;
  }

  get instrument(): InstrumentProcess {
    return this.#instrument!;
  }

  get caCert(): string {
    return this.#ca.cert;
  }

  /** The time limit for work that takes up to `ms` on real processors: more on emulated ones. Units: ms. */
  patience(ms: number): { timeoutMs: number } {
    return { timeoutMs: ms * this.orders.slowness };
  }

  /** Starts the workloads, and resolves when each of them listens. */
  async startPods(): Promise<void> {
    const tls = await this.#leaf('tls');
    writeFileSync(join(this.#dir, 'tls.crt'), tls.cert);
    writeFileSync(join(this.#dir, 'tls.key'), tls.key);
    for (const name of podNames) this.#startPod(name);
    await until(
      'every workload listens',
      () =>
        [...this.#pods.values()].every(({ child }) => child.exitCode === null) &&
        this.#listening.size === podNames.length,
      this.patience(20_000),
    );
  }

  startOperator(): void {
    // Restarts are never limited here: other tests check the restart budget.
    const restartBudget = { burst: 100, refillMs: 1_000 };
    this.#operator = startCaptureOperator({
      ...{ client: this.api.client(), clock: systemClock, agentPort, restartBudget },
      instrumentVersion: this.orders.version,
    });
  }

  async startAgent(): Promise<void> {
    const dir = join(this.#dir, 'agent');
    mkdirSync(join(dir, 'instrument'), { recursive: true });
    if (!this.#agent) {
      writeIdentity(join(dir, 'tls'), await agentTls(this.#ca, nodeName));
      const labels = { 'app.kubernetes.io/name': 'svc-operator', 'app.kubernetes.io/component': 'agent' };
      this.#putPod('svc-system', agentPod, '127.0.0.1', labels);
    }
    this.#agent = await AgentProcess.start(
      dir,
      {
        'node-name': nodeName,
        'otlp-http-port': '4318',
        'scrape-port': '9090',
        'remote-read-port': '9091',
        'span-stream-port': '9092',
        'capture-config-port': String(agentPort),
        'instrument-version': this.orders.version,
        'instrument-state-dir': this.#stateDir,
        'instrument-health-socket': '@svc-obi-health',
      },
      { KUBECONFIG: this.#kubeconfig },
      [],
      this.#program('agent'),
    );
  }

  /** Starts the instrument's container, without the named capability, if one is named. */
  startInstrument(without?: string): void {
    const own =
      this.orders.instrument === null
        ? [process.execPath, this.#program('standIn')]
        : asInPod(this.orders.instrument, without);
    this.#instrument = new InstrumentProcess({
      command: own,
      config: join(this.#dir, 'agent/instrument/config.yaml'),
      dir: this.#stateDir,
      backoff: { initialMs: 1_000, maxMs: 1_000, resetMs: 60_000 },
      supervisor: this.#program('supervisor'),
      logFile: join(this.#dir, 'instrument.log'),
      env: {
        ...(this.orders.debug ? { OTEL_EBPF_LOG_LEVEL: 'DEBUG', OTEL_EBPF_TRACE_PRINTER: 'text' } : {}),
        ...this.#instrumentEnv,
        NODE_NAME: nodeName,
        KUBECONFIG: this.#kubeconfig,
        ...(this.standsIn ? { STANDIN_LISTEN: reports, STANDIN_NETWORKS: 'pods' } : {}),
      },
      faults: without !== undefined && this.standsIn ? { STANDIN_MISSING_CAPS: `CAP_${without}` } : {},
      onEnd: (ended) => this.#tellEnd(ended),
      onStart: () => this.#tellStart(),
    });
    this.#instrument.start();
  }

  /** Moves the clock of the virtual machine by so much. Units: s. */
  stepClock(by: number): void {
    execFileSync('date', ['-u', '-s', `@${Math.round(Date.now() / 1_000) + by}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  }

  /** The query server, started by the first call. */
  async queryServer(): Promise<QueryProcess> {
    return (this.#query ??= await this.#startQuery());
  }

  async #startQuery(): Promise<QueryProcess> {
    const dir = join(this.#dir, 'query');
    mkdirSync(dir, { recursive: true });
    writeTls(dir, { ...(await this.#leaf('svc-query')), ca: this.#ca.cert });
    return startQueryProcess({
      dir,
      kubeconfig: this.#kubeconfig,
      flags: [],
      svc: this.#program('agent'),
      patienceMs: this.patience(20_000).timeoutMs,
    });
  }

  pod(name: string): RunningPod {
    return this.#pods.get(name)!;
  }

  /** Has the client send requests to a server, one after the other. Resolves when all are answered. */
  async send(to: ServerName, requests: readonly Requests[], port: number = servers[to].port): Promise<void> {
    const { tls } = servers[to];
    const id = this.#nextOrder++;
    await this.#order({ id, target: { name: to, ip: this.pod(to).end.ip, port, tls }, requests });
  }

  /** Has the client send calls, one after the other. Resolves when all are answered. */
  async call(protocol: Protocol, calls: readonly Calls[]): Promise<void> {
    await this.#order({ id: this.#nextOrder++, protocol, ip: this.pod('calls').end.ip, calls });
  }

  async #order(order: TrafficOrder | CallOrder): Promise<void> {
    const error = await new Promise<string | undefined>((resolve) => {
      this.#waiting.set(order.id, resolve);
      this.pod('client').child.stdin!.write(`${JSON.stringify(order)}\n`);
    });
    if (error === undefined) return;
    throw new Error(`the traffic to ${'calls' in order ? order.protocol : order.target.name}: ${error}`);
  }

  /** The series of a metric on the agent's page; if `pod` is given, those of the pod. */
  async series(metric: string, pod?: string): Promise<Series[]> {
    const all = await seriesOf('http://127.0.0.1:9090/metrics', metric);
    return pod === undefined ? all : all.filter(({ labels }) => labels['k8s_pod_name'] === pod);
  }

  policy(spec: object): void {
    const { apiVersion, kind } = clusterTrafficPolicies;
    this.api.put(clusterTrafficPolicies, { apiVersion, kind, metadata: { name: 'default' }, spec } as never);
  }

  monitor(name: string, spec: object): void {
    const { apiVersion, kind } = trafficMonitors;
    const metadata = { namespace: 'shop', name };
    this.api.put(trafficMonitors, { apiVersion, kind, metadata, spec: { mode: 'Capture', ...spec } } as never);
  }

  removeMonitor(name: string): void {
    this.api.storage.remove(trafficMonitors, 'shop', name);
  }

  status(monitor: string): CaptureStatus {
    const found = this.api.storage.get(trafficMonitors, 'shop', monitor);
    return (found['status'] ?? {}) as CaptureStatus;
  }

  /**
   * Waits until a condition of the newest generation is `wanted`, such as `True/TrafficSeen`, with `words` in its
   * message. Resolves to the message.
   */
  async condition(monitor: string, type: string, wanted: string, words = ''): Promise<string> {
    return until(
      `${type} of ${monitor} is ${wanted}`,
      () => {
        const object = this.api.storage.get(trafficMonitors, 'shop', monitor);
        const { conditions = [], observedGeneration } = this.status(monitor);
        const found = conditions.find((c) => c.type === type);
        const is = `${found?.status}/${found?.reason}`;
        if (observedGeneration !== object.metadata.generation)
          throw new Error(`not observed by the operator yet; it was ${is}`);
        if (is !== wanted || !found!.message.includes(words)) throw new Error(`it is ${is}: ${found?.message}`);
        return found!.message || is;
      },
      this.patience(40_000),
    );
  }

  async stop(): Promise<void> {
    await this.#instrument?.stop();
    await this.#query?.kill();
    await this.#agent?.end('SIGKILL');
    await this.#operator?.stop();
    await this.#network.remove();
    await this.api.stop();
  }

  /** The environment of the instrument's container. Its only value from a pod field is the address of the node. */
  get #instrumentEnv(): Record<string, string> {
    const hostIp = this.pod('client').end.gateway;
    return Object.fromEntries(instrumentEnv.map((one) => [one.name, 'value' in one ? one.value : hostIp]));
  }

  get #stateDir(): string {
    return join(this.#dir, 'instrument-run');
  }

  #program(name: keyof typeof programFiles): string {
    return join(this.orders.programs, programFiles[name]);
  }

  #leaf(commonName: string): ReturnType<typeof issueLeaf> {
    const dnsNames = [commonName, `${commonName}.svc-system.svc`, 'localhost'];
    return issueLeaf(this.#ca, { commonName, dnsNames, ipAddresses: ['127.0.0.1'] }, { now: Date.now() });
  }

  #startPod(name: string): void {
    const end = this.#network.pod(name);
    const server = (servers as Partial<Record<string, (typeof servers)[ServerName]>>)[name];
    const tier = name === 'late' ? 'late' : 'shop';
    const uid = this.#putPod('shop', name, end.ip, { app: name, tier });
    const runtimes = {
      node: [process.execPath, this.#program('node')],
      python: ['/usr/bin/python3', this.#program('python')],
      go: [this.#program('go')],
    };
    const env = {
      // The stand-in of the instrument finds the pod of a process by this variable.
      HOSTNAME: name,
      PORT: String(server?.port ?? 0),
      ...(server?.tls ? { TLS_CERT: join(this.#dir, 'tls.crt'), TLS_KEY: join(this.#dir, 'tls.key') } : {}),
    };
    const other = [process.execPath, this.#program(name === 'calls' ? 'calls' : 'client')];
    const command = server ? runtimes[server.runtime] : other;
    const child = this.#network.run(end, command, { uid, env, stdin: 'pipe' });
    const seen: Seen[] = [];
    this.#pods.set(name, { end, child, seen });
    const report = this.standsIn
      ? new SelfReport({ pod: name, port: server?.port ?? 0, tls: server?.tls ?? false, url: `http://${reports}` })
      : null;
    if (report) setInterval(() => void report.post(), selfReportMs).unref();
    createInterface({ input: child.stdout! }).on('line', (text) => {
      const line = JSON.parse(text) as Seen & { listening?: true; done?: number; error?: string };
      if (line.listening) return void this.#listening.add(name);
      if (line.done !== undefined) {
        this.#waiting.get(line.done)?.(line.error);
        return void this.#waiting.delete(line.done);
      }
      seen.push(line);
      report?.take(line);
    });
  }

  #put(kind: 'namespaces' | 'nodes' | 'pods' | 'secrets', object: object, status?: object): string {
    const { apiVersion, kind: kindName } = coreResources[kind];
    const stored = this.api.put(coreResources[kind], { apiVersion, kind: kindName, ...object } as never);
    const { namespace, name, uid } = stored.metadata;
    if (status) this.api.putStatus(coreResources[kind], namespace, name!, status);
    return uid!;
  }

  #putPod(namespace: string, name: string, podIP: string, labels: Record<string, string>): string {
    const spec = { nodeName, containers: [{ name: 'main', image: 'none' }] };
    const uid = this.#put('pods', { metadata: { namespace, name, labels }, spec });
    this.api.putStatus(coreResources.pods, namespace, name, {
      ...{ phase: 'Running', podIP, podIPs: [{ ip: podIP }], startTime: new Date().toISOString() },
      containerStatuses: [containerStatus(uid)],
    });
    return uid;
  }

  /** Reports an end of the instrument as the kubelet does with `terminationMessagePolicy: FallbackToLogsOnError`. */
  #tellEnd({ exitCode, log, at, backoffMs }: Ended): Promise<void> {
    const message = exitCode === 0 ? {} : { message: log };
    const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', ...message, finishedAt: at };
    const state = backoffMs > 0 ? { waiting: { reason: 'CrashLoopBackOff' } } : { terminated };
    return this.#tell({ name: 'instrument', ready: false, restartCount: 1, state, lastState: { terminated } });
  }

  #tellStart(): Promise<void> {
    const { status } = this.api.storage.get(coreResources.pods, 'svc-system', agentPod) as never as {
      status: { containerStatuses: { name: string }[] };
    };
    const before = status.containerStatuses.find(({ name }) => name === 'instrument');
    if (!before) return Promise.resolve();
    return this.#tell({ ...before, state: { running: { startedAt: new Date().toISOString() } } });
  }

  #tell(container: object): Promise<void> {
    const { status } = this.api.storage.get(coreResources.pods, 'svc-system', agentPod) as never as { status: object };
    this.api.putStatus(coreResources.pods, 'svc-system', agentPod, { ...status, containerStatuses: [container] });
    return Promise.resolve();
  }
}
