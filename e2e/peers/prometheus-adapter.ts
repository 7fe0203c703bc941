import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority, issueLeaf } from '../cluster/pki.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { freePorts } from '../cluster/ports.ts';
import { exited, signalGroup, spawnBound, toolEnvironment } from '../cluster/processes.ts';
import { startPeer } from '../prometheus/server.ts';
import { findPeer } from './programs.ts';

/** A real prometheus-adapter on loopback, over a real Prometheus that scrapes a shop's queues. */
export interface PrometheusAdapter {
  readonly url: string;
  /** The CA of its certificate, PEM. */
  readonly ca: string;
  /** Ends the adapter; Prometheus stays. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** The shop's metrics of its queues. */
const exposition = `queue_depth{namespace="shop",pod="worker-1"} 4.2
queue_depth{namespace="shop",service="queue"} 4.2
queue_length{namespace="shop",queue="a"} 7
`;
const metricsQuery = 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)';
const rules = {
  rules: [
    {
      seriesQuery: '{__name__="queue_depth"}',
      resources: {
        overrides: { namespace: { resource: 'namespace' }, pod: { resource: 'pod' }, service: { resource: 'service' } },
      },
      metricsQuery,
    },
  ],
  externalRules: [
    {
      seriesQuery: '{__name__="queue_length"}',
      resources: { overrides: { namespace: { resource: 'namespace' } } },
      metricsQuery,
    },
  ],
};

/**
 * Starts the shop, Prometheus and the adapter. The cluster's API server reviews the adapter's callers, as in a normal
 * installation.
 */
export async function startPrometheusAdapter(cluster: Cluster): Promise<PrometheusAdapter> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-prometheus-adapter-'));
  const shop = createServer((_req, res) => res.setHeader('content-type', 'text/plain').end(exposition));
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  const target = `127.0.0.1:${(shop.address() as AddressInfo).port}`;
  const prometheus = await startPeer({
    config: `scrape_configs: [{job_name: shop, scrape_interval: 1s, static_configs: [{targets: ['${target}']}]}]\n`,
  });
  const authority = await createAuthority('adapter-ca');
  const leaf = await issueLeaf(authority, { commonName: 'adapter', names: ['localhost'] });
  const write = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const [port] = await freePorts(1);
  const kubeconfig = await cluster.kubeconfigFor('prometheus-adapter', ['system:masters']);
  const log = openSync(join(dir, 'adapter.log'), 'a');
  const child = spawnBound(
    [
      await findPeer('prometheus-adapter'),
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      `--tls-cert-file=${write('tls.crt', leaf.cert)}`,
      `--tls-private-key-file=${write('tls.key', leaf.key)}`,
      `--config=${write('config.yaml', JSON.stringify(rules))}`,
      `--prometheus-url=${prometheus.url}`,
      '--metrics-relist-interval=2s',
      '--metrics-max-age=1m',
      ...['lister', 'authentication', 'authorization'].map((who) => `--${who}-kubeconfig=${kubeconfig}`),
    ],
    { run: `peer-${process.pid}`, cwd: dir, env: toolEnvironment(), stdio: ['ignore', 'ignore', log] },
  );
  closeSync(log);
  const kill = async (): Promise<void> => {
    signalGroup(child.pid!, 'SIGKILL');
    await exited(child);
  };
  return {
    url: `https://localhost:${port}`,
    ca: authority.cert,
    kill,
    async close() {
      await kill();
      await prometheus.stop();
      await new Promise((resolve) => {
        shop.close(resolve);
        shop.closeAllConnections();
      });
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
