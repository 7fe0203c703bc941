import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Condition } from '../../src/api/meta.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { exited, signalGroup, spawnBound, toolEnvironment } from '../cluster/processes.ts';
import { freePorts } from '../cluster/ports.ts';
import { findPeer } from './programs.ts';

/** Flux's kustomize-controller over an artifact server of ours, which stands in for the source-controller. */
export interface Flux {
  /** Makes these objects the newest revision of the source, and waits until the Kustomization has finished with it. */
  push(objects: readonly object[]): Promise<Condition>;
  /** Requests another reconcile of the Kustomization, without a change in Git. */
  reconcile(): Promise<Condition>;
  stop(): Promise<void>;
}

const namespace = 'flux-system';
const source = { kind: 'GitRepository', name: 'config' };
const kustomizations = `/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/${namespace}/kustomizations`;

/** The kinds that Flux watches, without schemas: only Flux and this file write them. */
const definitions = [
  ['kustomize.toolkit.fluxcd.io', 'Kustomization', 'kustomizations'],
  ['source.toolkit.fluxcd.io', 'GitRepository', 'gitrepositories'],
  ['source.toolkit.fluxcd.io', 'OCIRepository', 'ocirepositories'],
  ['source.toolkit.fluxcd.io', 'Bucket', 'buckets'],
].map(([group, kind, plural]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind, plural, singular: kind!.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}));

/** Starts Flux with a Kustomization that prunes, and that waits `timeout` at most until its objects are healthy. */
export async function startFlux(cluster: Cluster, timeout: string): Promise<Flux> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-flux-'));
  const artifacts = createServer((req, res) => {
    try {
      res.end(readFileSync(join(dir, 'artifacts', req.url!.replaceAll(/[^\w.]/g, ''))));
    } catch {
      res.writeHead(404).end();
    }
  });
  mkdirSync(join(dir, 'artifacts'));
  await new Promise<void>((resolve) => artifacts.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(artifacts.address() as AddressInfo).port}`;
  const apply = (...objects: object[]): Promise<string> =>
    cluster.kubectl(['apply', '-f', '-'], { stdin: objects.map((object) => JSON.stringify(object)).join('\n') });
  await apply(...definitions, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const names = definitions.map(({ metadata }) => `crd/${metadata.name}`);
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...names]);
  await apply(
    { apiVersion: 'source.toolkit.fluxcd.io/v1', ...source, metadata: { name: source.name, namespace }, spec: {} },
    {
      apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
      kind: 'Kustomization',
      metadata: { name: 'product', namespace },
      spec: { interval: '1h', retryInterval: '1h', timeout, path: './', prune: true, wait: true, sourceRef: source },
    },
  );
  const [metrics, health] = await freePorts(2);
  const log = openSync(join(dir, 'controller.log'), 'a');
  const child = spawnBound(
    [
      await findPeer('kustomize-controller'),
      `--metrics-addr=127.0.0.1:${metrics}`,
      `--health-addr=127.0.0.1:${health}`,
      '--watch-all-namespaces',
      '--no-remote-bases',
    ],
    {
      run: `peer-${process.pid}`,
      cwd: dir,
      env: toolEnvironment({ KUBECONFIG: cluster.kubeconfig, RUNTIME_NAMESPACE: namespace }),
      stdio: ['ignore', log, log],
    },
  );
  closeSync(log);
  let revision = 0;
  let requested = 0;
  interface Kustomization {
    metadata: { generation: number };
    status?: { lastAttemptedRevision?: string; lastHandledReconcileAt?: string; conditions?: Condition[] };
  }
  /** The Kustomization's Ready condition, once it has finished the last requested reconcile. */
  const ended = async (): Promise<Condition> => {
    const end = performance.now() + 120_000;
    for (;;) {
      const { status = {} } = await cluster.api.request<Kustomization>('GET', `${kustomizations}/product`);
      const ready = status.conditions?.find(({ type }) => type === 'Ready');
      const handled = requested === 0 || status.lastHandledReconcileAt === String(requested);
      if (handled && status.lastAttemptedRevision === revisionName() && ready && ready.status !== 'Unknown')
        return ready;
      if (performance.now() > end) {
        const words = readFileSync(join(dir, 'controller.log'), 'utf8').slice(-2_000);
        throw new Error(`the Kustomization did not come to an end: ${JSON.stringify(status)}\n${words}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  const revisionName = (): string => `main@sha1:${revision}`;
  const flux: Flux = {
    async push(objects) {
      const folder = join(dir, `revision-${++revision}`);
      mkdirSync(folder);
      for (const [i, object] of objects.entries()) writeFileSync(join(folder, `${i}.yaml`), JSON.stringify(object));
      const file = join(dir, 'artifacts', `${revision}.tar.gz`);
      await promisify(execFile)('tar', ['-czf', file, '-C', folder, '.']);
      const bytes = readFileSync(file);
      const artifact = {
        url: `${url}/${revision}.tar.gz`,
        path: `${revision}.tar.gz`,
        revision: revisionName(),
        digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
        size: bytes.length,
        lastUpdateTime: new Date().toISOString(),
      };
      const patch = ['patch', 'gitrepositories.source.toolkit.fluxcd.io', source.name, '--subresource=status'];
      const change = JSON.stringify({ status: { artifact } });
      await cluster.kubectl(['-n', namespace, ...patch, '--type=merge', '-p', change]);
      return flux.reconcile();
    },
    async reconcile() {
      const annotation = `reconcile.fluxcd.io/requestedAt=${++requested}`;
      const target = ['annotate', 'kustomizations.kustomize.toolkit.fluxcd.io', 'product'];
      await cluster.kubectl(['-n', namespace, ...target, '--overwrite', annotation]);
      return ended();
    },
    async stop() {
      signalGroup(child.pid!, 'SIGKILL');
      await exited(child);
      await new Promise((resolve) => artifacts.close(resolve));
      rmSync(dir, { recursive: true, force: true });
    },
  };
  return flux;
}
