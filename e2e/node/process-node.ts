import type { ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeEnvironment } from '../cluster/own-programs.ts';
import { exited, killRun, signalGroup, spawnBound } from '../cluster/processes.ts';
import type { NodeConfig } from './node-process.ts';

export type NodeRequest =
  { id: string; op: 'kill'; pod: string; container: string; signal: NodeJS.Signals } | { id: string; op: 'stop' };

/** `id` is that of the answered request; it is `started` in the node's first message. */
export interface NodeReply {
  id: string;
  error?: string;
}

/** A node of the cluster, as a test controls it. */
export interface ProcessNode {
  readonly name: string;
  readonly ip: string;
  /** The root of the node's own disk: `hostPath` volumes lie under it. */
  readonly hostDir: string;
  readonly running: boolean;
  /** As if the machine lost power: kill -9 of everything on it, no heartbeat, no last status. */
  kill(): Promise<void>;
  /** Power returns: same name, address and disk; its pods are started again. Does nothing while the node runs. */
  revive(): Promise<void>;
  /** Sends a signal (default SIGKILL) to one container's process; `pod` is `namespace/name`. */
  killContainer(pod: string, container: string, signal?: NodeJS.Signals): Promise<void>;
  /** Ends its containers: SIGTERM, and SIGKILL after a second. The Node object stays. */
  stop(): Promise<void>;
}

/** Starts a node process and resolves when the Node is registered (its Ready condition follows within moments). */
export async function startProcessNode(config: NodeConfig): Promise<ProcessNode> {
  mkdirSync(config.dir, { recursive: true });
  const configPath = join(config.dir, 'config.json');
  writeFileSync(configPath, JSON.stringify(config), { mode: 0o600 });
  let child: ChildProcess | undefined;
  let requests = 0;
  const pending = new Map<string, (reply: NodeReply) => void>();
  const running = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;

  const start = async (): Promise<void> => {
    const output = openSync(join(config.dir, 'node.log'), 'a');
    const started = spawnBound(
      [
        process.execPath,
        '--disable-warning=ExperimentalWarning',
        fileURLToPath(new URL('./main.ts', import.meta.url)),
        configPath,
      ],
      { run: config.run, env: nodeEnvironment(), stdio: ['ignore', output, output, 'ipc'] },
    );
    closeSync(output);
    child = started;
    const ready = Promise.withResolvers<void>();
    started.on('message', (reply: NodeReply) => {
      if (reply.id === 'started') return ready.resolve();
      pending.get(reply.id)?.(reply);
      pending.delete(reply.id);
    });
    started.once('error', (error) => ready.reject(error));
    started.once('exit', () => {
      ready.reject(new Error(`process node ${config.name} ended:\n${tail(join(config.dir, 'node.log'))}`));
      for (const answer of pending.values()) answer({ id: '', error: `node ${config.name} is down` });
      pending.clear();
    });
    await ready.promise;
  };

  const ask = (request: NodeRequest): Promise<void> => {
    if (!running()) return Promise.reject(new Error(`node ${config.name} is down`));
    return new Promise((resolve, reject) => {
      pending.set(request.id, (reply) => (reply.error === undefined ? resolve() : reject(new Error(reply.error))));
      child?.send(request);
    });
  };

  await start();
  return {
    name: config.name,
    ip: `${config.prefixes.pods}.1`,
    hostDir: join(config.dir, 'host'),
    get running() {
      return running();
    },
    async kill() {
      if (child?.pid !== undefined && running()) {
        signalGroup(child.pid, 'SIGKILL');
        await exited(child);
      }
      // Children that the kernel has not killed with their parent are found by their marker.
      await killRun(config.run);
    },
    async revive() {
      if (!running()) await start();
    },
    killContainer: (pod, container, signal = 'SIGKILL') =>
      ask({ id: String(++requests), op: 'kill', pod, container, signal }),
    async stop() {
      if (!child || !running()) return;
      child.send({ id: String(++requests), op: 'stop' } satisfies NodeRequest);
      await exited(child);
    },
  };
}

function tail(path: string): string {
  try {
    return readFileSync(path, 'utf8').slice(-2000);
  } catch {
    return '(no log)';
  }
}
