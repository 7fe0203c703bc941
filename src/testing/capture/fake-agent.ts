import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { canonicalJson, sha256Hex } from '../../base/canonical-json.ts';
import {
  capturePath,
  hashOfPutPath,
  heartbeatSeconds,
  maxPutMessageBytes,
  objectOfKey,
  parseCaptureConfig,
  parseExportSecrets,
  parsePutMessage,
  runningPath,
  secretsPath,
  sessionPath,
  sessionProtocol,
  statusPath,
  writeFailed,
  type Ack,
  type AgentMessage,
  type AgentStatus,
  type CaptureConfig,
  type ExportSecrets,
} from '../../capture/index.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { closeServer, listen } from '../../net/listen.ts';
import type { MessageRoute } from '../../net/message-socket.ts';
import { fixedTls, type TlsMaterial } from '../../net/tls-material.ts';

export interface FakeAgentOptions {
  node: string;
  material: TlsMaterial;
  /** A loopback address that no other agent uses, e.g. 127.0.0.3. */
  host: string;
  /** 0: any free port. */
  port: number;
  /**
   * How the agent reacts to a config. `Running`, `Written`, `Failed`: acknowledges it with this phase; a new file with
   * `restart=hold` is always acknowledged as Written. `refuse` answers 400; `hold` never answers; `cut` closes the
   * connection and ignores the config; `deaf` accepts it as Written and closes the connection without an answer;
   * `full` acknowledges that its disk is full, and keeps the config before. Default Running.
   */
  onPush?: 'Running' | 'Written' | 'Failed' | 'refuse' | 'hold' | 'cut' | 'deaf' | 'full';
  /** Whether it accepts sessions, in which it reports its status by itself. Version 0.1.0 is polled. Default true. */
  hasSessions?: boolean;
}

/** The answer to a config: a status code of the PUT, and the acknowledgement or the text of the refusal. */
type Answer = { status: 200; ack: Ack } | { status: 400; message: string } | null;

/** The capture port of an agent, over real mutual TLS. A test scripts how its instrument behaves. */
export class FakeAgent {
  readonly node: string;
  readonly host: string;
  port = 0;
  onPush: NonNullable<FakeAgentOptions['onPush']>;
  config: CaptureConfig | null = null;
  /** The YAML of each file that the instrument was restarted for, in order. */
  readonly restarts: string[] = [];
  /** Number of configs that were put, accepted or not. */
  puts = 0;
  /** Every config that was accepted, in order. */
  readonly taken: CaptureConfig[] = [];
  /** How many sessions were opened. */
  sessions = 0;
  /** How many statuses were polled or, in a session, sent. */
  polls = 0;
  /** Every delivery of secrets, in order. */
  readonly secrets: ExportSecrets[] = [];
  #status: AgentStatus;
  #hash = '';
  /** The config that its instrument runs, and its hash. */
  #runs: { hash: string; config: CaptureConfig } | null = null;
  readonly #sockets = new Set<Socket>();
  #closedBytes = 0;
  #answered: NodeJS.Timeout | undefined;
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();
  /** One function for each open session, which sends the status if that session has not got it yet. */
  readonly #reports = new Set<() => void>();

  private constructor(options: FakeAgentOptions) {
    this.node = options.node;
    this.host = options.host;
    this.onPush = options.onPush ?? 'Running';
    this.#status = {
      node: options.node,
      revision: 1,
      ack: null,
      instrument: { up: true, restarts: 0 },
      monitors: [],
      totals: { series: 0, samplesAppended: 0, rejected: 0 },
    };
    this.#server = createTlsServer(fixedTls(options.material), (req, res) => void this.#serve(req, res), {
      clientNames: ['svc-controller'],
      ...(options.hasSessions === false ? {} : { messages: this.#sessions() }),
    });
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.#closedBytes += bytesOf(socket);
      });
    });
  }

  static async start(options: FakeAgentOptions): Promise<FakeAgent> {
    const agent = new FakeAgent(options);
    agent.port = await listen('capture-config', agent.#server, { host: options.host, port: options.port });
    return agent;
  }

  /** Bytes sent and received on all its connections, TLS included. */
  get wireBytes(): number {
    return [...this.#sockets].reduce((sum, socket) => sum + bytesOf(socket), this.#closedBytes);
  }

  get ack(): Ack | null {
    return this.#status.ack;
  }

  /** The generation of this object, such as `TrafficMonitor/shop/m`, in its config. */
  generationOf(name: string): number | undefined {
    return Object.entries(this.config?.generations ?? {}).find(([key]) => objectOfKey(key) === name)?.[1];
  }

  /** Acknowledges the current config with a phase, as a report of the instrument does, and answers waiting polls. */
  phase(phase: Ack['phase'], more: Partial<Ack> = {}): void {
    if (!this.config) return;
    this.#acknowledge(phase, more);
    this.#wake();
  }

  /** Changes the status and answers waiting polls. */
  update(change: Partial<AgentStatus>): void {
    this.#note(change);
    this.#wake();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#answered);
    this.#reports.clear();
    this.#wake();
    this.#server.closeAllConnections();
    await closeServer(this.#server, 0);
  }

  /** True while the instrument has not read its new file yet, but has the permission to restart for it. */
  get restarting(): boolean {
    return this.#status.instrument.restarting === true;
  }

  #acknowledge(phase: Ack['phase'], more: Partial<Ack>, waits = false): void {
    if (phase === 'Running') this.#runs = { hash: this.#hash, config: this.config! };
    this.#note({
      ack: { node: this.node, hash: this.#hash, phase, ...more },
      instrument: {
        up: true,
        restarts: 0,
        ...(this.#runs ? { runs: this.#runs.hash } : {}),
        ...(phase === 'Written' && !waits ? { restarting: true } : {}),
      },
    });
  }

  #note(change: Partial<AgentStatus>): void {
    this.#status = { ...this.#status, ...change, revision: this.#status.revision + 1 };
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    for (const report of this.#reports) report();
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'https://agent');
    const send = (status: number, body: unknown): void => {
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const hash = hashOfPutPath(url.pathname);
    if (req.method === 'PUT' && hash) {
      const cut = (): void => void req.socket.destroy();
      const answer = this.#put(await bodyOf(req), hash, url.searchParams.get('restart') === 'hold', cut);
      if (answer?.status === 200) send(200, answer.ack);
      else if (answer) send(400, { code: 'ERR_INPUT_INVALID', message: answer.message });
      return;
    }
    if (req.method === 'PUT' && url.pathname === secretsPath) {
      const delivered = parseExportSecrets(JSON.parse((await bodyOf(req)).toString()));
      this.secrets.push(delivered);
      this.update({ secrets: delivered.revision });
      return void res.writeHead(204).end();
    }
    if (url.pathname === capturePath) return this.config ? send(200, this.config) : send(404, { code: 'none' });
    if (url.pathname === runningPath) return this.#runs ? send(200, this.#runs.config) : send(404, { code: 'none' });
    if (url.pathname !== statusPath) return send(404, { code: 'not-found' });
    this.polls++;
    const wait = Number(url.searchParams.get('wait'));
    if (wait > 0 && Number(url.searchParams.get('after')) === this.#status.revision) {
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, wait * 1_000);
        this.#waiting.add(resolve);
        res.on('close', () => {
          clearTimeout(late);
          resolve();
        });
      });
    }
    return send(200, this.#status);
  }

  /** Accepts sessions as the real agent does (`src/agent/servers/capture-session.ts`). */
  #sessions(): MessageRoute {
    return {
      path: sessionPath,
      protocol: sessionProtocol,
      maxBytes: maxPutMessageBytes,
      accept: (socket) => {
        this.sessions++;
        const send = (message: AgentMessage): void => void socket.send([Buffer.from(JSON.stringify(message))]);
        let told = 0;
        const status = (): Pick<AgentMessage, 'status'> => {
          this.polls++;
          told = this.#status.revision;
          return { status: this.#status };
        };
        const report = (): void => {
          if (told !== this.#status.revision) send(status());
        };
        this.#reports.add(report);
        report();
        const heartbeat = setInterval(() => send(status()), heartbeatSeconds * 1_000);
        return {
          message: (body) => {
            const { hash, restart, config } = parsePutMessage(JSON.parse(body.toString()));
            const canonical = Buffer.from(canonicalJson(config));
            const answer = this.#put(canonical, hash, restart === 'hold', () => socket.destroy());
            if (answer?.status === 200) send({ put: { hash, ack: answer.ack }, ...status() });
            else if (answer) send({ put: { hash, refused: { message: answer.message } } });
          },
          closed: () => {
            clearInterval(heartbeat);
            this.#reports.delete(report);
          },
        };
      },
    };
  }

  /** Takes a config as `onPush` says; null for no answer. */
  #put(body: Buffer, hash: string, hold: boolean, cut: () => void): Answer {
    this.puts++;
    if (this.onPush === 'hold') return null;
    if (this.onPush === 'cut') {
      cut();
      return null;
    }
    if (this.onPush === 'refuse') return { status: 400, message: 'no' };
    // The hash is that of the canonical form: a body in another form has another hash.
    if (`sha256:${sha256Hex(body)}` !== hash) return { status: 400, message: 'the body does not match its hash' };
    if (this.onPush === 'full') {
      this.#note({ ack: { node: this.node, hash, phase: 'Failed', reason: writeFailed, message: 'ENOSPC' } });
      return this.#answer();
    }
    const config = parseCaptureConfig(JSON.parse(body.toString()));
    const sameFile = this.ack?.phase === 'Running' && this.config?.instrument.yaml === config.instrument.yaml;
    const waits = hold && !sameFile;
    if (!hold && this.restarts.at(-1) !== config.instrument.yaml) this.restarts.push(config.instrument.yaml);
    this.config = config;
    this.#hash = hash;
    this.taken.push(config);
    const failed = this.onPush === 'Failed' ? { reason: 'MissingCapability', message: 'CAP_SYS_PTRACE' } : {};
    if (waits) this.#acknowledge('Written', {}, true);
    else this.#acknowledge(this.onPush === 'deaf' ? 'Written' : this.onPush, failed);
    if (this.onPush === 'deaf') {
      cut();
      return null;
    }
    return this.#answer();
  }

  /** Like the real agent: a waiting poll is answered a second after the acknowledgement. */
  #answer(): Answer {
    clearTimeout(this.#answered);
    this.#answered = setTimeout(() => this.#wake(), 1_000);
    return { status: 200, ack: this.ack! };
  }
}

function bytesOf({ bytesRead, bytesWritten }: Socket): number {
  return bytesRead + bytesWritten;
}

async function bodyOf(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
