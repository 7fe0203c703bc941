import { Type, type Static } from '@sinclair/typebox';
import { isCaptureHash } from './capture-config.ts';
import { oneOf, parser } from '../base/wire/parser.ts';
import { ackSchema, agentStatusSchema, cutMessage, cutStatus, maxCaptureBytes } from './protocol.ts';

/**
 * A session: one connection between the leading controller and an agent, on which configs and statuses travel as they
 * come. It replaces a PUT and two polls for each edit, each with the cost of a whole HTTPS request.
 *
 * `GET /v1/session` on :9093 with an upgrade to a WebSocket of the subprotocol `svc-capture.v1`. Messages are JSON:
 * the agent sends `{status}` when the session begins, when its revision changes, and at least every `heartbeatSeconds`;
 * the controller sends `{put: {hash, restart, config}}`, one at a time, and the agent answers each with
 * `{put: {hash, ack}, status}`, or with `{put: {hash, refused}}` if it does not take the config. The status of an answer
 * is the one after the config was taken; it is not sent once more. Members that are not known are ignored. An agent of
 * version 0.1.0 answers the upgrade with 404.
 */
export const sessionPath = '/v1/session';
export const sessionProtocol = 'svc-capture.v1';
/** Longest silence of an agent. Units: seconds. */
export const heartbeatSeconds = 25;
/** Largest message of a controller: a config and its frame. Units: bytes. */
export const maxPutMessageBytes = maxCaptureBytes + 1_024;

/**
 * Most values of a message of an agent, as `JsonSize` counts them. A status of 20,000 monitors has 300,000. Those of a
 * message take 150 MB of the controller's memory at most.
 */
export const maxAgentValues = 1_000_000;

/** Longest reason of a refusal. Units: characters. */
export const maxRefusalLength = 2_048;

const hash = Type.String({ maxLength: 80 });

const putSchema = Type.Object({
  put: Type.Object({ hash, restart: oneOf(['now', 'hold'] as const), config: Type.Unknown() }),
});

const agentMessageSchema = Type.Object({
  status: Type.Optional(agentStatusSchema),
  put: Type.Optional(
    Type.Object({
      hash,
      ack: Type.Optional(ackSchema),
      refused: Type.Optional(Type.Object({ message: Type.String({ maxLength: maxRefusalLength }) })),
    }),
  ),
});

export type PutMessage = Static<typeof putSchema>['put'];
export type AgentMessage = Static<typeof agentMessageSchema>;

/** A controller's message with a config, in pieces; `body` is the canonical JSON of the config. */
export function putMessage(hash: string, restart: 'now' | 'hold', body: readonly Uint8Array[]): Uint8Array[] {
  if (!isCaptureHash(hash)) throw new RangeError(`${hash} is not the hash of a config`);
  return [Buffer.from(`{"put":{"hash":"${hash}","restart":"${restart}","config":`), ...body, Buffer.from('}}')];
}

const parsePut = parser('message', putSchema);
/** Checks a controller's message; its config is not checked yet. Errors: ERR_INPUT_INVALID that names the field. */
export function parsePutMessage(value: unknown): PutMessage {
  return parsePut(value).put;
}

const checkAgentMessage = parser('message', agentMessageSchema);
/** Checks an agent's message. Errors: ERR_INPUT_INVALID that names the field. */
export function parseAgentMessage(value: unknown): AgentMessage {
  const message = checkAgentMessage(value);
  if (message.status) cutStatus(message.status);
  if (message.put?.ack) cutMessage(message.put.ack);
  return message;
}
