import { Readable } from 'node:stream';
import { systemClock, type Clock } from '../../base/clock.ts';
import type { Host } from '../../bin/kubectl-svc/host.ts';
import type { QueryRequest, QueryResponse, QueryServer } from '../../bin/kubectl-svc/connect/query-server.ts';
import { readAll } from '../../bin/kubectl-svc/process-host.ts';
import { runPlugin } from '../../bin/kubectl-svc/program.ts';
import type { RestClient } from '../../kube/index.ts';

/** The result of a run of `kubectl svc`. */
export interface PluginResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface PluginRunOptions {
  /** Answers in place of svc-query; `connection` is the number of the connection, from 1. */
  answer?: (request: QueryRequest, connection: number) => Partial<QueryResponse> | object | Promise<object>;
  /** Answers requests for a stream in place of svc-query. */
  stream?: QueryServer['stream'];
  kube?: () => RestClient;
  stdin?: string;
  /** Columns of the terminal. Default: stdout and stderr are not terminals. */
  terminal?: number;
  env?: Record<string, string>;
  clock?: Clock;
  signal?: AbortSignal;
  /** Called with each text as it is written to stdout. */
  onStdout?: (text: string) => void;
  /** Resolves when the reader of stdout has taken what was written. Default: at once. */
  drained?: () => Promise<void>;
}

/**
 * Runs `kubectl svc ARGS` in this process, with `answer` as the query server. An answer without `text` is merged into
 * the JSON of a successful query.
 */
export async function runPluginHere(args: readonly string[], options: PluginRunOptions = {}): Promise<PluginResult> {
  const result = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr'): Host['stdout'] => ({
    write: (text) => {
      result[name] += text;
      if (name === 'stdout') options.onStdout?.(text);
    },
    drained: async () => {
      if (name === 'stdout') await options.drained?.();
    },
    isTerminal: options.terminal !== undefined,
    columns: options.terminal ?? 80,
    rows: 24,
  });
  const { answer, stream, kube, signal = new AbortController().signal } = options;
  let connections = 0;
  const host: Host = {
    stdout: output('stdout'),
    stderr: output('stderr'),
    readStdin: (...args) => readAll(Readable.from([Buffer.from(options.stdin ?? '')]), signal, ...args),
    env: options.env ?? {},
    clock: options.clock ?? systemClock,
    signal,
    ...(kube ? { kube } : {}),
    ...(answer || stream ? { connect: async () => playedServer(answer, stream, ++connections) } : {}),
  };
  return { code: await runPlugin(args, host), ...result };
}

function playedServer(
  answer: PluginRunOptions['answer'],
  stream: QueryServer['stream'] | undefined,
  connection: number,
): QueryServer {
  return {
    target: 'https://query.test',
    async request(request) {
      if (!answer) throw new Error('this server plays streams only');
      const played = await answer(request, connection);
      if ('text' in played) return { status: 200, headers: {}, ...(played as Partial<QueryResponse>) } as QueryResponse;
      const body = { status: 'success', degraded: false, missingNodes: [], ...played };
      return { status: 200, headers: {}, text: JSON.stringify(body) };
    },
    stream: stream ?? (() => Promise.reject(new Error('this server plays no streams'))),
    close: () => {},
  };
}
