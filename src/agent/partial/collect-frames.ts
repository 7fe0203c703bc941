import { setImmediate as nextTurn } from 'node:timers/promises';
import { refuse } from './admission.ts';
import type { FramedOutcome } from './admission.ts';

/**
 * All frames of an answer before the first is sent, so that what goes wrong has a status and an answer that was begun is
 * whole. Other work gets its turns between them. Errors: the signal's reason.
 */
export async function collectFrames(
  source: Iterable<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<FramedOutcome> {
  const frames: Uint8Array[] = [];
  let bytes = 0;
  for (const frame of source) {
    frames.push(frame);
    bytes += frame.length;
    if (bytes > maxBytes) return refuse('over_limit', `answer of more than ${maxBytes} bytes`);
    if (frames.length % 16 === 0) {
      await nextTurn();
      signal.throwIfAborted();
    }
  }
  return { frames, bytes };
}
