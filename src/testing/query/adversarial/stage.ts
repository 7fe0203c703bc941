import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCa, issueLeaf } from '../../../net/ca.ts';
import { freePort } from '../../free-port.ts';
import type { LoopReport } from '../../loop-watch.ts';
import { type AdversarialQuestion, newNumber } from '../../promql/adversarial.ts';
import { buildStreamedRead } from '../../../tsdb/index.ts';
import { askApi, type ApiAnswer } from '../api-client.ts';
import type { AgentStart, FromProcess, QueryStart, ToProcess } from './messages.ts';

/** The process of the query server or of an agent. */
export interface StageProcess {
  readonly ports: Readonly<Record<string, number>>;
  /** Measurements of its event loop since the last report. */
  report(): Promise<LoopReport>;
  /** CPU time that it used after a client went away, until it was idle. Units: ms. */
  afterClose(): Promise<number>;
  /**
   * CPU time that it used from `allowedMs` after the arrival of the next request until it was idle. Units: ms.
   */
  afterTime(allowedMs: number): Promise<number>;
}

/** A query server and complete agents, each in a process of its own, so that each event loop is measured by itself. */
export interface AdversarialStage {
  readonly query: StageProcess;
  readonly agents: readonly (StageProcess & { readonly address: string })[];
  readonly ca: string;
  /** The query server's identity, which agents trust. */
  readonly tls: QueryStart['tls'];
  /** The operator's identity, which may push configs to agents. */
  readonly controllerTls: QueryStart['tls'];
  ask(question: AdversarialQuestion, timeoutSeconds: number): Promise<ApiAnswer>;
  close(): Promise<void>;
}

export interface AdversarialStageOptions {
  readonly nodes?: number;
  /** Pods of each node, seven series each. */
  readonly pods?: number;
  /** Samples of each series. */
  readonly samples?: number;
  readonly flags?: Readonly<Record<string, string>>;
}

/** The memory limits of the containers of the query server and the agents. Bytes. */
export const containerBytes = { query: 2 * 1024 ** 3, agent: 1024 ** 3 } as const;

export async function startAdversarialStage(options: AdversarialStageOptions = {}): Promise<AdversarialStage> {
  const { nodes = 2, pods = 1_000, samples = 60, flags = {} } = options;
  const dir = mkdtempSync(join(tmpdir(), 'adversarial-'));
  const children: ChildProcess[] = [];
  try {
    const now = Date.now();
    const ca = await createCa({ commonName: 'svc-ca', now });
    const identity = async (commonName: string, ...names: string[]): Promise<QueryStart['tls']> => {
      const dnsNames = [commonName, `${commonName}.svc-system.svc`, 'localhost', ...names];
      const { cert, key } = await issueLeaf(ca, { commonName, dnsNames, ipAddresses: ['127.0.0.1'] }, { now });
      return { cert, key, ca: ca.cert };
    };
    const [tls, controllerTls] = await Promise.all([identity('svc-query'), identity('svc-controller')]);
    const port = await freePort();
    const agents = await Promise.all(
      Array.from({ length: nodes }, async (_, i) => {
        const home = join(dir, `node-${i + 1}`);
        const agentTls = await identity('svc-agent', `node-${i + 1}.svc-agent.svc-system.svc`);
        mkdirSync(join(home, 'tls'), { recursive: true });
        writeFileSync(join(home, 'tls/tls.crt'), agentTls.cert);
        writeFileSync(join(home, 'tls/tls.key'), agentTls.key);
        writeFileSync(join(home, 'tls/ca.crt'), ca.cert);
        const address = `127.0.0.${i + 1}`;
        const memory = containerBytes.agent / 2;
        const start: AgentStart = { node: `node-${i + 1}`, address, port, dir: home, pods, samples, memory };
        return {
          ...(await startProcess('agent-process.ts', start, { children, bytes: containerBytes.agent })),
          node: start.node,
          address,
        };
      }),
    );
    const start: QueryStart = {
      tls,
      agents: agents.map(({ node, address }) => ({ node, address })),
      agentPort: port,
      flags: { queryMemory: String(containerBytes.query / 2), ...flags },
    };
    const query = await startProcess('query-process.ts', start, { children, bytes: containerBytes.query });
    return {
      query,
      agents,
      ca: ca.cert,
      tls,
      controllerTls,
      ask: (question, timeoutSeconds) => ask({ port: query.ports['api']!, ca: ca.cert }, question, timeoutSeconds),
      close: () => close(children, dir),
    };
  } catch (error) {
    await close(children, dir);
    throw error;
  }
}

async function startProcess(
  file: string,
  input: unknown,
  { children, bytes }: { readonly children: ChildProcess[]; readonly bytes: number },
): Promise<StageProcess> {
  const path = join(import.meta.dirname, file);
  // The default of V8 in a container: half of its memory.
  const execArgv = [`--max-old-space-size=${bytes / 2 / 1024 ** 2}`];
  const child = fork(path, [JSON.stringify(input)], { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  children.push(child);
  const receive = (): Promise<FromProcess> =>
    new Promise((resolve) => {
      const ended = (code: number | null): void => {
        child.off('message', told);
        resolve({ failed: `${file} ended with ${String(code)}` });
      };
      const told = (message: unknown): void => {
        child.off('exit', ended);
        resolve(message as FromProcess);
      };
      child.once('message', told).once('exit', ended);
    });
  const usedAfter = async (message: ToProcess): Promise<number> => {
    child.send(message);
    const answer = await receive();
    if ('afterCloseMs' in answer) return answer.afterCloseMs;
    throw new Error('failed' in answer ? answer.failed : 'no report');
  };
  const first = await receive();
  if (!('ready' in first)) throw new Error('failed' in first ? first.failed : 'no answer');
  return {
    ports: first.ready,
    report: async () => {
      child.send('report' satisfies ToProcess);
      const answer = await receive();
      if ('report' in answer) return answer.report;
      throw new Error('failed' in answer ? answer.failed : 'no report');
    },
    afterClose: () => usedAfter('afterClose'),
    afterTime: (afterTimeMs) => usedAfter({ afterTimeMs }),
  };
}

async function close(children: readonly ChildProcess[], dir: string): Promise<void> {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      if (child.connected) child.send('stop' satisfies ToProcess);
      const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await ended;
      clearTimeout(late);
    }),
  );
  rmSync(dir, { recursive: true, force: true });
}

/** How many times any query was sent. */
let sent = 0;

/** Sends the query as a POST form if the path accepts one, because some queries are too long for a URL. */
function ask(
  server: { port: number; ca: string },
  { path = 'query', query, match, range, read }: AdversarialQuestion,
  timeoutSeconds: number,
): Promise<ApiAnswer> {
  const now = Math.floor(Date.now() / 1000);
  const params: Record<string, string | readonly string[]> = { timeout: `${timeoutSeconds * 1_000}ms` };
  if (query !== undefined) params['query'] = query.replaceAll(newNumber, String(++sent));
  if (match !== undefined) params['match[]'] = match;
  if (range !== undefined) {
    params['start'] = String(now - range.seconds);
    params['end'] = String(now);
    params['step'] = String(range.step);
  }
  if (read !== undefined) {
    const queries = read().map((matchers) => ({ startMs: 0, endMs: now * 1_000, matchers }));
    return askApi(server, '/api/v1/read', {}, buildStreamedRead(queries));
  }
  const target = path.startsWith('/') ? path : `/api/v1/${path}`;
  // These two paths accept only GET.
  const form = path !== 'label/pod/values' && path !== '/federate';
  return askApi(server, target, params, { form });
}
