import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { cutToUnits } from '../../base/text/texts.ts';
import {
  type AgentMessage,
  type AgentStatus,
  heartbeatSeconds,
  maxRefusalLength,
  maxPutMessageBytes,
  parseAddressed,
  parsePutMessage,
  sessionPath,
  sessionProtocol,
} from '../../capture/index.ts';
import type { MessageRoute, MessageSocket } from '../../net/message-socket.ts';
import { answeredMs, type CaptureState } from '../capture/capture-state.ts';
import { parsedJson } from './answers.ts';

/**
 * The agent's side of the sessions between controller and agent (`src/capture/session.ts`). A status is sent only after
 * the controller has read the one before, and a config is taken only after it has read the answer to the config before,
 * so a controller that does not read costs no memory. Every session ends when the signal aborts.
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
      const fail = (error: unknown): void => {
        logger.error('status of a session failed', { error: errorText(error) });
        socket.close('the status cannot be read');
      };
      const told: Told = { revision: 0 };
      report(state, socket, told, ended.signal).catch(fail);
      let isBusy = false;
      const answer = async (body: Buffer): Promise<void> => {
        const result = await put(state, body, logger);
        // Read and sent without a pause, so that no newer status is sent before this one.
        await send(socket, { put: result, ...(result.ack ? tell(told, state.status()) : {}) });
        isBusy = false;
      };
      return {
        message(body) {
          if (isBusy) throw new Error('a config came before the last was acknowledged');
          isBusy = true;
          answer(body).catch(fail);
        },
        closed() {
          ended.abort();
          signal.removeEventListener('abort', stop);
        },
      };
    },
  };
}

/** Revision of the newest status that was sent in a session. */
interface Told {
  revision: number;
}

/** Sends the status at once, after each change that no answer has reported, and at least every `heartbeatSeconds`. */
async function report(state: CaptureState, socket: MessageSocket, told: Told, ended: AbortSignal): Promise<void> {
  let status = state.status();
  while (!ended.aborted) {
    await send(socket, tell(told, status));
    status = await untold(state, told, ended);
  }
}

/** Waits for the next status to send. A change that an answer reports in the meantime is not sent again. */
async function untold(state: CaptureState, told: Told, ended: AbortSignal): Promise<AgentStatus> {
  let waitMs = heartbeatSeconds * 1_000;
  for (;;) {
    const after = told.revision;
    const status = await state.statusAfter(after, waitMs, ended);
    if (after === told.revision || status.revision > told.revision) return status;
    // An answer has reported the change. The next heartbeat is counted from that answer, which was sent up to
    // `answeredMs` before this wait ended.
    waitMs = heartbeatSeconds * 1_000 - answeredMs;
  }
}

function tell(told: Told, status: AgentStatus): Pick<AgentMessage, 'status'> {
  told.revision = status.revision;
  return { status };
}

type Answer = NonNullable<AgentMessage['put']>;

/** Puts the config of a message in force. */
async function put(state: CaptureState, body: Buffer, logger: Logger): Promise<Answer> {
  let hash = '';
  try {
    const message = parsePutMessage(parsedJson(body));
    hash = message.hash;
    const ack = await state.apply(parseAddressed(hash, message.config), 'push', message.restart);
    return { hash, ack };
  } catch (error) {
    if (isOperatorError(error, 'ERR_INPUT_INVALID')) return refusal(hash, error.message);
    logger.error('capture config of a session failed', { error: errorText(error) });
    return refusal(hash, 'internal error');
  }
}

function refusal(hash: string, reason: string): Answer {
  return { hash, refused: { message: cutToUnits(reason, maxRefusalLength) } };
}

function send(socket: MessageSocket, message: AgentMessage): Promise<void> {
  return socket.send([Buffer.from(JSON.stringify(message))]);
}
