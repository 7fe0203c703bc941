import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentServerName } from '../../src/api/agents/agent-certificate.ts';
import type { KubeObject } from '../../src/api/meta.ts';
import { kinds } from '../../src/api/v1alpha1/index.ts';
import { coreResources } from '../../src/kube/index.ts';
import { createCa, issueLeaf, type KeyPairPem } from '../../src/net/ca.ts';
import { names, objectLabels, renderedKinds } from '../../src/render/index.ts';
import { FakeApiServer } from '../../src/testing/fake-api-server/index.ts';
import { agentRules, audience, startMinterWorld, type MinterWorld } from '../../src/testing/minter-world/world.ts';
import { until } from '../../src/testing/until.ts';
import { freePorts } from '../cluster/ports.ts';
import { callLine, type Identity, type Target } from './caller.ts';
import { Victim } from './victim.ts';

/** Every program of the product with all its ports on loopback, and stand-ins for the servers that it calls. */
export interface HostileWorld {
  readonly victims: readonly Victim[];
  readonly targets: readonly Target[];
  readonly anybody: Identity;
  /** A caller with a good token. */
  readonly reader: Identity;
  /** Callers with a client certificate, by its common name. */
  readonly certificates: Readonly<Record<'svc-query' | 'svc-controller' | 'svc-agent', Identity>>;
  /** The query server's value of `sum(svc_agent_up)`; undefined for a degraded answer. */
  agentsUp(): Promise<string | undefined>;
  stop(): Promise<(number | null)[]>;
}

const now = Date.now();

export async function startWorld(): Promise<HostileWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'hostile-'));
  const ca = await createCa({ commonName: 'svc-ca', now });
  const [api, minterWorld] = await Promise.all([startApi(ca), startMinterWorld()]);
  await minterWorld.writeRules({ '.yaml': agentRules() });
  const kubeconfig = join(dir, 'kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(api.url)));
  const identities = Object.fromEntries(
    await Promise.all(
      ['svc-query', 'svc-controller', 'svc-agent'].map(async (name) => [name, await identityOf(ca, name)]),
    ),
  ) as HostileWorld['certificates'];
  for (const part of ['agent', 'query']) await writeTls(join(dir, part), ca, identities[`svc-${part}` as 'svc-agent']);
  putAgentPod(api);
  const ports = await agentPorts();
  const started = await Promise.all([
    startOperator(kubeconfig, api),
    startAgent(dir, kubeconfig, ca, ports),
    startQuery(dir, kubeconfig, ca, ports),
    startMinter(minterWorld),
  ]);
  const query = started[2].targets[0]!;
  const agentsUp = (): Promise<string | undefined> => askForAgents(query, { name: 'a reader', token: 'good' });
  await until('the agent behind the query server', async () => (await agentsUp()) === '1', { timeoutMs: 30_000 });
  const victims = started.map(({ victim }) => victim);
  return {
    victims,
    targets: started.flatMap(({ targets }) => targets),
    anybody: { name: 'anybody' },
    reader: { name: 'a reader', token: 'good' },
    certificates: identities,
    agentsUp,
    async stop() {
      const codes = await Promise.all(victims.map((victim) => victim.end()));
      await Promise.all([api.stop(), minterWorld.stop()]);
      await rm(dir, { recursive: true, force: true });
      return codes;
    },
  };
}

interface Started {
  victim: Victim;
  targets: Target[];
}

async function startApi(ca: KeyPairPem): Promise<FakeApiServer> {
  const api = await FakeApiServer.start({
    resources: [...kinds.map((k) => k.resource), renderedKinds.PriorityClass],
  });
  api.put(coreResources.configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'extension-apiserver-authentication', namespace: 'kube-system' },
    data: { 'client-ca-file': ca.cert },
  });
  // Every token is valid and has all rights, so that attacks reach the code after authorization.
  const always = (plural: string, status: object): void =>
    api.script(
      { plural },
      { do: 'raw', status: 201, contentType: 'application/json', body: JSON.stringify({ metadata: {}, status }) },
      Infinity,
    );
  always('tokenreviews', { authenticated: true, user: { username: 'anna', uid: '1', groups: [] } });
  always('subjectaccessreviews', { allowed: true });
  return api;
}

function kubeconfigOf(server: string): object {
  return {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 't' } }],
  };
}

async function identityOf(ca: KeyPairPem, name: string): Promise<Identity> {
  const dnsNames = [`${name}.svc-system.svc`, 'localhost', agentServerName('node-1', 'svc-system')];
  const leaf = await issueLeaf(ca, { commonName: name, dnsNames }, { now });
  return { name, ...leaf };
}

async function writeTls(dir: string, ca: KeyPairPem, { cert = '', key = '' }: Identity): Promise<void> {
  await mkdir(join(dir, 'tls'), { recursive: true });
  const files = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca.cert };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(dir, 'tls', name), text)));
}

const answers = async (port: number, path: string): Promise<boolean> =>
  (await fetch(`http://127.0.0.1:${port}${path}`)).ok;

async function startOperator(kubeconfig: string, api: FakeApiServer): Promise<Started> {
  const [metrics, webhook] = (await freePorts(2)) as [number, number];
  const flags = [
    `--metrics-port=${metrics}`,
    `--admission-port=${webhook}`,
    '--bind-address=127.0.0.1',
    '--admission=fail-open',
  ];
  const victim = await Victim.start(
    'operator',
    'svc',
    ['operator', ...flags],
    { KUBECONFIG: kubeconfig },
    async (self) => self.said('webhooks are served').length > 0 && answers(metrics, '/livez'),
  );
  // The operator makes a CA of its own.
  const secret = await until('the authority', async () =>
    api.storage.find(coreResources.secrets, 'svc-system', names.controllerTls),
  );
  const own = Buffer.from((secret['data'] as Record<string, string>)['ca.crt']!, 'base64').toString();
  const tls = { ca: own, servername: 'svc-controller-webhook.svc-system.svc' };
  return {
    victim,
    targets: [
      { process: 'operator', listener: 'metrics', port: metrics },
      { process: 'operator', listener: 'webhook', port: webhook, tls },
    ],
  };
}

const agentListeners = ['otlp-grpc', 'otlp-http', 'scrape', 'remote-read', 'span-stream', 'capture-config'] as const;
type AgentPorts = Readonly<Record<(typeof agentListeners)[number], number>>;

async function agentPorts(): Promise<AgentPorts> {
  const free = await freePorts(agentListeners.length);
  return Object.fromEntries(agentListeners.map((name, i) => [name, free[i]!])) as AgentPorts;
}

/** Puts the agent's pod where the query server finds it, so that hostile queries reach the fan-out. */
function putAgentPod(api: FakeApiServer): void {
  const metadata = { namespace: 'svc-system', name: 'svc-agent-1', labels: objectLabels('agent') };
  const spec = { nodeName: 'node-1', containers: [{ name: 'agent' }] };
  const status = { phase: 'Running', podIP: '127.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] };
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  api.put(coreResources.nodes, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-1' },
    status: ready,
  } as KubeObject);
  api.put(coreResources.pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec, status } as KubeObject);
  api.putStatus(coreResources.pods, 'svc-system', 'svc-agent-1', status);
}

async function askForAgents(query: Target, reader: Identity): Promise<string | undefined> {
  const line = await callLine(query, reader, { from: '127.0.0.1', alpn: 'http/1.1' });
  const path = '/api/v1/query?query=sum(svc_agent_up)';
  const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${reader.token}\r\n\r\n`;
  line.socket.write(head);
  await line.closed;
  const text = line.text();
  return text.includes('"degraded":false') ? /"value":\[[\d.]+,"(\d+)"\]/.exec(text)?.[1] : undefined;
}

async function startAgent(dir: string, kubeconfig: string, ca: KeyPairPem, ports: AgentPorts): Promise<Started> {
  const home = join(dir, 'agent');
  const victim = await Victim.start(
    'agent',
    'svc',
    [
      ...['agent', '--node-name=node-1', '--bind-address=127.0.0.1', `--tls-dir=${join(home, 'tls')}`],
      ...[`--data-dir=${join(home, 'data')}`, `--instrument-config=${join(home, 'instrument', 'config.yaml')}`],
      `--instrument-health-socket=${join(home, 'none.sock')}`,
      ...agentListeners.map((name) => `--${name}-port=${ports[name]}`),
    ],
    { KUBECONFIG: kubeconfig },
    (self) => self.said('agent started').length > 0,
  );
  const tls = { ca: ca.cert, servername: 'svc-agent.svc-system.svc' };
  return {
    victim,
    targets: agentListeners.map((listener, i) => ({
      process: 'agent',
      listener,
      port: ports[listener],
      ...(i > 2 ? { tls } : {}),
      ...(listener === 'otlp-grpc' ? { h2: true, h2Only: true } : {}),
      ...(listener === 'span-stream' ? { h2: true } : {}),
    })),
  };
}

async function startQuery(dir: string, kubeconfig: string, ca: KeyPairPem, agent: AgentPorts): Promise<Started> {
  const [port, health, custom] = (await freePorts(3)) as [number, number, number];
  const home = join(dir, 'query');
  const victim = await Victim.start(
    'query',
    'svc',
    [
      ...['query', '--namespace=svc-system', '--bind-address=127.0.0.1', `--tls-dir=${join(home, 'tls')}`],
      ...[`--agent-read-port=${agent['remote-read']}`, `--agent-stream-port=${agent['span-stream']}`],
      ...[`--port=${port}`, `--health-port=${health}`, `--custom-metrics-port=${custom}`, '--custom-metrics=true'],
      ...['--external-metrics=true', '--warm-up=0s'],
      ...[`--active-queries-file=${join(home, 'active')}`, `--query-log-file=${join(home, 'queries.log')}`],
    ],
    { KUBECONFIG: kubeconfig },
    async (self) => self.said('custom metrics: listening').length > 0 && answers(health, '/readyz'),
  );
  const tls = { ca: ca.cert, servername: 'svc-query.svc-system.svc' };
  return {
    victim,
    targets: [
      { process: 'query', listener: 'query', port, tls, h2: true },
      { process: 'query', listener: 'query-health', port: health },
      { process: 'query', listener: 'custom-metrics', port: custom, tls },
    ],
  };
}

async function startMinter(world: MinterWorld): Promise<Started> {
  const [port, admin] = (await freePorts(2)) as [number, number];
  const victim = await Victim.start(
    'minter',
    'minter',
    ['server', 'run'],
    { ...world.env, AUDIENCES: audience, PORT: `${port}`, ADMIN_PORT: `${admin}`, BIND_ADDRESS: '127.0.0.1' },
    async (self) => self.said('minter started').length > 0 && answers(port, '/version'),
  );
  return {
    victim,
    targets: [
      { process: 'minter', listener: 'minter', port },
      { process: 'minter', listener: 'minter-admin', port: admin },
    ],
  };
}
