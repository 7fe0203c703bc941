import type { Clock } from '../base/clock.ts';
import { errorText, OperatorError } from '../base/errors.ts';
import { parseJson } from '../base/text/parse-json.ts';
import type { MessageHandlers, MessageSocket, SocketRequest } from '../net/message-socket.ts';
import type { Ack, AgentStatus } from './protocol.ts';
import { maxAgentValues, parseAgentMessage, putMessage, sessionPath, sessionProtocol } from './session.ts';

/** How a session is opened; resolves with null for a peer that knows no sessions. */
export type OpenSession = (request: SocketRequest, handlers: MessageHandlers) => Promise<MessageSocket | null>;

/** A call that waits for its message, or for the end of the session. */
interface Waiting<T> {
  resolve(value: T): void;
  reject(error: OperatorError): void;
}

/**
 * The controller's side of a session with one agent.
 *
 * Guarantees: every wait has a deadline, which ends the session; when the session ends, every wait fails and so does
 * every later call. Only one status is kept, and while it is unread nothing more is read from the agent, so an agent
 * that sends without pause fills no memory and does not delay other agents.
 * Errors: ERR_CAPTURE_PUSH for a refusal or a message that is not valid, ERR_TIMEOUT, ERR_AGENT_UNREACHABLE.
 */
export class AgentSession {
  readonly #clock: Clock;
  readonly #peer: string;
  #socket: MessageSocket | null = null;
  #ended: OperatorError | null = null;
  #unread: AgentStatus | null = null;
  #reader: Waiting<AgentStatus> | null = null;
  #put: (Waiting<Ack> & { readonly hash: string }) | null = null;
  #isRetired = false;

  private constructor(clock: Clock, peer: string) {
    this.#clock = clock;
    this.#peer = peer;
  }

  /** Opens a session; null when the agent is of a version without sessions. Errors: also those of the transport. */
  static async open(
    open: OpenSession,
    request: Omit<SocketRequest, 'path' | 'protocol'>,
    clock: Clock,
  ): Promise<AgentSession | null> {
    const session = new AgentSession(clock, `${request.host}:${request.port}`);
    const whole = { ...request, path: sessionPath, protocol: sessionProtocol };
    session.#socket = await open(whole, {
      message: (body) => session.#received(body),
      closed: (reason) => session.#end(new OperatorError('ERR_AGENT_UNREACHABLE', `${session.#peer}: ${reason}`)),
    });
    // The first message may arrive, and end the session, before `open` resolves.
    if (session.#ended) {
      session.#socket?.destroy();
      throw session.#ended;
    }
    return session.#socket ? session : null;
  }

  /** The next status that was not returned yet. One call at a time. */
  async next(deadlineMs: number): Promise<AgentStatus> {
    if (this.#unread) {
      const status = this.#unread;
      this.#unread = null;
      this.#socket!.resume();
      return status;
    }
    return this.#wait<AgentStatus>(deadlineMs, 'status', (reader) => (this.#reader = reader));
  }

  /** Sends a config and waits for its acknowledgement. One call at a time. */
  put(hash: string, body: readonly Uint8Array[], restart: 'now' | 'hold', deadlineMs: number): Promise<Ack> {
    const waits = this.#wait<Ack>(deadlineMs, 'acknowledgement', (waiting) => (this.#put = { ...waiting, hash }));
    if (!this.#ended) void this.#socket!.send(putMessage(hash, restart, body));
    return waits;
  }

  /** Ends the session once the acknowledgement that it waits for is there. Its statuses are not read any more. */
  retire(): void {
    this.#isRetired = true;
    this.#unread = null;
    if (this.#put) this.#socket?.resume();
    else this.#close();
  }

  #close(): void {
    this.#socket?.close('the controller ends the session');
  }

  #wait<T>(deadlineMs: number, what: string, begin: (waiting: Waiting<T>) => void): Promise<T> {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise<T>((resolve, reject) => {
      const late = (): void =>
        this.#end(new OperatorError('ERR_TIMEOUT', `${this.#peer}: no ${what} within ${deadlineMs} ms`));
      const cancel = this.#clock.setTimeout(late, deadlineMs);
      begin({
        resolve: (value) => {
          cancel();
          resolve(value);
        },
        reject: (error) => {
          cancel();
          reject(error);
        },
      });
    });
  }

  #received(body: Buffer): void {
    if (this.#ended) return;
    try {
      const { status, put } = parseAgentMessage(parseJson(body, 'it', maxAgentValues));
      if (put) this.#answered(put);
      if (status) this.#heard(status);
    } catch (cause) {
      const message = `${this.#peer}: a message of the agent is not valid: ${errorText(cause)}`;
      this.#end(new OperatorError('ERR_CAPTURE_PUSH', message, { cause }));
    }
  }

  #answered({ hash, ack, refused }: { hash: string; ack?: Ack; refused?: { message: string } }): void {
    const put = this.#put;
    if (put?.hash !== hash) throw new OperatorError('ERR_INPUT_INVALID', `${hash} was not sent`);
    this.#put = null;
    const reason = (refused?.message ?? 'no reason').slice(0, 500);
    if (ack) put.resolve(ack);
    else put.reject(new OperatorError('ERR_CAPTURE_PUSH', `${this.#peer}: the agent refused the config: ${reason}`));
    if (this.#isRetired) this.#close();
  }

  #heard(status: AgentStatus): void {
    // A retired session reads on only to get the acknowledgement, which may come after this status.
    if (this.#isRetired) return;
    const reader = this.#reader;
    this.#reader = null;
    if (reader) return reader.resolve(status);
    this.#unread = status;
    this.#socket?.pause();
  }

  #end(error: OperatorError): void {
    if (this.#ended) return;
    this.#ended = error;
    this.#reader?.reject(error);
    this.#put?.reject(error);
    this.#socket?.destroy();
  }
}
