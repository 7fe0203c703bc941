import { freePorts } from '../../e2e/cluster/ports.ts';
import { exited, signalGroup, spawnBound, toolEnvironment } from '../../e2e/cluster/processes.ts';
import { countingProxy } from '../../e2e/peers/counting-proxy.ts';
import { findPeer } from '../../e2e/peers/programs.ts';
import { remoteWriteColumns } from '../../e2e/prometheus/remote-write.ts';
import { startPeer } from '../../e2e/prometheus/server.ts';
import { until } from '../../src/testing/until.ts';
import type { BenchSeries } from '../promql/data.ts';
import type { Stage } from '../run/bench.ts';
import { ApiClient } from './ask.ts';

export interface ThanosOptions {
  /** One store for each node. A node's name is the value of the label `k8s_node_name` on all of its series. */
  readonly nodes: readonly string[];
  /** The series, which every node has. */
  readonly series: readonly BenchSeries[];
  readonly timeOf: (k: number) => number;
  /** A command that binds each process to a core. */
  readonly wrapper: readonly string[];
}

/** A Thanos Query over a Prometheus with a sidecar for each node. */
export interface ThanosSide {
  readonly client: ApiClient;
  readonly pids: readonly number[];
  /**
   * A client of another Query, which reaches the sidecars through counting proxies. It is slower, and used only to
   * count bytes.
   */
  readonly counted: ApiClient;
  /** Bytes that the sidecars have sent to the Query of `counted`. */
  bytes(): number;
}

/**
 * Starts Thanos and Prometheus with the flags of their images; a process that is bound to a core has `GOMAXPROCS=1`.
 */
export async function startThanosSide(
  { nodes, series, timeOf, wrapper }: ThanosOptions,
  { atEnd, say }: Pick<Stage, 'atEnd' | 'say'>,
): Promise<ThanosSide> {
  const program = await findPeer('thanos');
  const run = async (name: string, flags: readonly string[]): Promise<{ pid: number; http: number; grpc: number }> => {
    const [http, grpc] = (await freePorts(2)) as [number, number];
    const addresses = [`--http-address=127.0.0.1:${http}`, `--grpc-address=127.0.0.1:${grpc}`];
    const child = spawnBound([...wrapper, program, name, '--log.level=error', ...addresses, ...flags], {
      run: `bench-${process.pid}`,
      env: toolEnvironment(wrapper.length > 0 ? { GOMAXPROCS: '1' } : {}),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    atEnd(async () => {
      signalGroup(child.pid!, 'SIGTERM');
      await exited(child);
    });
    await until(`thanos ${name} is ready`, async () => {
      if (child.exitCode !== null) throw new Error(`thanos ${name} ended with ${child.exitCode}`);
      return (await fetch(`http://127.0.0.1:${http}/-/ready`)).ok;
    });
    return { pid: child.pid!, http, grpc };
  };
  const pids: number[] = [];
  const stores: number[] = [];
  for (const node of nodes) {
    say(`starting the Prometheus and the sidecar of ${node}`);
    const config = `global: {scrape_interval: 1h, external_labels: {k8s_node_name: ${node}}}\n`;
    const prometheus = await startPeer({ config, oneCore: wrapper.length > 0, wrapper });
    atEnd(() => prometheus.stop());
    await remoteWriteColumns(prometheus.url, series, timeOf);
    const sidecar = await run('sidecar', [`--prometheus.url=${prometheus.url}`]);
    pids.push(prometheus.pid, sidecar.pid);
    stores.push(sidecar.grpc);
  }
  const proxies = await Promise.all(stores.map((port) => countingProxy(port)));
  atEnd(() => proxies.forEach(({ close }) => close()));
  const over = (ports: readonly number[]): string[] => ports.map((port) => `--endpoint=127.0.0.1:${port}`);
  const query = await run('query', over(stores));
  const counted = await run('query', over(proxies.map(({ port }) => port)));
  const clients = [query, counted].map(({ http }) => new ApiClient(http));
  for (const client of clients) {
    atEnd(() => client.close());
    await until('Thanos knows every store', async () => {
      const answer = await client.ask('/api/v1/query', { query: 'svc_agent_up', time: String(timeOf(0) / 1000) });
      return (JSON.parse(answer) as { data: { result: unknown[] } }).data.result.length === nodes.length;
    });
  }
  return {
    client: clients[0]!,
    counted: clients[1]!,
    pids: [...pids, query.pid],
    bytes: () => proxies.reduce((sum, proxy) => sum + proxy.bytes(), 0),
  };
}
