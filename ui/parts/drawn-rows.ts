/**
 * How many rows of a table are in the document: those that the window has room for at once, the rest in slices while the
 * browser is idle. In the end all are there, so that the browser's own search, selection and print see every row.
 */
import { useEffect, useState } from 'preact/hooks';
import { firstRows } from './first-rows.ts';

/** Rows of a slice: few enough that a key pressed meanwhile is answered at once. */
const slice = 60;
/** The longest that a slice waits for the browser to be idle. Unit: ms. */
const longestWait = 100;

/** Calls `then` when the browser is idle; not all browsers say when they are. Returns the end of it. */
function whenIdle(then: () => void): () => void {
  if (typeof requestIdleCallback !== 'function') {
    const timer = setTimeout(then);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(then, { timeout: longestWait });
  return () => cancelIdleCallback(handle);
}

/** How many of `count` rows to draw now. It grows to all of them and never falls below what is drawn. */
export function useDrawnRows(count: number): number {
  const [most, setMost] = useState(() => firstRows(innerHeight));
  useEffect(() => (most < count ? whenIdle(() => setMost(most + slice)) : undefined), [most, count]);
  return Math.min(most, count);
}
