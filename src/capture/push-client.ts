import type { AgentServerName } from '../api/agents/agent-certificate.ts';
import type { Clock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { parseJson } from '../base/text/parse-json.ts';
import type { TlsRequest, TlsResponse } from '../net/tls-client.ts';
import { AgentSession, type OpenSession } from './agent-session.ts';
import { parseCaptureConfig, type CaptureConfig } from './capture-config.ts';
import {
  capturePath,
  capturePutPath,
  maxCaptureBytes,
  parseAck,
  parseAgentStatus,
  runningPath,
  secretsPath,
  statusPollPath,
  type Ack,
  type AgentStatus,
  type ExportSecrets,
} from './protocol.ts';
import { heartbeatSeconds, maxAgentValues } from './session.ts';

/** How agents are called: `TlsClient` of `src/net`, or a stand-in in a test. */
export interface AgentTransport {
  request(options: TlsRequest): Promise<TlsResponse>;
  readonly open: OpenSession;
  /** Grows when the certificate of later connections changes. */
  readonly generation: number;
}

export interface AgentAddress extends AgentServerName {
  /** IP of the agent's pod. */
  readonly host: string;
  readonly port: number;
}

/** Deadline of a request; a PUT carries up to 4 MiB to one node of the same cluster. Units: ms. */
const pushDeadlineMs = 10_000;
/** Added to the longest silence of an agent, for connecting and for the agent's own delay. Units: ms. */
const graceMs = 5_000;
/** Cap on an answer. The largest is a status: 20 000 monitors at about 200 bytes. Units: bytes. */
const maxStatusBytes = 8 * 1024 * 1024;

/**
 * A client of one agent's capture port: a session for configs and statuses, requests for everything rare. An agent of
 * version 0.1.0 has no sessions: it is polled, and gets its configs by PUT.
 *
 * Every call has a deadline and a size cap, and every answer is validated.
 * Nothing is retried here: the caller decides from its current state what is still worth sending.
 * Errors: ERR_CAPTURE_PUSH when the agent answers with a refusal (its text is in the message) or with a malformed
 * answer; ERR_TOO_LARGE for a config above `maxCaptureBytes`; ERR_AGENT_UNREACHABLE, ERR_PEER_IDENTITY, ERR_TIMEOUT,
 * ERR_ABORTED, ERR_TOO_LARGE from the transport.
 */
export class AgentClient {
  readonly #transport: AgentTransport;
  readonly #address: AgentAddress;
  readonly #clock: Clock;
  #session: AgentSession | null = null;
  /** The transport's `generation` when the session was opened. */
  #generation = 0;

  constructor(transport: AgentTransport, address: AgentAddress, clock: Clock) {
    this.#transport = transport;
    this.#address = address;
    this.#clock = clock;
  }

  /** Connects, in place of an earlier connection, and returns the agent's status. The signal ends the connection. */
  async connect(signal: AbortSignal): Promise<AgentStatus> {
    const { generation } = this.#transport;
    const open: OpenSession = (request, handlers) => this.#transport.open(request, handlers);
    const limits = { deadlineMs: graceMs, maxBytes: maxStatusBytes, signal };
    const session = await AgentSession.open(open, { ...this.#address, ...limits }, this.#clock);
    this.#session?.retire();
    this.#session = session;
    this.#generation = generation;
    return session ? session.next(graceMs) : this.#poll(0, 0, signal);
  }

  /**
   * The next status, as soon as it differs from revision `after`; an unchanged one after `heartbeatSeconds`. If this
   * side has a new certificate, connects with it first.
   */
  async nextStatus(after: number, signal: AbortSignal): Promise<AgentStatus> {
    if (!this.#session) return this.#poll(after, heartbeatSeconds, signal);
    if (this.#generation !== this.#transport.generation) return this.connect(signal);
    return this.#session.next(heartbeatSeconds * 1_000 + graceMs);
  }

  /**
   * Sends a config as the pieces of its canonical JSON. Idempotent: the agent recognises the hash.
   * With `hold` the instrument keeps its old file until the same config is put with `now`.
   */
  async put(hash: string, body: readonly Uint8Array[], restart: 'now' | 'hold', signal: AbortSignal): Promise<Ack> {
    const length = lengthOf(body);
    if (length > maxCaptureBytes) {
      throw new OperatorError('ERR_TOO_LARGE', `capture config ${hash} has ${length} bytes`);
    }
    if (this.#session) return this.#session.put(hash, body, restart, pushDeadlineMs);
    const answer = await this.#send('PUT', capturePutPath(hash, restart), pushDeadlineMs, signal, body);
    return parsed('ack', answer, parseAck);
  }

  async #poll(after: number, waitSeconds: number, signal: AbortSignal): Promise<AgentStatus> {
    const answer = await this.#send('GET', statusPollPath(after, waitSeconds), waitSeconds * 1_000 + graceMs, signal);
    return parsed('agent status', answer, parseAgentStatus);
  }

  /** Delivers the secrets that the exports of its config refer to. Errors never quote a value. */
  async putSecrets(secrets: ExportSecrets, signal: AbortSignal): Promise<void> {
    await this.#send('PUT', secretsPath, pushDeadlineMs, signal, [Buffer.from(JSON.stringify(secrets))], [204]);
  }

  /** The config that the agent holds; null when it runs on its seed, the first config, which it made itself. */
  current(signal: AbortSignal): Promise<CaptureConfig | null> {
    return this.#config(capturePath, signal);
  }

  /** The config whose file the instrument of the agent runs; null when that is the seed, or not known. */
  running(signal: AbortSignal): Promise<CaptureConfig | null> {
    return this.#config(runningPath, signal);
  }

  async #config(path: string, signal: AbortSignal): Promise<CaptureConfig | null> {
    const answer = await this.#send('GET', path, pushDeadlineMs, signal, undefined, [200, 404]);
    return answer.status === 404 ? null : parsed('capture config', answer, parseCaptureConfig);
  }

  #send(
    method: string,
    path: string,
    deadlineMs: number,
    signal: AbortSignal,
    body?: readonly Uint8Array[],
    accept: readonly number[] = [200],
  ): Promise<TlsResponse> {
    const headers = { ...json, 'content-length': String(lengthOf(body ?? [])) };
    const request = { method, path, ...(body ? { body, headers } : {}), deadlineMs, maxBytes: maxStatusBytes, signal };
    return askAgent(this.#transport, this.#address, request, accept);
  }
}

const json = { 'content-type': 'application/json' };

/** Sends a request to an agent. Errors: those of the transport; ERR_CAPTURE_PUSH for a status that is not accepted. */
export async function askAgent(
  transport: AgentTransport,
  address: AgentAddress,
  request: Omit<TlsRequest, keyof AgentAddress> & { method: string },
  accept: readonly number[],
): Promise<TlsResponse> {
  const answer = await transport.request({ ...address, ...request });
  if (accept.includes(answer.status)) return answer;
  const words = answer.body.toString('utf8', 0, 500);
  const path = request.path.split('?')[0];
  throw new OperatorError('ERR_CAPTURE_PUSH', `${request.method} ${path}: agent answered ${answer.status} ${words}`);
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

function parsed<T>(what: string, answer: TlsResponse, parse: (value: unknown) => T): T {
  try {
    return parse(parseJson(answer.body, 'it', maxAgentValues));
  } catch (cause) {
    throw new OperatorError('ERR_CAPTURE_PUSH', `${what}: the answer of the agent is not valid`, { cause });
  }
}
