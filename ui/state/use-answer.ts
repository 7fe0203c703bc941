/**
 * An answer of the API as state. It is requested immediately, and repeatedly if an interval is given. An obsolete
 * request is cancelled.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { asFailure, onToken, type Answer, type ApiFailure } from '../api/client.ts';
import { repeat } from './repeat.ts';
import { settle } from './settle.ts';
import { visibility } from './visibility.ts';

export interface Asked<T> {
  /** The newest answer; kept while a newer one is requested. */
  readonly answer: Answer<T> | undefined;
  readonly failure: ApiFailure | undefined;
  readonly loading: boolean;
  /** When the answer arrived. Unit: ms since the epoch. */
  readonly at: number;
  readonly again: () => void;
}

export interface UseAnswerOptions {
  /** Repeats the request this long after an answer, as `repeat` does. Unit: ms. 0: never. */
  readonly everyMs?: number;
  /** False: no request is sent. */
  readonly enabled?: boolean;
}

/** `key` identifies the request: a new key drops the previous answer and cancels the previous request. */
export function useAnswer<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<Answer<T>>,
  { everyMs = 0, enabled = true }: UseAnswerOptions = {},
): Asked<T> {
  const [state, setState] = useState<{ key: string; answer?: Answer<T>; failure?: ApiFailure; at: number }>({
    key,
    at: 0,
  });
  const [loading, setLoading] = useState(false);
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const again = (): void => setTurn((n) => n + 1);

  useEffect(() => onToken(again), []);
  useEffect(() => {
    if (!enabled) return;
    const ended = new AbortController();
    setLoading(true);
    void settle(latest.current(ended.signal), ended.signal, {
      answered: (answer) => {
        setLoading(false);
        setState({ key, answer, at: Date.now() });
      },
      failed: (error) => {
        setLoading(false);
        const failure = asFailure(error);
        // The previous answer stays when a later request fails.
        setState((before) => ({ ...(before.key === key ? before : { at: 0 }), key, failure }));
      },
    });
    return () => ended.abort();
  }, [key, turn, enabled]);

  useEffect(() => {
    if (!enabled || loading) return;
    return repeat(everyMs, state.failure?.kind, again, visibility);
  }, [everyMs, enabled, loading, state]);

  const own = state.key === key;
  return {
    answer: own ? state.answer : undefined,
    failure: own ? state.failure : undefined,
    loading,
    at: own ? state.at : 0,
    again,
  };
}
