import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { findBinaries, type Binaries } from '../cluster/binaries.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { imageName, ownImages } from '../node/container/images.ts';
import type { ImageTable } from '../node/container/images.ts';
import { forward } from './forward.ts';
import { startOutsideWorld, type OutsideWorld } from './outside-world.ts';
import { instantQuery, type QueryAnswer, type QueryTarget } from './query-client.ts';
import type { Report } from './report.ts';
import { runLoad, type LoadStats, type LoadTargets } from './shop/load.ts';
import { until } from '../../src/testing/until.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
export const minterUrl = 'http://minter.platform-agent.svc.cluster.local:8080';
export const agentEmail = 'platform-agent@demo-project.iam.gserviceaccount.com';

/** The whole product, running: the demo shows it, and end-to-end tests use it. */
export interface Stage {
  cluster: Cluster;
  world: OutsideWorld;
  /** The query server through a loopback port, as `kubectl port-forward` gives it. */
  queryTarget: QueryTarget;
  query(promql: string, params?: Record<string, string>): Promise<QueryAnswer>;
  /** Requests a token from a ready minter pod, as an identity of the cloud issuer. */
  mint(email: string, change?: MintChange): Promise<{ status: number; body: string }>;
  load: LoadStats;
  stop(): Promise<void>;
}

export interface StageOptions {
  report: Report;
  nodes?: number;
  /** Loopback port of the query server; 0 takes a free one. */
  queryPort?: number;
  /** How far to set up: `operator` leaves samples and shop out. Default: everything. */
  upTo?: 'operator' | 'everything';
  /** Requests a second to each service of the shop. Default 20. */
  perSecond?: number;
  /** The operator's manifest. Default: this version's. */
  manifest?: string;
  /** More images that the nodes can run. Every minter image gets the environment with the outside world's addresses. */
  images?: ImageTable;
  /**
   * Uses the published programs of a control plane when none are built here. Default false: tests run on built ones.
   */
  published?: boolean;
  /** Ends a start that is under way: what is up is stopped, the promise rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** Brings everything up and waits until all objects are Ready. On an error, it stops what it had started. */
export async function startStage(options: StageOptions): Promise<Stage> {
  const { report } = options;
  const abort = new AbortController();
  const stops: (() => unknown)[] = [() => abort.abort()];
  const stop = async (): Promise<void> => {
    for (const fn of stops.splice(0).reverse()) await fn();
  };
  try {
    const find = { log: report.show, signal: options.signal };
    const binaries = await findBinaries({ ...find, published: options.published ?? false });
    options.signal?.throwIfAborted();
    const world = await report.step(
      'outside world: key service, hosting platform, issuer; key imported by `minter tools import-pk`',
      () => startOutsideWorld({ org: 'acme', repositories: ['gitops', 'extra', 'secret-plans'] }),
    );
    stops.push(() => world.stop());
    options.signal?.throwIfAborted();
    const setUp = bringUp({ ...options, binaries }, world, { signal: abort.signal, stops });
    return { ...(await Promise.race([setUp, aborted(options.signal)])), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Rejects with the signal's reason; without a signal it stays pending. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/**
 * Starts all but the outside world (the stand-ins of what the minter calls). For each part, adds a function to `stops`
 * that stops the part. A half-started cluster ends with this process.
 */
async function bringUp(
  options: StageOptions & { binaries: Binaries },
  world: OutsideWorld,
  { signal, stops }: { signal: AbortSignal; stops: (() => unknown)[] },
): Promise<Omit<Stage, 'stop'>> {
  const { report } = options;
  const cluster = await report.step(`control plane and ${options.nodes ?? 3} process nodes`, (note) =>
    startCluster({
      nodes: options.nodes ?? 3,
      binaries: options.binaries,
      images: images(world, options.images),
      log: note,
    }),
  );
  stops.push(() => cluster.stop());
  signal.throwIfAborted();
  await installOperator(cluster, report, options.manifest ?? `${root}manifests/install.yaml`);
  const everything = options.upTo !== 'operator';
  if (everything) await applySamples(cluster, world, report);
  const targets = everything ? watchShop(cluster, signal) : { catalog: [], checkout: [] };
  const load = runLoad({ targets: () => targets, perSecond: options.perSecond ?? 20, signal });
  if (everything) await waitForReady(cluster, report);
  const queryTarget = await reachQuery(cluster, options.queryPort ?? 0, stops);
  return {
    cluster,
    world,
    load,
    queryTarget,
    query: (promql, params) => instantQuery(queryTarget, promql, params),
    mint: (email, change) => mint(cluster, world, email, change),
  };
}

/** This project's images, with the demo's shop, and a minter image that knows where the outside world is. */
function images(world: OutsideWorld, more: ImageTable = {}): ImageTable {
  const all = Object.entries({ ...ownImages(), ...more });
  const env = (name: string): Record<string, string> => (imageName(name) === 'svc-minter' ? world.minterEnv : {});
  return {
    ...Object.fromEntries(all.map(([name, image]) => [name, { ...image, env: { ...image.env, ...env(name) } }])),
    'svc-demo-shop': { entrypoint: [process.execPath, `${root}e2e/demo/shop/service.ts`] },
  };
}

async function installOperator(cluster: Cluster, report: Report, manifest: string): Promise<void> {
  await report.step('kubectl apply: CRDs and the operator (manifests/install.yaml)', async () => {
    await cluster.kubectl(['apply', '--server-side', '-f', manifest]);
    await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...crds]);
  });
}

const crds = ['trafficmonitors', 'clustertrafficpolicies', 'minterdeployments'].map(
  (plural) => `crd/${plural}.svc.dev`,
);

/** Applies the samples of the repository; only the addresses of the outside world are replaced. */
async function applySamples(cluster: Cluster, world: OutsideWorld, report: Report): Promise<void> {
  await report.step('kubectl apply: the shop, and config/samples (a policy, two monitors, a minter)', async () => {
    const samples = ['namespaces', 'clustertrafficpolicy', 'trafficmonitor-checkout', 'trafficmonitor-catalog'];
    const files = [
      ...samples.map((name) => `${root}config/samples/${name}.yaml`),
      `${root}config/minter/rights.yaml`,
      `${root}e2e/demo/shop/shop.yaml`,
    ];
    const secret = ['-n', 'platform-agent', 'create', 'secret', 'generic', 'vcs-app-credentials'];
    const spec = {
      vcs: { apiBaseURL: world.platform.apiBaseUrl },
      issuer: { url: world.issuer.issuer, jwksURI: world.issuer.jwksUri },
    };
    const local = [
      'patch',
      '--local',
      '-f',
      `${root}config/samples/minterdeployment.yaml`,
      '--type=merge',
      '-o',
      'json',
    ];
    const [minter] = await Promise.all([
      cluster.kubectl([...local, '-p', JSON.stringify({ spec })]),
      cluster.kubectl(['apply', ...files.flatMap((file) => ['-f', file])]),
    ]);
    await Promise.all([
      cluster.kubectl([...secret, `--from-literal=app-id=${world.appId}`]),
      cluster.kubectl(['apply', '-f', '-'], { stdin: minter }),
    ]);
  });
}

async function waitForReady(cluster: Cluster, report: Report): Promise<void> {
  const rollout = (workload: string): Promise<string> =>
    cluster.kubectl(['-n', 'svc-system', 'rollout', 'status', workload, '--timeout=120s'], { timeoutMs: 130_000 });
  await report.step('waiting until every condition is Ready', async (note) => {
    note('the operator');
    await rollout('deployment/svc-controller');
    // The operator makes these; wait for them to exist before asking for their roll-out.
    const made = ['-n', 'svc-system', 'get', 'daemonset/svc-agent', 'deployment/svc-query', '-o', 'name'];
    await until('the operator to render agents and query', () => cluster.kubectl(made), { good: () => true });
    note('agents and query servers');
    await Promise.all([rollout('daemonset/svc-agent'), rollout('deployment/svc-query')]);
    note('the instruments restart with their new configuration');
    const ready = ['wait', '--for=condition=Ready', '--timeout=120s', '-A', '--all', 'ctp,tm,md'];
    await cluster.kubectl(ready, { timeoutMs: 130_000 });
  });
}

interface PodList {
  items: {
    metadata: { name: string; labels?: Record<string, string> };
    status?: { podIP?: string; conditions?: { type: string; status: string }[] };
  }[];
}

/** Addresses of the ready pods with these labels. */
export async function readyPods(
  cluster: Cluster,
  namespace: string,
  selector: string,
): Promise<{ name: string; ip: string }[]> {
  const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`;
  const { items } = await cluster.api.request<PodList>('GET', path);
  return items
    .filter((pod) => pod.status?.podIP && pod.status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True'))
    .map((pod) => ({ name: pod.metadata.name, ip: pod.status!.podIP! }));
}

/** Updates the load's targets once a second. While the control plane is down, the last targets stay. */
function watchShop(cluster: Cluster, signal: AbortSignal): LoadTargets {
  const targets: { catalog: readonly string[]; checkout: readonly string[] } = { catalog: [], checkout: [] };
  const refresh = async (): Promise<void> => {
    for (const app of ['catalog', 'checkout'] as const) {
      targets[app] = (await readyPods(cluster, 'shop', `app=${app}`)).map(({ ip }) => `${ip}:8080`);
    }
  };
  const timer = setInterval(() => void refresh().catch(() => {}), 1_000);
  signal.addEventListener('abort', () => clearInterval(timer));
  return targets;
}

async function reachQuery(cluster: Cluster, port: number, stops: (() => unknown)[]): Promise<QueryTarget> {
  const selector = 'app.kubernetes.io/component=query';
  let last: { ip: string; port: number } | undefined;
  const target = async (): Promise<{ ip: string; port: number }> => {
    try {
      const [pod] = await readyPods(cluster, 'svc-system', selector);
      if (!pod) throw new Error('no query pod is ready');
      last = { ip: pod.ip, port: 9095 };
    } catch (error) {
      // While the API server is down, the last address is used.
      if (!last) throw error;
    }
    return last;
  };
  await until('a ready query pod', target, { good: () => true, timeoutMs: 60_000 });
  const forwarded = await forward(target, port).catch(() => forward(target, 0));
  stops.push(() => forwarded.close());
  const secret = await cluster.kubectl([
    '-n',
    'svc-system',
    'get',
    'secret',
    'svc-query-tls',
    '-o',
    'jsonpath={.data.ca\\.crt}',
  ]);
  return { host: '127.0.0.1', port: forwarded.port, ca: Buffer.from(secret, 'base64').toString('utf8') };
}

/** How a token request differs from a valid one. */
export interface MintChange {
  audience?: string;
  scope?: string;
  repositories?: string[];
}

async function mint(
  cluster: Cluster,
  world: OutsideWorld,
  email: string,
  { audience = minterUrl, scope = 'platform-agent-scope', repositories = ['gitops'] }: MintChange = {},
): Promise<{ status: number; body: string }> {
  const [pod] = await readyPods(cluster, 'platform-agent', 'app.kubernetes.io/component=minter');
  if (!pod) throw new Error('no minter pod is ready');
  const response = await fetch(`http://${pod.ip}:8080/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-oidc-token': world.issuer.token(email, audience) },
    body: JSON.stringify({ org_name: 'acme', repositories, scope }),
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, body: await response.text() };
}

/** The text of a file of the repository, for tests that edit a sample. */
export const readRepositoryFile = (path: string): Promise<string> => readFile(`${root}${path}`, 'utf8');
