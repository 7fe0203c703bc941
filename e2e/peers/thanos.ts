import { mkdtempSync, openSync, closeSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { until } from '../../src/testing/until.ts';
import { exited, signalGroup, spawnBound, toolEnvironment } from '../cluster/processes.ts';
import { freePorts } from '../cluster/ports.ts';
import type { LongTermPeer } from '../query/long-term-suite.ts';
import { findPeer } from './programs.ts';

/** One component of Thanos, a process that can be started again with further flags at the same addresses. */
interface Part {
  readonly grpc: string;
  readonly url: string;
  readonly writeUrl: string;
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
  start(...more: string[]): Promise<void>;
}

/** The Thanos that the tests read from: a querier and its receivers. */
export interface Thanos extends LongTermPeer {
  /** The URL of a second querier over the same receivers, which shows the series of each replica. */
  readonly rawUrl: string;
}

/**
 * Starts Thanos Query over three receivers, none of which it leaves out when it is down (`--endpoint-strict`): two
 * replicas of cluster `eu`, and one of cluster `us`. Every series has the external labels `cluster`, `replica` and
 * `tenant_id`, of which Query hides `replica`.
 */
export async function startThanos(): Promise<Thanos> {
  const program = await findPeer('thanos');
  const dir = mkdtempSync(join(tmpdir(), 'svc-thanos-'));
  const part = async (name: string, command: string, flags: readonly string[]): Promise<Part> => {
    const [grpc, http, write, other] = (await freePorts(4)) as [number, number, number, number];
    const url = `http://127.0.0.1:${http}`;
    const writing =
      command === 'receive'
        ? [`--remote-write.address=127.0.0.1:${write}`, `--receive.capnproto-address=127.0.0.1:${other}`]
        : [];
    const addresses = [`--grpc-address=127.0.0.1:${grpc}`, `--http-address=127.0.0.1:${http}`, ...writing];
    let child: ChildProcess | undefined;
    const signal = (which: NodeJS.Signals): void => void (child && signalGroup(child.pid!, which));
    const one: Part = {
      grpc: `127.0.0.1:${grpc}`,
      url,
      writeUrl: `http://127.0.0.1:${write}/api/v1/receive`,
      pause: () => signal('SIGSTOP'),
      resume: () => signal('SIGCONT'),
      async kill() {
        signal('SIGKILL');
        if (child) await exited(child);
      },
      async start(...more) {
        const log = openSync(join(dir, `${name}.log`), 'a');
        child = spawnBound([program, command, '--log.level=warn', ...addresses, ...flags, ...more], {
          run: `peer-${process.pid}`,
          cwd: dir,
          env: toolEnvironment(),
          stdio: ['ignore', log, log],
        });
        closeSync(log);
        const started = child;
        await until(
          `${name} is ready`,
          async () => {
            if (started.exitCode !== null)
              throw new Error(readFileSync(join(dir, `${name}.log`), 'utf8').slice(-2_000));
            // 503 means not ready; a server that requires credentials answers 401.
            return (await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(1_000) })).status < 500;
          },
          { timeoutMs: 60_000 },
        );
      },
    };
    return one;
  };
  const receiver = (cluster: string, replica: string): Promise<Part> =>
    part(`receive-${cluster}-${replica}`, 'receive', [
      `--tsdb.path=${join(dir, `${cluster}-${replica}`)}`,
      `--label=cluster="${cluster}"`,
      `--label=replica="${replica}"`,
      '--tsdb.out-of-order.time-window=3h',
    ]);
  const [first, second, foreign] = await Promise.all([receiver('eu', 'a'), receiver('eu', 'b'), receiver('us', 'a')]);
  const receivers = [first, second, foreign];
  await Promise.all(receivers.map((one) => one.start()));
  const stores = receivers.map(({ grpc }) => `--endpoint-strict=${grpc}`);
  const query = await part('query', 'query', [...stores, '--query.replica-label=replica']);
  const raw = await part('query-raw', 'query', stores);
  await Promise.all([query.start(), raw.start()]);
  // The hash of no known password: every request is refused.
  const web = join(dir, 'web.yml');
  writeFileSync(web, JSON.stringify({ basic_auth_users: { somebody: `$2y$04$${'a'.repeat(53)}` } }));

  let undo = async (): Promise<void> => {};
  return {
    url: query.url,
    rawUrl: raw.url,
    writeUrls: [first.writeUrl, second.writeUrl],
    foreignWriteUrl: foreign.writeUrl,
    async be(state) {
      const again = async (one: Part, ...more: string[]): Promise<void> => {
        await one.kill();
        await one.start(...more);
        undo = async () => {
          await one.kill();
          await one.start();
        };
      };
      if (state === 'well') await undo();
      if (state === 'guarded') await again(query, `--http.config=${web}`);
      if (state === 'limited') await again(first, '--store.limits.request-samples=100');
      if (state === 'gone' || state === 'partial') {
        const one = state === 'gone' ? query : second;
        await one.kill();
        undo = () => one.start();
      }
      if (state === 'frozen') {
        first.pause();
        undo = async () => first.resume();
      }
    },
    async close() {
      await Promise.all([...receivers, query, raw].map((one) => one.kill()));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
