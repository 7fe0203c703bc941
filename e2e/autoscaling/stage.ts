import { fileURLToPath } from 'node:url';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { readyPods } from '../demo/stage.ts';
import { runLoad } from '../demo/shop/load.ts';
import { ownImages } from '../node/container/images.ts';
import { registerForeign } from './foreign-registration.ts';
import { passOnTo, startSecondAdapter, type SecondAdapter } from './second-adapter.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A cluster with the product, the demo's catalog service, and a load on that service that a test turns up and down. */
export interface AutoscalingStage {
  cluster: Cluster;
  /** The adapter to which the query servers pass requests for metrics that they do not know. */
  second: SecondAdapter;
  kubectl(...args: string[]): Promise<string>;
  /** Gets a path of the API server. */
  raw<T>(path: string): Promise<T>;
  /** Sends this many requests a second to the catalog from now on. */
  load(perSecond: number): void;
  stop(): Promise<void>;
}

/**
 * Starts a cluster with three nodes, of which the test may kill one. The autoscaler syncs every three seconds instead
 * of fifteen. Another server has registered the custom metrics API before us.
 */
export async function startAutoscalingStage(): Promise<AutoscalingStage> {
  const cluster = await startCluster({
    nodes: 3,
    images: {
      ...ownImages(),
      'svc-demo-shop': { entrypoint: [process.execPath, `${root}e2e/demo/shop/service.ts`] },
    },
    controllerManagerFlags: [
      '--horizontal-pod-autoscaler-sync-period=3s',
      '--horizontal-pod-autoscaler-initial-readiness-delay=1s',
      '--horizontal-pod-autoscaler-cpu-initialization-period=1s',
    ],
  });
  const stops: (() => unknown)[] = [() => cluster.stop()];
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args);
  const stop = async (): Promise<void> => {
    for (const fn of stops.splice(0).reverse()) await fn();
  };
  try {
    await registerForeign(cluster);
    const second = await startSecondAdapter(cluster);
    stops.push(() => second.close());
    await kubectl('apply', '--server-side', '-f', `${root}manifests/install.yaml`);
    await passOnTo(second, kubectl);
    await kubectl('wait', '--for=condition=Established', '--timeout=30s', 'crd/trafficmonitors.svc.dev');
    await kubectl(
      'apply',
      ...['namespaces', 'clustertrafficpolicy'].flatMap((name) => ['-f', `${root}config/samples/${name}.yaml`]),
    );
    await kubectl('apply', '-f', `${root}e2e/demo/shop/shop.yaml`);
    await kubectl('-n', 'shop', 'scale', 'deployment/checkout', '--replicas=0');
    const targets = watchPods(cluster, stops);
    let abort = new AbortController();
    stops.push(() => abort.abort());
    const stage: AutoscalingStage = {
      cluster,
      second,
      kubectl,
      raw: <T>(path: string) => cluster.api.request<T>('GET', path, undefined, { timeoutMs: 60_000 }),
      load(perSecond) {
        abort.abort();
        abort = new AbortController();
        if (perSecond > 0) runLoad({ targets: () => targets, perSecond, signal: abort.signal });
      },
      stop,
    };
    return stage;
  } catch (error) {
    await stop();
    throw error;
  }
}

function watchPods(
  cluster: Cluster,
  stops: (() => unknown)[],
): { catalog: readonly string[]; checkout: readonly string[] } {
  const targets = { catalog: [] as readonly string[], checkout: [] as readonly string[] };
  const refresh = async (): Promise<void> => {
    targets.catalog = (await readyPods(cluster, 'shop', 'app in (catalog,kinds)')).map(({ ip }) => `${ip}:8080`);
  };
  const timer = setInterval(() => void refresh().catch(() => {}), 1_000);
  stops.push(() => clearInterval(timer));
  return targets;
}
