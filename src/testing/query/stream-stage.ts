import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { request } from 'node:https';
import { routed } from '../../agent/servers/routes.ts';
import { streamRoutes } from '../../agent/servers/stream-server.ts';
import { createStreamGrpc } from '../../agent/servers/stream-grpc.ts';
import { StreamRing } from '../../agent/spans/stream-ring.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { readSettings } from '../../base/settings.ts';
import { createTlsServer } from '../../net/https-server.ts';
import type { KeyPairPem } from '../../net/ca.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { fixedTls, type TlsSource } from '../../net/tls-material.ts';
import { querySettingTable, startQueryServer } from '../../query/index.ts';
import type { ExpectedAgent, QueryServer, QueryServerOptions } from '../../query/index.ts';
import { agentTls, loopbackTls, stageCa } from '../agent-tls.ts';
import { type FlowRecord, rfc3339Nano, type SpanRecord, type StreamMessage } from '../../stream/index.ts';

/** An agent's real stream server over a ring of spans and flows that tests fill, on an address of its own. */
export class StreamAgent {
  readonly node: string;
  readonly address: string;
  ring = new StreamRing({ maxBytes: 1e7, maxAgeMs: 1e12 });
  /** Handles every HTTP request instead of the stream server, when set. */
  misbehave: ((req: IncomingMessage, res: ServerResponse) => void) | undefined;
  /** Current number of readers. */
  clients = 0;
  /** Number of HTTP requests so far; calls by gRPC are not counted. */
  requests = 0;
  port = 0;
  readonly #tls: TlsSource;
  #close: (graceful: boolean) => Promise<void> = () => Promise.resolve();

  constructor(node: string, address: string, tls: TlsSource) {
    this.node = node;
    this.address = address;
    this.#tls = tls;
  }

  async start(port: number): Promise<void> {
    const ended = new AbortController();
    const options = {
      ...{ node: this.node, podLabels: () => undefined, ring: this.ring, clock: systemClock, logger: silentLogger },
      ...{ onClients: (change: number) => (this.clients += change), onLost: () => {}, signal: ended.signal },
    };
    const serve = routed(streamRoutes(options));
    const handler: RequestListener = (req, res) => {
      this.requests++;
      (this.misbehave ?? serve)(req, res);
    };
    const grpc = createStreamGrpc(options);
    const server = createTlsServer(this.#tls, handler, { clientNames: ['svc-query'], http2: grpc.accept });
    this.port = await listen('span-stream', server, { host: this.address, port });
    this.#close = async (graceful) => {
      if (graceful) ended.abort();
      else server.closeAllConnections();
      await grpc.close(0);
      await closeServer(server, graceful ? 500 : 0);
      ended.abort();
    };
  }

  /**
   * `ends` stops the server as a SIGTERM does; `dies` as a SIGKILL does: connections break in the middle of whatever
   * they carry.
   */
  stop(how: 'ends' | 'dies' = 'ends'): Promise<void> {
    return this.#close(how === 'ends');
  }

  /** Starts again on the same port with an empty ring, as a new process does. */
  async restart(): Promise<void> {
    this.ring = new StreamRing({ maxBytes: 1e7, maxAgeMs: 1e12 });
    await this.start(this.port);
  }

  push(span: Partial<SpanRecord>, atMs: number): void {
    const start = rfc3339Nano(BigInt(atMs) * 1_000_000n);
    const whole: SpanRecord = {
      ...{ traceId: 't', spanId: 's', name: 'GET /', kind: 'server', start },
      ...{ durationNs: 1e6, status: 'unset', attributes: {} },
      ...span,
    };
    this.ring.push({ timeMs: atMs, bytes: 500, span: whole }, Date.now());
  }

  pushFlow(flow: Pick<FlowRecord, 'source' | 'destination'> & Partial<FlowRecord>, atMs: number): void {
    const end = rfc3339Nano(BigInt(atMs) * 1_000_000n);
    const whole: FlowRecord = { end, direction: 'request', bytes: 10, attributes: {}, ...flow };
    this.ring.push({ timeMs: atMs, bytes: 500, flow: whole }, Date.now());
  }
}

export interface StreamStage {
  readonly agents: readonly StreamAgent[];
  readonly server: QueryServer;
  readonly ca: KeyPairPem;
  /** The agents that the query server expects; a test may replace the list. */
  expected: readonly ExpectedAgent[];
  /** Whether that list is complete. */
  synced: boolean;
  /** Reads an answer to its end. */
  read(path: string, options?: ReadOptions): Promise<StreamAnswer>;
  /** Opens an answer that need not end. Its messages are added to the follower as they arrive. */
  follow(path: string, options?: ReadOptions): Promise<Follower>;
  close(): Promise<void>;
}

export interface ReadOptions {
  readonly token?: string;
  readonly body?: string;
  /** Default: GET, or POST with a body. */
  readonly method?: string;
}

export interface StreamAnswer {
  readonly status: number;
  readonly text: string;
  readonly messages: readonly StreamMessage[];
}

/** A reader of an answer that need not end. */
export interface Follower {
  readonly status: number;
  readonly messages: readonly StreamMessage[];
  readonly ended: boolean;
  pause(): void;
  resume(): void;
  /** Reads one chunk of the answer, and pauses again. */
  readPiece(): void;
  close(): void;
}

/** Starts agents on 127.0.0.1, 127.0.0.2, … and a query server that reads from them over real mutual TLS. */
export async function startStreamStage(
  nodes: readonly string[],
  options: {
    readonly flags?: Readonly<Record<string, string>>;
    readonly reviews?: QueryServerOptions['reviews'];
    readonly tenants?: QueryServerOptions['tenants'];
    readonly pageDir?: string;
  } = {},
): Promise<StreamStage> {
  const ca = await stageCa();
  const agents = await Promise.all(
    nodes.map(async (node, i) => new StreamAgent(node, `127.0.0.${i + 1}`, fixedTls(await agentTls(ca, node)))),
  );
  for (const agent of agents) await agent.start(agents[0]!.port);
  const stage = {
    expected: agents.map(({ node, address }) => ({ node, address, absence: undefined, nodeReady: true })),
    synced: true,
  } as { expected: readonly ExpectedAgent[]; synced: boolean };
  const base = { namespace: 'svc-system', bindAddress: '127.0.0.1', port: '0', healthPort: '0' };
  const flags = { ...base, agentStreamPort: String(agents[0]!.port), ...options.flags };
  const server = await startQueryServer({
    settings: readSettings(querySettingTable, { flags, env: {}, prefix: 'SVC_' }),
    ...{
      clock: systemClock,
      logger: silentLogger,
      version: '0.0.0',
      tls: fixedTls(await loopbackTls(ca, 'svc-query')),
    },
    directory: {
      agents: () => stage.expected,
      get synced() {
        return stage.synced;
      },
    },
    reviews: options.reviews ?? { reviewToken: async () => undefined, mayAccessPath: async () => false },
    ...(options.tenants ? { tenants: options.tenants } : {}),
    ...(options.pageDir ? { pageDir: options.pageDir } : {}),
  });
  const open = (path: string, more: ReadOptions = {}): Promise<OpenStream> =>
    openStream({ port: server.port, ca: ca.cert, path, ...more });
  return Object.assign(stage, {
    ...{ agents, server, ca },
    follow: open,
    read: async (path: string, more?: ReadOptions) => {
      const reader = await open(path, more);
      await reader.whole;
      return { status: reader.status, text: reader.text(), messages: reader.messages };
    },
    close: async () => {
      await server.close();
      await Promise.all(agents.map((agent) => agent.stop('dies')));
    },
  });
}

interface OpenStream extends Follower {
  readonly text: () => string;
  /** Resolves when the answer has ended. */
  readonly whole: Promise<void>;
}

function openStream(
  target: ReadOptions & { readonly port: number; readonly ca: string; readonly path: string },
): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const headers = target.token === undefined ? {} : { authorization: `Bearer ${target.token}` };
    const req = request(
      {
        ...{ host: '127.0.0.1', servername: 'localhost', port: target.port, ca: target.ca, agent: false },
        ...{ path: target.path, method: target.method ?? (target.body === undefined ? 'GET' : 'POST'), headers },
      },
      (res) => {
        const messages: StreamMessage[] = [];
        let text = '';
        let rest = '';
        let ended = false;
        const lines = (res.headers['content-type'] ?? '').includes('ndjson');
        res.setEncoding('utf8').on('data', (part: string) => {
          if (!lines) return void (text += part);
          const parts = (rest + part).split('\n');
          rest = parts.pop()!;
          for (const line of parts) messages.push(JSON.parse(line) as StreamMessage);
        });
        const whole = new Promise<void>((done) => {
          res.on('close', () => {
            ended = true;
            text += rest;
            done();
          });
        });
        res.on('error', () => {});
        resolve({
          ...{ status: res.statusCode ?? 0, messages, whole, text: () => text },
          get ended() {
            return ended;
          },
          pause: () => void res.pause(),
          resume: () => void res.resume(),
          readPiece: () => void res.once('data', () => res.pause()).resume(),
          close: () => void req.destroy(),
        });
      },
    );
    req.on('error', reject);
    req.end(target.body);
  });
}
