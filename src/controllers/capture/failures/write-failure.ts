import { writeFailed, type Ack } from '../../../capture/index.ts';

/**
 * How long an agent that could not write a config is sent nothing. Each attempt costs the bytes of a config, and a full
 * disk seldom has room again within seconds. Units: ms.
 */
export const writeRetryMs = 60_000;

/** The code of a system error in its message, such as `ENOSPC`. */
const systemError = /\bE[A-Z][A-Z0-9]+\b/;

/**
 * Whether the agent could not write the config: nothing is wrong with the config, and the agent holds the one before
 * it, or a part of each. Agents give the same reason for any other error while they put a config in force; only a
 * message with a system error tells of the disk.
 */
export function isUnwritten(ack: Ack | null): boolean {
  return ack?.phase === 'Failed' && ack.reason === writeFailed && systemError.test(ack.message ?? '');
}
