/**
 * How many rows of a table are in the document: at first those that fit into the window, the rest in slices while the
 * browser is idle. In the end all are there, so that the browser's search, selection and print include every row.
 */
import { useEffect, useState } from 'preact/hooks';
import { firstRows } from './first-rows.ts';

/** Rows per slice: few enough that a key press is handled without delay. */
const slice = 60;
/** The longest that a slice waits for the browser to be idle. Unit: ms. */
const longestWait = 100;

/** Calls `then` when the browser is idle, or soon if the browser cannot report that. Returns a cancel function. */
function whenIdle(then: () => void): () => void {
  if (typeof requestIdleCallback !== 'function') {
    const timer = setTimeout(then);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(then, { timeout: longestWait });
  return () => cancelIdleCallback(handle);
}

/** How many of `count` rows to draw now. It grows until all are drawn; a drawn row stays drawn. */
export function useDrawnRows(count: number): number {
  const [most, setMost] = useState(() => firstRows(innerHeight));
  useEffect(() => (most < count ? whenIdle(() => setMost(most + slice)) : undefined), [most, count]);
  return Math.min(most, count);
}
