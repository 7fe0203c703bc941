import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { OperatorError } from '../base/errors.ts';
import { explain } from './tls-fault.ts';

/**
 * Whole messages in both directions on one connection: a WebSocket (RFC 6455) without compression, on which each
 * message is one text.
 */
export interface MessageSocket {
  /** Sends one message, given in pieces. Resolves when the operating system has it, or the connection has ended. */
  send(pieces: readonly Uint8Array[]): Promise<void>;
  /** Reads nothing more from the peer until `resume`. What the peer sends meanwhile waits on the peer's side. */
  pause(): void;
  resume(): void;
  /** Ends the connection once all messages are sent. The peer reads the reason, at most 120 bytes of ASCII. */
  close(reason: string): void;
  /** Ends the connection at once. */
  destroy(): void;
}

/** The receiving side of a connection. */
export interface MessageHandlers {
  /** One message of the peer. A throw ends the connection. */
  message(body: Buffer): void;
  /** The connection has ended, by either side. Called once, and last. */
  closed(reason: string): void;
}

/** The path of a server on which connections for messages are accepted. */
export interface MessageRoute {
  readonly path: string;
  /** Name of the subprotocol, which the client has to offer. */
  readonly protocol: string;
  /** Largest message of a client. Units: bytes. */
  readonly maxBytes: number;
  accept(socket: MessageSocket): MessageHandlers;
}

/** A connection for messages to a peer by pod address; its certificate is checked against `servername`. */
export interface SocketRequest {
  readonly host: string;
  readonly port: number;
  readonly servername: string;
  readonly sharedName?: string;
  readonly path: string;
  readonly protocol: string;
  /** Deadline for the connection to be open. Units: ms. */
  readonly deadlineMs: number;
  /** Largest message of the peer. Units: bytes. */
  readonly maxBytes: number;
  /** Ends the connection, whether it is open yet or not. */
  readonly signal: AbortSignal;
}

/** How long the peer may take to confirm the end of a connection. Units: ms. */
const closeTimeout = 2_000;
/** Status codes of RFC 6455, section 7.4.1. */
const normalClosure = 1000;
const policyViolation = 1008;

/** The listener for a server's upgrade requests to `route`. The caller has checked the path and the client. */
export function acceptMessages(route: MessageRoute): (req: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const { protocol, maxBytes, accept } = route;
  const server = new WebSocketServer({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: maxBytes, closeTimeout },
    verifyClient: ({ req }, answer) => answer(offers(req, protocol), 400, `offer the subprotocol ${protocol}`),
    handleProtocols: () => protocol,
  });
  return (req, socket, head) => server.handleUpgrade(req, socket, head, (peer) => carry(peer, accept));
}

/**
 * Lets `connect` begin a connection, and opens a WebSocket on it. Resolves with null when the peer has no such path
 * (404).
 * Errors: those of `explain`; ERR_AGENT_UNREACHABLE for any other answer of the peer.
 */
export function openMessages(
  connect: () => Socket,
  request: SocketRequest,
  handlers: MessageHandlers,
): Promise<MessageSocket | null> {
  const { host, port, path, protocol, deadlineMs, maxBytes, signal } = request;
  const exchange = { ...request, method: 'GET' };
  if (signal.aborted) return Promise.reject(explain(signal.reason, exchange, false));
  const options = {
    createConnection: connect,
    perMessageDeflate: false,
    maxPayload: maxBytes,
    closeTimeout,
    // Masks keep scripts of a web page from writing chosen bytes on a connection; over TLS they protect from nothing.
    // A mask of zeros saves a copy of each message.
    generateMask: (mask: Buffer) => void mask.fill(0),
  };
  const address = `wss://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address, [protocol], options);
    let isLate = false;
    const stop = (): void => socket.terminate();
    const timer = setTimeout(() => {
      isLate = true;
      stop();
    }, deadlineMs);
    const settled = (): void => {
      clearTimeout(timer);
      socket.off('error', fail).off('unexpected-response', refused);
      // The connection may still report how it ended.
      socket.on('error', () => {});
    };
    const fail = (cause: unknown): void => {
      settled();
      signal.removeEventListener('abort', stop);
      reject(explain(cause, exchange, isLate));
    };
    const refused = (req: ClientRequest, res: IncomingMessage): void => {
      settled();
      // The answer is not read: its body may have no end.
      req.destroy();
      signal.removeEventListener('abort', stop);
      if (res.statusCode === 404) resolve(null);
      else reject(explain(new Error(`answered ${res.statusCode}`), exchange, false));
    };
    signal.addEventListener('abort', stop, { once: true });
    socket.on('error', fail);
    socket.on('unexpected-response', refused);
    socket.once('open', () => {
      settled();
      const closed = (reason: string): void => {
        signal.removeEventListener('abort', stop);
        handlers.closed(reason);
      };
      resolve(carry(socket, () => ({ message: (body) => handlers.message(body), closed })));
    });
  });
}

function offers({ headers }: IncomingMessage, protocol: string): boolean {
  return (headers['sec-websocket-protocol'] ?? '').split(',').some((name) => name.trim() === protocol);
}

/** Connects an open WebSocket with its handlers. */
function carry(socket: WebSocket, accept: (socket: MessageSocket) => MessageHandlers): MessageSocket {
  const messages: MessageSocket = {
    send: (pieces) =>
      new Promise((resolve) => {
        const body = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
        // An error is reported by the end of the connection too.
        socket.send(body, { binary: false }, () => resolve());
      }),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: (reason) => socket.close(normalClosure, reason),
    destroy: () => socket.terminate(),
  };
  const handlers = accept(messages);
  let fault = '';
  socket.on('message', (body, isBinary) => {
    // The peer may go on sending until it has confirmed the end.
    if (fault !== '') return;
    try {
      if (isBinary) throw new OperatorError('ERR_INPUT_INVALID', 'a message is binary');
      handlers.message(body as Buffer);
    } catch (error) {
      fault ||= error instanceof Error ? error.message : String(error);
      socket.close(policyViolation, 'the message is not valid');
    }
  });
  socket.on('error', (error) => (fault ||= error.message));
  socket.on('close', (code, reason) => handlers.closed(fault || reason.toString() || `closed with ${code}`));
  return messages;
}
