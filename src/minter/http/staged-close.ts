import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';

const lingerMs = 500;

/**
 * Makes the close after an answer one in stages: our half first, then reading and dropping what still comes, for half
 * a second. A connection that is cut while its request is still arriving is reset, and the reset can overtake the
 * answer: the caller would see a broken connection instead of the 413.
 * Source: RFC 9112 §9.6. Node closes an answered connection by `destroySoon`.
 */
export function closeInStages(socket: Socket, clock: Clock): void {
  socket.destroySoon = () => {
    if (socket.writable) socket.end();
    const cancel = clock.setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', cancel);
  };
}
