/** Repeats requests while the page is visible. */
import type { FailureKind } from '../api/client.ts';

export interface Visibility {
  readonly isHidden: () => boolean;
  /** Calls `listener` when the page is shown again or gets the focus. Returns the function that unsubscribes. */
  readonly onReturn: (listener: () => void) => () => void;
}

/** The user may sign in again outside of this tab, so a request that was `unauthorized` is repeated. Unit: ms. */
export const unauthorizedMs = 60_000;

/**
 * Calls `again` every `everyMs` while the page is visible, never if that is 0. If the last request was `unauthorized`,
 * calls it once a minute and when the user returns to the page. Returns the function that ends it.
 */
export function repeat(
  everyMs: number,
  failure: FailureKind | undefined,
  again: () => void,
  { isHidden, onReturn }: Visibility,
): () => void {
  if (everyMs === 0) return () => {};
  const isUnauthorized = failure === 'unauthorized';
  const timer = setInterval(
    () => {
      if (!isHidden()) again();
    },
    isUnauthorized ? Math.max(everyMs, unauthorizedMs) : everyMs,
  );
  const forget = isUnauthorized ? onReturn(again) : undefined;
  return () => {
    clearInterval(timer);
    forget?.();
  };
}
