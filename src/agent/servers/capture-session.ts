import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import {
  type AgentMessage,
  heartbeatSeconds,
  maxRefusalLength,
  maxPutMessageBytes,
  parseAddressed,
  parsePutMessage,
  sessionPath,
  sessionProtocol,
} from '../../capture/index.ts';
import type { MessageRoute, MessageSocket } from '../../net/message-socket.ts';
import type { CaptureState } from '../capture/capture-state.ts';
import { parsedJson } from './answers.ts';

/**
 * The agent's side of the sessions between controller and agent (`src/capture/session.ts`). A status is sent only after
 * the controller has read the one before, so a controller that does not read costs no memory. Every session ends when
 * the signal aborts.
 */
export function captureSessions(
  state: CaptureState,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): MessageRoute {
  return {
    path: sessionPath,
    protocol: sessionProtocol,
    maxBytes: maxPutMessageBytes,
    accept(socket) {
      const ended = new AbortController();
      const stop = (): void => {
        ended.abort();
        socket.close('the agent ends');
      };
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      report(state, socket, ended.signal).catch((error: unknown) => {
        logger.error('status of a session failed', { error: errorText(error) });
        socket.close('the status cannot be read');
      });
      let isBusy = false;
      return {
        message(body) {
          if (isBusy) throw new Error('a config came before the last was acknowledged');
          isBusy = true;
          void put(state, body, logger).then((answer) => {
            isBusy = false;
            return send(socket, answer);
          });
        },
        closed() {
          ended.abort();
          signal.removeEventListener('abort', stop);
        },
      };
    },
  };
}

/** Sends the status at once, after each change, and at least every `heartbeatSeconds`. */
async function report(state: CaptureState, socket: MessageSocket, ended: AbortSignal): Promise<void> {
  let status = state.status();
  while (!ended.aborted) {
    await send(socket, { status });
    status = await state.statusAfter(status.revision, heartbeatSeconds * 1_000, ended);
  }
}

/** Puts the config of a message in force; resolves with the answer. */
async function put(state: CaptureState, body: Buffer, logger: Logger): Promise<AgentMessage> {
  let hash = '';
  try {
    const message = parsePutMessage(parsedJson(body));
    hash = message.hash;
    const ack = await state.apply(parseAddressed(hash, message.config), 'push', message.restart);
    return { put: { hash, ack } };
  } catch (error) {
    if (isOperatorError(error, 'ERR_INPUT_INVALID')) return refusal(hash, error.message);
    logger.error('capture config of a session failed', { error: errorText(error) });
    return refusal(hash, 'internal error');
  }
}

function refusal(hash: string, reason: string): AgentMessage {
  return { put: { hash, refused: { message: reason.slice(0, maxRefusalLength) } } };
}

function send(socket: MessageSocket, message: AgentMessage): Promise<void> {
  return socket.send([Buffer.from(JSON.stringify(message))]);
}
