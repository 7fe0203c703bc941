import { once } from 'node:events';
import { signalGroup, spawnBound, toolEnvironment } from '../../e2e/cluster/processes.ts';
import { startPeer } from '../../e2e/prometheus/server.ts';
import { queryEnvironment } from '../run/as-rendered.ts';
import type { Stage } from '../run/bench.ts';

/** A server that is measured. */
export interface Side {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Functions that start a new process of our server, and of the peer's (Prometheus). */
export interface Sides {
  readonly ours: () => Promise<Side>;
  readonly peer: () => Promise<Side>;
}

export interface SidesOptions {
  /** The file of chunks that our server reads. */
  readonly file: string;
  /** The data folder of the peer. */
  readonly dataDir: string;
  readonly wrapper: readonly string[];
  readonly atEnd: Stage['atEnd'];
}

export function sides({ file, dataDir, wrapper, atEnd }: SidesOptions): Sides {
  return {
    async ours() {
      const server = new URL('./server.ts', import.meta.url).pathname;
      const child = spawnBound([...wrapper, process.execPath, server, file], {
        run: `bench-${process.pid}`,
        env: toolEnvironment({ ...queryEnvironment, UV_THREADPOOL_SIZE: '1' }),
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const gone = once(child, 'exit');
      const stop = async (): Promise<void> => void (signalGroup(child.pid!, 'SIGTERM') && (await gone));
      atEnd(stop);
      const [port] = (await once(child.stdout!, 'data')) as [Buffer];
      return { url: `http://127.0.0.1:${String(port).trim()}`, pid: child.pid!, stop };
    },
    async peer() {
      const peer = await startPeer({ dataDir, oneCore: true, wrapper });
      atEnd(() => peer.stop());
      return { url: peer.url, pid: peer.pid, stop: () => peer.stop() };
    },
  };
}
