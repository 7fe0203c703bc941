/** The stream as state: followed while a view shows it, rendered as often as the browser can. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { onToken } from '../api/client.ts';
import { serverClock } from '../api/server-clock.ts';
import { readStream, type StreamAsk } from '../api/stream.ts';
import { LiveFeed } from './live-feed.ts';
import { followLive, type LivePhase } from './live-follow.ts';
import { visibility } from './visibility.ts';

export interface Live {
  readonly feed: LiveFeed;
  readonly phase: LivePhase;
  readonly pause: () => void;
  readonly resume: () => void;
  /** Drops all rows and follows the stream again. */
  readonly again: () => void;
}

/** Shortest time between two renderings. Unit: ms. */
const leastGapMs = 100;
/** After a slow rendering there is a pause of this many times its duration, so that clicks are handled. */
const restFactor = 3;

/** Follows the stream that a request describes; when the request changes, starts again with no rows. */
export function useLive(ask: StreamAsk): Live {
  const key = JSON.stringify(ask);
  const [turn, setTurn] = useState(0);
  const [phase, setPhase] = useState<LivePhase>({ kind: 'connecting' });
  const [, setDrawn] = useState(0);
  const feed = useMemo(() => new LiveFeed(), [key, turn]);
  const draw = (): void => setDrawn((n) => n + 1);
  const again = (): void => setTurn((n) => n + 1);

  useEffect(() => onToken(again), []);
  useEffect(() => {
    const ended = new AbortController();
    const drawing = new Drawing(() => {
      feed.show();
      draw();
    });
    void followLive(JSON.parse(key) as StreamAsk, {
      ...{ read: readStream, signal: ended.signal, now: () => serverClock.now(), wait },
      onPhase: (next) => {
        if (next.kind === 'open') feed.reconnected();
        if (!ended.signal.aborted) setPhase(next);
      },
      onMessages: (messages) => {
        for (const message of messages) feed.add(message);
        drawing.ask();
      },
    });
    return () => {
      ended.abort();
      drawing.stop();
    };
  }, [feed]);

  return {
    ...{ feed, phase, again },
    pause: () => {
      feed.pause();
      draw();
    },
    resume: () => {
      feed.resume();
      draw();
    },
  };
}

/** Renders within an animation frame, at most every 100 ms, with a longer pause after a slow rendering. */
class Drawing {
  readonly #draw: () => void;
  #asked = false;
  #busy = false;
  #stopped = false;

  constructor(draw: () => void) {
    this.#draw = draw;
  }

  ask(): void {
    this.#asked = true;
    if (this.#busy || this.#stopped) return;
    this.#busy = true;
    requestAnimationFrame(() => {
      const begun = performance.now();
      this.#asked = false;
      if (!this.#stopped) this.#draw();
      // A task after this frame: by then the rows are laid out and painted.
      setTimeout(() => this.#rest(Math.max(leastGapMs, restFactor * (performance.now() - begun))));
    });
  }

  stop(): void {
    this.#stopped = true;
  }

  #rest(ms: number): void {
    setTimeout(() => {
      this.#busy = false;
      if (this.#asked) this.ask();
    }, ms);
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      forget();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    const forget = visibility.onReturn(end);
    signal.addEventListener('abort', end);
  });
}
