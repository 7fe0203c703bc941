import { mkdirSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, createApi } from '../cluster/api.ts';
import type { KeyPair } from '../cluster/pki.ts';
import { createAddressPool } from './address-pool.ts';
import { createEventRecorder } from './events.ts';
import type { ImageTable } from './container/images.ts';
import { startLogServer } from './log-server.ts';
import type { Backoff, NodeContext } from './node-context.ts';
import { registerNode, renewLease, writeNodeStatus } from './node-object.ts';
import { createObjectCache } from './object-cache.ts';
import { PodWorker } from './pod-worker.ts';
import { keyOf } from './types.ts';
import type { Pod } from './types.ts';
import { watch } from './watch.ts';

/** The configuration of a node whose containers are plain processes of this machine. */
export interface NodeConfig {
  /** The marker of every process that the node starts: `RUN/NAME`. */
  run: string;
  name: string;
  /** The node's folder: `pods/` has the pods of this process and of earlier ones, `host/` is the node's disk. */
  dir: string;
  prefixes: { pods: string; loopback: string };
  kubeletPort: number;
  server: string;
  ca: string;
  /** The certificate of system:node:NAME. */
  client: KeyPair;
  serving: KeyPair;
  version: string;
  images: ImageTable;
  labels: Record<string, string>;
  backoff: Backoff;
  logCapBytes: number;
  heartbeatMs: number;
  /** The folder in which Node.js programs in containers cache compiled code. */
  compileCacheDir: string;
}

/** A node at work. */
export interface RunningNode {
  /** Sends a signal to one container's process. Errors: when there is no such container running. */
  killContainer(pod: string, container: string, signal: NodeJS.Signals): void;
  /** Ends every container (SIGTERM, then SIGKILL after `graceMs`); leaves the API objects. */
  stop(graceMs: number): Promise<void>;
}

/** Folders that pods like to mount and that every Linux machine has. */
const hostFolders = [
  'etc',
  'proc',
  'run',
  'sys/fs/bpf',
  'sys/fs/cgroup',
  'sys/kernel/tracing',
  'sys/kernel/debug',
  'tmp',
  'var/lib',
  'var/log',
  'var/run',
];

/** Registers the node, keeps its heartbeat, and runs the pods bound to it. */
export async function runNode(config: NodeConfig, log: (line: string) => void): Promise<RunningNode> {
  const podsDir = join(config.dir, 'pods');
  const hostDir = join(config.dir, 'host');
  mkdirSync(podsDir, { recursive: true });
  for (const folder of hostFolders) mkdirSync(join(hostDir, folder), { recursive: true });
  const api = createApi({ server: config.server, ca: config.ca, cert: config.client.cert, key: config.client.key });
  const stopping = new AbortController();
  const workers = new Map<string, PodWorker>();
  const objects = createObjectCache(api, (uid) => workers.get(uid)?.poke());
  const addresses = createAddressPool(config.prefixes);
  const recorder = createEventRecorder(api, config.name);
  const context: NodeContext = {
    run: config.run,
    nodeName: config.name,
    nodeIP: addresses.nodeIP,
    podsDir,
    hostDir,
    api,
    images: config.images,
    objects,
    addresses,
    backoff: config.backoff,
    logCapBytes: config.logCapBytes,
    compileCacheDir: config.compileCacheDir,
    log: (what, error) =>
      log(error === undefined ? what : `${what}: ${error instanceof Error ? error.message : String(error)}`),
    event: recorder,
    deletePod: (pod) => deletePod(api, pod, stopping.signal),
    forget: (uid) => {
      objects.release(uid);
      workers.delete(uid);
    },
  };
  const findPod = (namespace: string, name: string): PodWorker | undefined =>
    [...workers.values()].find((w) => keyOf(w.pod) === `${namespace}/${name}`);
  const { server: logServer, port } = await startLogServer({
    address: addresses.nodeIP,
    port: config.kubeletPort,
    serving: config.serving,
    clientCa: config.ca,
    findPod,
  });
  const self = {
    name: config.name,
    ip: addresses.nodeIP,
    kubeletPort: port,
    version: config.version,
    labels: config.labels,
  };
  await registerNode(api, self);
  const heartbeat = beat(
    async (round) => {
      await renewLease(api, config.name);
      // The lease is the heartbeat. The status is written again in every fifth round, and soon after a restart.
      if (round % 5 === 1) await writeNodeStatus(api, self);
    },
    config.heartbeatMs,
    stopping.signal,
    (error) => context.log('heartbeat', error),
  );

  const upsert = (pod: Pod): void => {
    const known = workers.get(pod.metadata.uid);
    if (known) return known.update(pod);
    const worker = new PodWorker(context, pod);
    workers.set(pod.metadata.uid, worker);
    worker.poke();
  };
  const handler = {
    replace(pods: Pod[]) {
      const listed = new Set(pods.map((p) => p.metadata.uid));
      for (const [uid, worker] of workers) if (!listed.has(uid)) worker.remove();
      for (const name of readdirSync(podsDir)) {
        if (!listed.has(name) && !workers.has(name)) void rm(join(podsDir, name), { recursive: true, force: true });
      }
      pods.forEach(upsert);
    },
    upsert,
    remove: (pod: Pod) => workers.get(pod.metadata.uid)?.remove(),
    failed: (error: unknown) => context.log('watching pods', error),
  };
  const watching = watch<Pod>(
    api,
    '/api/v1/pods',
    { fieldSelector: `spec.nodeName=${config.name}` },
    handler,
    stopping.signal,
  );
  return {
    killContainer(pod, container, signal) {
      const [namespace = '', name = ''] = pod.split('/');
      const found = findPod(namespace, name)?.process(container);
      if (!found) throw new Error(`no container "${container}" of pod ${pod} runs on ${config.name}`);
      found.signal(signal);
    },
    async stop(graceMs) {
      stopping.abort();
      objects.close();
      logServer.close();
      logServer.closeAllConnections();
      await Promise.all([...workers.values()].map((w) => w.halt(graceMs)));
      await Promise.all([heartbeat, watching]);
      api.close();
    },
  };
}

async function deletePod(api: ReturnType<typeof createApi>, pod: Pod, signal: AbortSignal): Promise<void> {
  const { namespace, name, uid } = pod.metadata;
  while (!signal.aborted) {
    try {
      await api.request('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, {
        gracePeriodSeconds: 0,
        preconditions: { uid },
      });
      return;
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return;
      await delay(500);
    }
  }
}

async function beat(
  round: (n: number) => Promise<void>,
  everyMs: number,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    await round(n).catch(failed);
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
  }
}
