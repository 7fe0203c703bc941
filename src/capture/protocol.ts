import { Type, type Static } from '@sinclair/typebox';
import { isCaptureHash } from './capture-config.ts';
import { oneOf, parser } from '../base/wire/parser.ts';
import { cutToUnits } from '../base/text/texts.ts';

/**
 * The messages between the leading controller and one agent on :9093 (mutual TLS, JSON).
 *
 * `PUT /v1/capture/{hash}`  body: canonical JSON of a CaptureConfig, at most `maxCaptureBytes` → 200 Ack;
 *                           wrong hash, schema or node → 400 `{code, message}` and nothing changed.
 * `GET /v1/capture`         → the current CaptureConfig, or 404 when the agent runs its seed, the
 *                           first config, which it made itself.
 * `GET /v1/capture/running` → the CaptureConfig whose file the instrument runs; it is older than the current one while
 *                           the current file waits for a restart of the instrument. 404 while the instrument runs the
 *                           seed, or while its file is unknown.
 * `GET /v1/status?after=<revision>&wait=<seconds>` → AgentStatus; answers when the revision is above `after`, or after
 *                           `wait` seconds with the unchanged one. If the answer to a PUT has already reported the
 *                           change, a waiting poll is answered a second later. Revisions start over when the agent
 *                           restarts, so an `after` above the current revision is answered immediately.
 * `PUT /v1/secrets`         body: ExportSecrets → 204. The Secret values that the exports of the config refer to; kept
 *                           in memory, never on disk, and never sent back. The status names the revision that the
 *                           agent has: none, or one that no delivery had, after a config with fewer Secrets.
 */
export const capturePath = '/v1/capture';
export const runningPath = '/v1/capture/running';
export const statusPath = '/v1/status';
export const secretsPath = '/v1/secrets';
/** Largest body of a PUT. Units: bytes. */
export const maxCaptureBytes = 4 * 1024 * 1024;
/** Longest value of a Secret in a delivery. Units: characters. */
export const maxSecretLength = 16_384;
/** Longest wait of one status poll. Units: seconds. */
export const maxStatusWaitSeconds = 30;
/**
 * The path `/v1/capture/sha256:…` of a hash. With `restart=hold` the agent writes the file, but the instrument keeps
 * its old file until the same hash is put without `restart=hold`.
 */
export function capturePutPath(hash: string, restart: 'now' | 'hold' = 'now'): string {
  return `${capturePath}/${hash}${restart === 'hold' ? '?restart=hold' : ''}`;
}

/** The hash in a PUT path, or null when the path is not one. A percent-encoded colon is accepted. */
export function hashOfPutPath(path: string): string | null {
  const prefix = `${capturePath}/`;
  if (!path.startsWith(prefix)) return null;
  const hash = path.slice(prefix.length).replace(/%3a/i, ':');
  return isCaptureHash(hash) ? hash : null;
}

/** The path of a status poll. Units: `waitSeconds` in [0, 30]. */
export function statusPollPath(after: number, waitSeconds: number): string {
  return `${statusPath}?after=${after}&wait=${waitSeconds}`;
}

/** Longest free text of a status; longer ones are cut, by the agent and once more by the controller. Units: characters. */
export const maxTextLength = 1_024;

/** A free text of an agent. A limit in the schema would make one long text invalidate the whole status. */
const freeText = Type.String();
const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** A count that statuses of monitors add up over all nodes: their fields are of 64 bits. */
const seriesCount = Type.Integer({ minimum: 0, maximum: 1e12 });
const time = Type.String({ maxLength: 40, pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)$' });

/** The phase of one config on one agent. */
export const phases = ['Received', 'Written', 'Running', 'Failed'] as const;
export type Phase = (typeof phases)[number];

/** Values of Secret keys, by `<namespace>/<name>/<key>`. `revision` is the sender's identifier of this very set. */
export const exportSecretsSchema = Type.Object(
  {
    revision: Type.String({ minLength: 1, maxLength: 80 }),
    secrets: Type.Record(Type.String({ maxLength: 600 }), Type.String({ maxLength: maxSecretLength })),
  },
  { additionalProperties: false },
);

/** The state of one export destination on one node. */
export const exportStates = ['Sending', 'Failing', 'NotAllowed', 'NoSecret'] as const;

/** The reasons for which a node may have no data for a monitor. */
export const obstacleReasons = ['KernelUnsupported', 'PortNotOpen', 'NotAttached', 'MetadataMissing'] as const;

/**
 * The reason of `Failed` for a config that the agent could not put in force, mostly because it could not write to its
 * disk: then nothing is wrong with the config, it has to be put again, and until then the agent may hold a part of it.
 */
export const writeFailed = 'WriteFailed';

/** Unknown members are allowed: a newer agent may send more than this controller reads. */
export const ackSchema = Type.Object({
  node: Type.String({ maxLength: 253 }),
  hash: Type.String({ maxLength: 80 }),
  phase: oneOf(phases),
  /** CamelCase, one of the reasons of `Capturing` and `Programmed` if one fits, e.g. `MissingCapability`. */
  reason: Type.Optional(Type.String({ maxLength: 128 })),
  message: Type.Optional(freeText),
  /** When the instrument that runs this config started. RFC 3339. */
  instrumentStart: Type.Optional(time),
});

export const agentStatusSchema = Type.Object({
  node: Type.String({ maxLength: 253 }),
  /** Grows with each change of the other members, except `time`. */
  revision: count,
  /** When the agent made this status, by the clock of its node. Agents up to 0.1.0 do not send it. */
  time: Type.Optional(time),
  ack: Type.Union([ackSchema, Type.Null()]),
  instrument: Type.Object({
    up: Type.Boolean(),
    start: Type.Optional(time),
    restarts: count,
    /** Length of the gap in capture around its newest restart; absent before the first. Units: ms. */
    gapMs: Type.Optional(count),
    /** Hash of the config whose file it runs; absent while that is the seed, or unknown. */
    runs: Type.Optional(Type.String({ maxLength: 80 })),
    /** The instrument has not read the current file yet, and may restart for it; absent when no restart is due. */
    restarting: Type.Optional(Type.Boolean()),
  }),
  monitors: Type.Array(
    Type.Object({
      namespace: Type.String({ maxLength: 253 }),
      name: Type.String({ maxLength: 253 }),
      activeSeries: seriesCount,
      droppedSeries: seriesCount,
      /** Spans refused by the monitor's own ceiling since its config came into force; absent for none. */
      droppedSpans: Type.Optional(count),
      /** When its newest sample arrived, by the clock of the node as it was set when the status was made. */
      lastSampleTime: Type.Optional(time),
      /** Absent for a monitor with data, and when no obstacle is known. */
      obstacle: Type.Optional(
        Type.Object({
          reason: oneOf(obstacleReasons),
          message: freeText,
        }),
      ),
    }),
    { maxItems: 20_000 },
  ),
  /** What the instrument cannot capture on this node, whatever the monitors ask for; absent when no limit is known. */
  limits: Type.Optional(
    Type.Array(
      Type.Object({
        /** False when it is unknown whether the node has this limit. */
        certain: Type.Boolean(),
        message: freeText,
      }),
      { maxItems: 16 },
    ),
  ),
  /** One row for each export destination. */
  exports: Type.Optional(
    Type.Array(
      Type.Object({
        /** `ClusterTrafficPolicy/<name>` or `TrafficMonitor/<namespace>/<name>`. */
        owner: Type.String({ maxLength: 600 }),
        name: Type.String({ maxLength: 63 }),
        state: oneOf(exportStates),
        message: Type.Optional(freeText),
        pendingBytes: count,
        sent: count,
        refused: count,
      }),
      { maxItems: 20_000 },
    ),
  ),
  /** Revision of the secrets that the agent has; absent when it has none. */
  secrets: Type.Optional(Type.String({ maxLength: 80 })),
  totals: Type.Object({ series: count, samplesAppended: count, rejected: count }),
});

export type Ack = Static<typeof ackSchema>;
export type AgentStatus = Static<typeof agentStatusSchema>;
export type ExportSecrets = Static<typeof exportSecretsSchema>;
export type CaptureLimit = NonNullable<AgentStatus['limits']>[number];
export type CaptureObstacle = NonNullable<AgentStatus['monitors'][number]['obstacle']>;
export type ExportState = (typeof exportStates)[number];

/** Cuts the messages of a status, or of a part of one, in place. */
export function cutTexts<T extends Pick<AgentStatus, 'monitors' | 'limits' | 'exports'>>(status: T): T {
  for (const { obstacle } of status.monitors) if (obstacle) cutMessage(obstacle);
  for (const limit of status.limits ?? []) cutMessage(limit);
  for (const row of status.exports ?? []) cutMessage(row);
  return status;
}

/** Cuts the texts of a whole status, in place. */
export function cutStatus(status: AgentStatus): AgentStatus {
  if (status.ack) cutMessage(status.ack);
  return cutTexts(status);
}

/** Cuts the message of one object, in place. */
export function cutMessage<T extends { message?: string }>(of: T): T {
  if (of.message !== undefined) of.message = cutToUnits(of.message, maxTextLength);
  return of;
}

const checkAck = parser('ack', ackSchema);
const checkStatus = parser('agent status', agentStatusSchema);

/** Checks an agent's answer and returns it as an Ack. Errors: ERR_INPUT_INVALID that names the field. */
export function parseAck(value: unknown): Ack {
  return cutMessage(checkAck(value));
}

/** Checks a request's body and returns it as secrets. Errors: ERR_INPUT_INVALID that names the field, never a value. */
export const parseExportSecrets = parser('secrets', exportSecretsSchema);
/** Checks an agent's answer and returns it as an AgentStatus. Errors: ERR_INPUT_INVALID that names the field. */
export function parseAgentStatus(value: unknown): AgentStatus {
  return cutStatus(checkStatus(value));
}
