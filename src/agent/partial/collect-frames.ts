import type { Memory } from '../../base/memory-pool.ts';
import { Pace } from '../../base/turns/turns.ts';
import { takeMemory } from '../../promql/index.ts';
import { refuse } from './admission.ts';
import type { FramedOutcome } from './admission.ts';

/**
 * Collects all frames of an answer before the first is sent, so that an error can still become an HTTP status, and an
 * answer that is being sent is complete. Yields to other work between frames. Errors: the signal's reason; QueryError
 * when the process has no more memory.
 */
export async function collectFrames(
  source: Iterable<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
  memory?: Memory,
): Promise<FramedOutcome> {
  const pace = new Pace(signal);
  const frames: Uint8Array[] = [];
  let bytes = 0;
  for (const frame of source) {
    frames.push(frame);
    bytes += frame.length;
    if (bytes > maxBytes) return refuse('over_limit', `answer of more than ${maxBytes} bytes`);
    takeMemory(memory, frame.length);
    if (pace.spend(frame.length)) await pace.turn();
  }
  return { frames, bytes };
}
