import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { compileCacheDir } from '../../src/testing/cache-dir.ts';
import { ownImages } from '../node/container/images.ts';
import type { ImageTable } from '../node/container/images.ts';
import type { Backoff } from '../node/node-context.ts';
import { startProcessNode } from '../node/process-node.ts';
import type { ProcessNode } from '../node/process-node.ts';
import type { Api } from './api.ts';
import { findBinaries } from './binaries.ts';
import type { Binaries } from './binaries.ts';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane, ControlPlaneOptions, EtcdAccess } from './control-plane.ts';
import { createKubectl } from './kubectl.ts';
import type { Kubectl } from './kubectl.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { issueLeaf } from './pki.ts';
import { networkPrefix, openRun } from './run-registry.ts';
import type { Run } from './run-registry.ts';

export interface ClusterOptions extends Pick<
  ControlPlaneOptions,
  'fsync' | 'nodeMonitorGraceSeconds' | 'apiServerFlags' | 'controllerManagerFlags' | 'schedulerFlags'
> {
  /**
   * Nodes to start, named node-1, node-2 …, which run pods as processes of this machine. Default 0: the control plane
   * alone.
   */
  nodes?: number;
  /** An empty or new folder for everything, kept at the end. Default: a temporary one. */
  dir?: string;
  /** Keep the temporary folder, to look at logs. Default: whether SVC_CLUSTER_KEEP is set. */
  keep?: boolean;
  /** The programs to start. Default those of `findBinaries`. */
  binaries?: Binaries;
  /** Progress lines. Default: none, except while binaries are built. */
  log?: (line: string) => void;
  /** More images that the nodes can run, beside this project's own. */
  images?: ImageTable;
  /**
   * Restart back-off of containers. Default 1 s doubling to 20 s, forgotten after a run of 60 s; see `kubeletBackoff`.
   */
  backoff?: Partial<Backoff>;
}

/** A real control plane, with nodes that run pods as processes of this machine. */
export interface Cluster {
  /** Path of the kubeconfig of a cluster-admin. */
  readonly kubeconfig: string;
  /** `https://127.0.0.1:PORT`. */
  readonly server: string;
  /** Where logs (`kube-apiserver.log`, `nodes/NAME/node.log` …) and data are. */
  readonly dir: string;
  readonly binaries: Binaries;
  readonly kubectl: Kubectl;
  /** Plain JSON requests as cluster-admin. */
  readonly api: Api;
  readonly nodes: readonly ProcessNode[];
  readonly apiServer: {
    readonly pid: number | undefined;
    /** kill -9. Its port and data stay. */
    kill9(): Promise<void>;
    /** Starts it again on the same port and data and waits until it is ready. */
    restart(): Promise<void>;
  };
  readonly controllerManager: {
    /** kill -9, and a new start: the new process knows every kind that the API server serves by then. */
    restart(): Promise<void>;
  };
  /** Direct access to etcd, for tests of what the API server stores. */
  readonly etcd: EtcdAccess;
  addNode(options?: { name?: string; labels?: Record<string, string> }): Promise<ProcessNode>;
  /** Writes a kubeconfig for any user and groups, and returns its path. */
  kubeconfigFor(user: string, groups?: readonly string[]): Promise<string>;
  /** Stops everything and releases addresses and files. A second call does nothing. */
  stop(): Promise<void>;
}

/**
 * Starts etcd, API server, controller manager, scheduler and the nodes asked for; resolves when all nodes are
 * Ready and pods can be created.
 *
 * Guarantees: nothing outlives `stop()`; when the calling process ends any other way, kill -9 included, its children
 * die with it, and a reaper, or at the latest the next `startCluster()`, releases its addresses and files.
 * Caveats: the first run on a machine builds the binaries (about ten minutes; progress goes to `log` or stderr).
 * No signal handlers are installed: an entry point that wants an orderly end at Ctrl-C calls `stop()` itself.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const started = Date.now();
  const log = (line: string): void => options.log?.(`${((Date.now() - started) / 1000).toFixed(1)} s  ${line}`);
  const binaries = options.binaries ?? (await findBinaries(options.log ? { log: options.log } : {}));
  const run = await openRun({
    ...(options.dir === undefined ? {} : { dir: options.dir }),
    ...((options.keep ?? process.env['SVC_CLUSTER_KEEP'] !== undefined) ? { keep: true } : {}),
  });
  try {
    log(`starting Kubernetes ${binaries.version} in ${run.dir}`);
    const serviceCidr = run.realAddresses ? `198.19.${run.claimNetwork()}.0/24` : '10.96.0.0/16';
    const plane = await startControlPlane({ ...options, run: run.id, dir: run.dir, binaries, serviceCidr });
    log(`API server ready at ${plane.server}`);
    return await assemble(options, run, plane, binaries, log);
  } catch (error) {
    await run.close();
    throw error;
  }
}

async function assemble(
  options: ClusterOptions,
  run: Run,
  plane: ControlPlane,
  binaries: Binaries,
  log: (line: string) => void,
): Promise<Cluster> {
  const nodes: ProcessNode[] = [];
  let numbered = 0;
  let stopping: Promise<void> | undefined;
  const addNode: Cluster['addNode'] = async (node = {}) => {
    const name = node.name ?? `node-${++numbered}`;
    const created = await startNode({ ...options, binaries }, run, plane, name, node.labels ?? {});
    nodes.push(created);
    await waitForReadyNode(plane.api, name);
    log(`node ${name} (${created.ip}) Ready`);
    return created;
  };
  const cluster: Cluster = {
    kubeconfig: plane.adminKubeconfig,
    server: plane.server,
    dir: run.dir,
    binaries,
    kubectl: createKubectl(binaries.kubectl, plane.adminKubeconfig, run.dir),
    api: plane.api,
    nodes,
    apiServer: {
      get pid() {
        return plane.apiServer.pid;
      },
      kill9: () => plane.apiServer.kill(),
      async restart() {
        plane.apiServer.start();
        await plane.waitReady();
      },
    },
    controllerManager: {
      async restart() {
        await plane.controllerManager.kill();
        plane.controllerManager.start();
      },
    },
    etcd: plane.etcdAccess,
    addNode,
    async kubeconfigFor(user, groups = []) {
      const path = join(run.dir, `user-${user.replaceAll(/[^\w.-]/g, '_')}.kubeconfig`);
      writeKubeconfig(path, { server: plane.server, ca: plane.ca.cert, user: await plane.credentials(user, groups) });
      return path;
    },
    stop: () =>
      (stopping ??= (async () => {
        await Promise.all(nodes.map((node) => node.stop()));
        await plane.stop();
        await run.close();
      })()),
  };
  const wanted = Array.from({ length: options.nodes ?? 0 }, () => `node-${++numbered}`);
  await Promise.all([waitForServiceAccounts(plane), ...wanted.map((name) => addNode({ name }))]);
  nodes.sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  return cluster;
}

async function startNode(
  options: ClusterOptions & { binaries: Binaries },
  run: Run,
  plane: ControlPlane,
  name: string,
  labels: Record<string, string>,
): Promise<ProcessNode> {
  const prefixes = networkPrefix(run.claimNetwork(), run.realAddresses);
  mkdirSync(compileCacheDir, { recursive: true });
  return startProcessNode({
    run: `${run.id}/${name}`,
    name,
    dir: join(run.dir, 'nodes', name),
    prefixes,
    kubeletPort: 10250,
    server: plane.server,
    ca: plane.ca.cert,
    client: await plane.credentials(`system:node:${name}`, ['system:nodes']),
    serving: await issueLeaf(plane.ca, { commonName: `system:node:${name}`, names: [name, `${prefixes.pods}.1`] }),
    version: options.binaries.version,
    images: { ...ownImages(), ...options.images },
    labels,
    backoff: { initialMs: 1000, maxMs: 20_000, resetMs: 60_000, ...options.backoff },
    logCapBytes: 10 * 1024 * 1024,
    heartbeatMs: 1500,
    compileCacheDir,
  });
}

/** Waits for the default service account: before it exists, the API server refuses every pod of the namespace. */
async function waitForServiceAccounts(plane: ControlPlane): Promise<void> {
  for (let i = 0; i < 600; i++) {
    const dead = [plane.controllerManager, plane.scheduler].find((c) => !c.running);
    if (dead) throw new Error(`${dead.name} ended:\n${dead.logTail()}`);
    const path = '/api/v1/namespaces/default/serviceaccounts';
    const accounts = await plane.api.request<{ items: unknown[] }>('GET', path);
    if (accounts.items.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`there is no default service account after 60 s:\n${plane.controllerManager.logTail()}`);
}

interface NodeObject {
  status?: { conditions?: { type: string; status: string }[] };
}

async function waitForReadyNode(api: Api, name: string): Promise<void> {
  for (let i = 0; i < 300; i++) {
    const node = await api.request<NodeObject>('GET', `/api/v1/nodes/${name}`);
    if (node.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True')) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`node ${name} is not Ready after 30 s`);
}
