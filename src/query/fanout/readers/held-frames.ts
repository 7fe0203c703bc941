import type { Memory } from '../../../base/memory-pool.ts';
import { FrameCutter } from '../../../base/wire/frames.ts';
import type { TlsStreamResponse } from '../../../net/tls-client.ts';
import { takeMemory } from '../../../promql/index.ts';

/**
 * Calls `use` with the message of each frame of an agent's answer. A frame takes memory as it arrives, and gives it back
 * when its message has been used. `what` and `maxBytes`: as for `FrameCutter`.
 * Errors: those of `FrameCutter`, of the body and of `use`; QueryError when the memory is spent.
 */
export async function eachFrame(
  body: TlsStreamResponse['body'],
  what: string,
  maxBytes: number,
  memory: Memory | undefined,
  use: (message: Uint8Array) => void,
): Promise<void> {
  const frames = new FrameCutter(what, maxBytes, use);
  let taken = 0;
  try {
    await body.each((part) => {
      takeMemory(memory, part.length);
      taken += part.length;
      frames.push(part);
      memory?.give(taken - frames.pendingBytes);
      taken = frames.pendingBytes;
    });
    frames.end();
  } finally {
    memory?.give(taken);
  }
}
